/**
 * What of a request's memory survives V8's young collections, in bytes for each request.
 *
 *   node dist/e2e/bench/survivors.js get update patch     and which functions allocated it
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { shippedNodeFlags } from "../harness/command.js";
import { eventually } from "../harness/eventually.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { fill } from "../promises/raw-client.js";
import { Http1Connection } from "./http1-connection.js";
import { SCENARIOS } from "./scenarios.js";
import type { Survivors } from "./survivor-probe.js";

const PROBE = new URL("survivor-probe.js", import.meta.url).href;
const OBJECTS = 3_000;
const SECONDS = 2;
/** Functions that are printed. */
const PRINTED = 20;

export interface Survived {
  readonly bytes: number;
  /** By function, per request. */
  readonly sites: Survivors;
}

/** @param names of scenarios whose requests are counted */
export async function survivorsOf(
  names: readonly string[],
): Promise<ReadonlyMap<string, Survived>> {
  await using folder = await makeTempDir("survivors");
  const file = join(folder.path, "survivors");
  process.env.SURVIVOR_PROBE = file;
  const nodeFlags = [...shippedNodeFlags(), `--import=${PROBE}`];
  await using server = await startServer({ nodeFlags });
  delete process.env.SURVIVOR_PROBE;
  await fill(server, { to: OBJECTS });
  let lines = 0;
  const signal = async (): Promise<Survivors> => {
    server.signal("SIGUSR2");
    lines++;
    return await eventually("the probe has answered", async () => {
      const text = await readFile(file, "utf8").catch(() => "");
      const written = text.split("\n");
      return written.length > lines ? JSON.parse(written[lines - 1] ?? "") : undefined;
    });
  };
  const found = new Map<string, Survived>();
  for (const name of names) {
    const scenario = SCENARIOS[name];
    if (scenario === undefined) throw new Error(`unknown scenario ${name}`);
    let requests = 0;
    const bench = {
      async open() {
        const connection = await Http1Connection.open(server);
        return {
          lanes: connection.lanes,
          request(request: Parameters<typeof connection.request>[0]) {
            requests++;
            return connection.request(request);
          },
          close: () => connection.close(),
        };
      },
      // Called before and behind what is measured, and not around its warm-up.
      async cpuUs() {
        sampled = await signal();
        requestsOf.push(requests);
        return 0;
      },
      objects: OBJECTS,
      seconds: SECONDS,
      watchers: 1,
    };
    let sampled: Survivors = {};
    const requestsOf: number[] = [];
    await scenario(bench);
    const [before = 0, behind = 0] = requestsOf;
    const sites = Object.fromEntries(
      Object.entries(sampled).map(([place, bytes]) => [place, bytes / (behind - before)]),
    );
    const bytes = Object.values(sites).reduce((sum, more) => sum + more, 0);
    found.set(name, { bytes, sites });
  }
  return found;
}

if (process.argv[1]?.endsWith("/bench/survivors.js")) {
  for (const [name, { bytes, sites }] of await survivorsOf(process.argv.slice(2))) {
    process.stdout.write(`${name}: ${bytes.toFixed(0)} bytes a request\n`);
    const most = Object.entries(sites).sort(([, one], [, other]) => other - one);
    for (const [place, part] of most.slice(0, PRINTED)) {
      process.stdout.write(`${part.toFixed(0).padStart(8)}  ${place}\n`);
    }
  }
}
