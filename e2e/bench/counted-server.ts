/** A server that counts what requests cost it (count-probe.ts), on the embedded store, and who asks it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { eventually } from "../harness/eventually.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import type { Counted } from "./count-probe.js";

const PROBE = new URL("count-probe.js", import.meta.url).href;
/** Holds what a few hundred requests allocate. */
const NEW_SPACE_MIB = 64;

export interface CountedServer extends AsyncDisposable {
  readonly server: ServerProcess;
  /** What the server did per operation while `run` did so many. */
  count(operations: number, run: () => Promise<void>): Promise<Counted>;
}

export async function startCountedServer(): Promise<CountedServer> {
  const folder = await makeTempDir("counts");
  const file = join(folder.path, "counts");
  process.env.COUNT_PROBE = file;
  const server = await startServer({
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
  return {
    server,
    async count(operations, run) {
      await take();
      await run();
      const { calls, bytes, collections } = await take();
      return { calls: calls / operations, bytes: bytes / operations, collections };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
