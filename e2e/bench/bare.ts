/** The units: what a bare `node:https` server takes of the same machine for a get, a list, an event. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { TestAuthority } from "../harness/test-authority.js";
import { cpuUs } from "./cpu.js";
import { Http1Connection } from "./http1-connection.js";
import { pinToServerCore } from "./pin.js";

const SERVER = fileURLToPath(new URL("bare-server.js", import.meta.url));
const CONNECTIONS = 16;
const EMITTERS = 4;
const EVENTS = 200;

/** Microseconds of server CPU. */
export interface Units {
  readonly get: number;
  readonly list: number;
  readonly watch: number;
}

export async function measureUnits(seconds: number, watchers: number): Promise<Units> {
  const authority = await TestAuthority.create("bench");
  const { key, cert } = await authority.issue({ commonName: "localhost", usage: "any" });
  const child = spawn(process.execPath, [SERVER], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, KEY: key, CERT: cert },
  });
  try {
    const [port] = (await once(child.stdout, "data")) as [Buffer];
    pinToServerCore(child.pid ?? 0);
    return await measure(child, Number(port), seconds, watchers);
  } finally {
    child.kill();
  }
}

async function measure(
  { pid = 0 }: ChildProcess,
  port: number,
  seconds: number,
  watchers: number,
): Promise<Units> {
  const open = () => Http1Connection.open({ port, credentials: {} });
  const pool = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  const fetchFor = async (path: string, connections: readonly Http1Connection[], ms: number) => {
    const until = performance.now() + ms;
    let count = 0;
    const fetchAll = async (connection: Http1Connection) => {
      while (performance.now() < until) {
        await connection.request({ method: "GET", path });
        count++;
      }
    };
    await Promise.all(connections.map(fetchAll));
    return count;
  };
  const perOperation = async (run: () => Promise<number>) => {
    const before = await cpuUs(pid);
    const count = await run();
    return ((await cpuUs(pid)) - before) / count;
  };
  const one = pool.slice(0, 1);
  await fetchFor("/get", pool, 500);
  const get = await perOperation(() => fetchFor("/get", pool, seconds * 1000));
  await fetchFor("/list", one, 500);
  const list = await perOperation(() => fetchFor("/list", one, seconds * 1000));
  const watches = await Promise.all(Array.from({ length: watchers }, open));
  let events = 0;
  const onData = (piece: Buffer) => {
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) events++;
  };
  for (const watch of watches) {
    watch.request({ method: "GET", path: "/watch", onData }).catch(() => {});
  }
  await fetchFor("/get", pool, 500);
  const emit = async (count: number) => {
    const goal = events + count * watchers;
    let next = 0;
    const emitAll = async (connection: Http1Connection) => {
      while (next++ < count) await connection.request({ method: "GET", path: "/emit" });
    };
    await Promise.all(pool.slice(0, EMITTERS).map(emitAll));
    while (events < goal) await new Promise((resolve) => setTimeout(resolve, 1));
    return count * watchers;
  };
  await emit(20);
  const watch = await perOperation(() => emit(EVENTS));
  for (const connection of [...pool, ...watches]) connection.close();
  return { get, list, watch };
}
