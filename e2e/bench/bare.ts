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
const WARM_UP_MS = 500;

/** Which operation of the bare server is the unit. */
export type UnitName = "get" | "list" | "watch";

/**
 * A bare server that runs for as long as something is measured, so that units can be taken beside it: a
 * machine with neighbours changes its speed by a half within a minute.
 */
export class BareServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #pool: readonly Http1Connection[];
  readonly #watchers: number;

  private constructor(
    child: ChildProcess,
    port: number,
    pool: readonly Http1Connection[],
    watchers: number,
  ) {
    this.#child = child;
    this.#port = port;
    this.#pool = pool;
    this.#watchers = watchers;
  }

  /** Starts it on the server's core and lets its code be compiled. */
  static async start(watchers: number): Promise<BareServer> {
    const authority = await TestAuthority.create("bench");
    const { key, cert } = await authority.issue({ commonName: "localhost", usage: "any" });
    const child = spawn(process.execPath, [SERVER], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, KEY: key, CERT: cert },
    });
    const [text] = (await once(child.stdout, "data")) as [Buffer];
    const port = Number(text);
    pinToServerCore(child.pid ?? 0);
    const open = () => Http1Connection.open({ port, credentials: {} });
    const pool = await Promise.all(Array.from({ length: CONNECTIONS }, open));
    const bare = new BareServer(child, port, pool, watchers);
    await bare.#fetch("/get", pool, WARM_UP_MS);
    await bare.#fetch("/list", pool.slice(0, 1), WARM_UP_MS);
    return bare;
  }

  /** Microseconds of server CPU for one operation, now. */
  async unit(name: UnitName, seconds: number): Promise<number> {
    if (name === "watch") return this.#event();
    const pool = name === "list" ? this.#pool.slice(0, 1) : this.#pool;
    return this.#perOperation(() => this.#fetch(`/${name}`, pool, seconds * 1000));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#pool) connection.close();
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }

  async #perOperation(run: () => Promise<number>): Promise<number> {
    const { pid = 0 } = this.#child;
    const before = await cpuUs(pid);
    const count = await run();
    return ((await cpuUs(pid)) - before) / count;
  }

  async #fetch(path: string, connections: readonly Http1Connection[], ms: number): Promise<number> {
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
  }

  async #event(): Promise<number> {
    const open = () => Http1Connection.open({ port: this.#port, credentials: {} });
    const watches = await Promise.all(Array.from({ length: this.#watchers }, open));
    let events = 0;
    const onData = (piece: Buffer) => {
      for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) events++;
    };
    for (const watch of watches) {
      watch.request({ method: "GET", path: "/watch", onData }).catch(() => {});
    }
    // Watches that were opened before it are there when these are answered.
    await this.#fetch("/get", this.#pool, WARM_UP_MS);
    const emit = async (count: number) => {
      const goal = events + count * this.#watchers;
      let next = 0;
      const emitAll = async (connection: Http1Connection) => {
        while (next++ < count) await connection.request({ method: "GET", path: "/emit" });
      };
      await Promise.all(this.#pool.slice(0, EMITTERS).map(emitAll));
      while (events < goal) await new Promise((resolve) => setTimeout(resolve, 1));
      return count * this.#watchers;
    };
    await emit(20);
    const cost = await this.#perOperation(() => emit(EVENTS));
    for (const watch of watches) watch.close();
    return cost;
  }
}
