/** A server that counts what requests cost it (count-probe.ts), on the embedded store, and who asks it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../harness/eventually.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import type { Counted } from "./count-probe.js";

const PROBE = new URL("count-probe.js", import.meta.url).href;
/** Holds what a few hundred requests allocate. */
const NEW_SPACE_MIB = 64;
/** How long the server is left alone, to know what it does by itself. */
const IDLE_MS = 1_000;
const SETTLED_CALLS = 500;
/** The least of several rounds counts: what comes between adds to some of them. */
const ROUNDS = 4;

export interface CountedServer extends AsyncDisposable {
  readonly server: ServerProcess;
  /** What the server did per operation while `run` did so many; it runs several times. */
  count(operations: number, run: () => Promise<void>): Promise<Counted>;
}

/** @param flags further ones of the server */
export async function startCountedServer(flags: readonly string[] = []): Promise<CountedServer> {
  const folder = await makeTempDir("counts");
  const file = join(folder.path, "counts");
  process.env.COUNT_PROBE = file;
  const server = await startServer({
    flags,
    nodeFlags: [
      "--no-opt",
      "--expose-gc",
      `--min-semi-space-size=${NEW_SPACE_MIB}`,
      `--max-semi-space-size=${NEW_SPACE_MIB}`,
      `--import=${PROBE}`,
    ],
  });
  delete process.env.COUNT_PROBE;
  let taken = 0;
  const take = async (): Promise<Counted> => {
    server.signal("SIGUSR2");
    taken++;
    const line = await eventually("the probe has counted", async () => {
      const lines = (await readFile(file, "utf8").catch(() => "")).split("\n");
      return lines.length > taken ? lines[taken - 1] : undefined;
    });
    // One more answer, so that the probe has begun anew.
    await server.client.get("/livez");
    return JSON.parse(line) as Counted;
  };
  const idleFor = async (): Promise<Counted> => {
    await take();
    await sleep(IDLE_MS);
    return await take();
  };
  // What a start leaves to be done is done when two seconds in a row are much the same.
  let before = await idleFor();
  await eventually("the server has settled", async () => {
    const now = await idleFor();
    const isSettled = Math.abs(now.calls - before.calls) < SETTLED_CALLS;
    before = now;
    return isSettled ? true : undefined;
  });
  return {
    server,
    async count(operations, run) {
      let functions: Counted["functions"];
      let [calls, bytes, collections] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0];
      for (let round = 0; round < ROUNDS; round++) {
        await take();
        const startedAtMs = performance.now();
        await run();
        // What runs by the clock is no part of it, however long a slow machine takes.
        const share = (performance.now() - startedAtMs) / IDLE_MS;
        const counted = await take();
        functions = perOperation(counted.functions, operations) ?? functions;
        calls = Math.min(calls, (counted.calls - before.calls * share) / operations);
        bytes = Math.min(bytes, (counted.bytes - before.bytes * share) / operations);
        collections = Math.max(collections, counted.collections);
      }
      return { calls, bytes, collections, ...(functions === undefined ? {} : { functions }) };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

function perOperation(functions: Counted["functions"], operations: number): Counted["functions"] {
  if (functions === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(functions).map(([place, calls]) => [place, calls / operations]),
  );
}
