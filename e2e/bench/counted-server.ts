/** A server that counts what requests cost it (count-probe.ts), on the embedded store, and who asks it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { COMMAND } from "../harness/command.js";
import { eventually } from "../harness/eventually.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import type { Counted } from "./count-probe.js";

const PROBE = new URL("count-probe.js", import.meta.url).href;
/** Holds what a few hundred requests allocate. */
const NEW_SPACE_MIB = 64;
/** How long the server is left alone, to know what it does by itself. */
const IDLE_MS = 1_000;
const SETTLED_CODE = 50_000;
/** The least of several rounds counts: what comes between adds to some of them, and to slow ones most. */
const ROUNDS = 4;

export interface CountedServer extends AsyncDisposable {
  readonly server: ServerProcess;
  /**
   * What the server did per operation while `run` did so many; it runs several times.
   * @param afterwardsMs how long the server has work with them afterwards, which is part of it
   */
  count(operations: number, run: () => Promise<void>, afterwardsMs?: number): Promise<Counted>;
}

/** @param flags further ones of the server */
export async function startCountedServer(flags: readonly string[] = []): Promise<CountedServer> {
  const folder = await makeTempDir("counts");
  const file = join(folder.path, "counts");
  process.env.COUNT_PROBE = file;
  // What V8 kept of other starts counts no blocks.
  const { NODE_COMPILE_CACHE } = process.env;
  process.env.NODE_COMPILE_CACHE = join(folder.path, "compiled");
  const server = await startServer({
    // Loops write their lease every two seconds, which a slow machine's requests would be charged with.
    flags: ["--run-controllers=false", ...flags],
    main: COMMAND,
    nodeFlags: [
      "--no-opt",
      "--expose-gc",
      // It collects what a server without much to do allocated.
      "--no-memory-reducer",
      `--min-semi-space-size=${NEW_SPACE_MIB}`,
      `--max-semi-space-size=${NEW_SPACE_MIB}`,
      `--import=${PROBE}`,
    ],
  });
  delete process.env.COUNT_PROBE;
  if (NODE_COMPILE_CACHE === undefined) delete process.env.NODE_COMPILE_CACHE;
  else process.env.NODE_COMPILE_CACHE = NODE_COMPILE_CACHE;
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
    const isSettled = Math.abs(now.code - before.code) < SETTLED_CODE;
    before = now;
    return isSettled ? true : undefined;
  });
  return {
    server,
    async count(operations, run, afterwardsMs = 0) {
      let functions: Counted["functions"];
      const rounds: (Counted & { readonly ms: number })[] = [];
      while (rounds.length < ROUNDS) {
        await take();
        const startedAtMs = performance.now();
        await run();
        await sleep(afterwardsMs);
        const ms = performance.now() - startedAtMs;
        const counted = await take();
        functions = perOperation(counted.functions, operations) ?? functions;
        rounds.push({ ...counted, ms });
      }
      // What runs by the clock is no part of it: as much as the quickest round can have of it.
      const share = Math.min(...rounds.map(({ ms }) => ms)) / IDLE_MS;
      const least = (of: typeof rounds, what: "code" | "bytes") =>
        (Math.min(...of.map((one) => one[what])) - before[what] * share) / operations;
      const whole = rounds.filter(({ collections }) => collections === 0);
      return {
        code: least(rounds, "code"),
        bytes: least(whole, "bytes"),
        collections: rounds.reduce((sum, { collections }) => sum + collections, 0),
        ...(functions === undefined ? {} : { functions }),
      };
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
