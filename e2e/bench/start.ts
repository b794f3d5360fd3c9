/**
 * How long a start takes until /readyz says ok, with 10,000 ConfigMaps of 1 KiB stored, in units of what
 * `node -e 0` takes on the same machine at the same time. The two take turns; the least of each counts.
 *
 *   node dist/e2e/bench/start.js              on etcd and on the embedded store
 *   node dist/e2e/bench/start.js etcd 2000    on one of them, another number of objects
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type ServerOptions, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { fill } from "../promises/raw-client.js";
import { startEtcd } from "../tools/etcd.js";
import { cpuUs } from "./cpu.js";

const ROUNDS = 7;

interface Taken {
  readonly wallMs: number;
  readonly cpuMs: number;
}

async function startNode(): Promise<Taken> {
  const startedAtMs = performance.now();
  const script = "process.on('exit', () => console.log(JSON.stringify(process.cpuUsage())))";
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const { user, system } = JSON.parse(printed) as { user: number; system: number };
  return { wallMs: performance.now() - startedAtMs, cpuMs: (user + system) / 1000 };
}

async function start(options: ServerOptions): Promise<Taken> {
  const server = await startServer(options);
  const cpuMs = (await cpuUs(server.pid)) / 1000;
  await server.stop();
  return { wallMs: server.readyAfterMs, cpuMs };
}

async function measure(store: string, options: ServerOptions, objects: number): Promise<void> {
  const writer = await startServer(options);
  await fill(writer, { to: objects });
  await writer.stop();
  let unit: Taken = { wallMs: Number.POSITIVE_INFINITY, cpuMs: Number.POSITIVE_INFINITY };
  let taken = unit;
  for (let round = 0; round < ROUNDS; round++) {
    unit = least(unit, await startNode());
    taken = least(taken, await start(options));
  }
  const shown = ({ wallMs, cpuMs }: Taken) =>
    `${wallMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} ms of CPU`;
  process.stdout.write(
    `${store}, ${objects} objects: ready after ${shown(taken)}; node -e 0: ${shown(unit)}; ` +
      `${(taken.wallMs / unit.wallMs).toFixed(1)} and ${(taken.cpuMs / unit.cpuMs).toFixed(1)} times\n`,
  );
}

function least(one: Taken, other: Taken): Taken {
  return {
    wallMs: Math.min(one.wallMs, other.wallMs),
    cpuMs: Math.min(one.cpuMs, other.cpuMs),
  };
}

const [only, count = "10000"] = process.argv.slice(2);
if (only !== "embedded") {
  await using etcd = await startEtcd();
  await measure("etcd", { etcdEndpoints: [etcd.endpoint] }, Number(count));
}
if (only !== "etcd") {
  await using folder = await makeTempDir("start");
  await measure("embedded", { dataDir: folder.path }, Number(count));
}
