/**
 * What a get, a list, a write and a watch event cost in code that runs and in allocations. Requests come one after
 * another on one connection, so that nothing is shared and the counts are the same each time.
 *
 *   node dist/e2e/bench/counts.js
 *   node dist/e2e/bench/counts.js --record=memory              of a server with further flags
 *   COUNT_PROBE_FUNCTIONS=true node dist/e2e/bench/counts.js   and in which functions
 */
import { metric } from "../promises/gauge.js";
import { CONFIG_MAPS, configMap } from "../promises/raw-client.js";
import type { BenchConnection, BenchRequest } from "./connection.js";
import type { Counted } from "./count-probe.js";
import { type CountedServer, startCountedServer } from "./counted-server.js";
import { Http1Connection } from "./http1-connection.js";
import { Http2Connection } from "./http2-connection.js";

const OBJECTS = 100;
const WARM_UP = 30;
/** Watchers at first, and those that join them. */
const FEW_WATCHERS = 5;
const MORE_WATCHERS = 100;
const EVENTS = 50;
/**
 * A replica keeps each version that was replaced as its difference to the next one, two to three seconds later. Without a
 * wait slow rounds would have more of that in them than fast ones.
 */
const PAST_AFTER_MS = 4_000;
const JSON_TYPE = "application/json";

export type Counts = Readonly<Record<string, Counted>>;

/** @param onlyGated without those that no test bounds. @param flags of the server */
export async function countAll(onlyGated: boolean, flags: readonly string[] = []): Promise<Counts> {
  await using counted = await startCountedServer(flags);
  const connection = await Http1Connection.open(counted.server);
  const named = (index: number) => `item-${String(index).padStart(6, "0")}`;
  const path = (index: number) => `${CONFIG_MAPS}/${named(index)}`;
  const create = (index: number): BenchRequest => ({
    method: "POST",
    path: CONFIG_MAPS,
    headers: { "Content-Type": JSON_TYPE },
    body: configMap(named(index), 1024),
  });
  const update = (index: number, mark: string): BenchRequest => ({
    method: "PUT",
    path: path(index),
    headers: { "Content-Type": JSON_TYPE },
    body: configMap(named(index), 1024, { mark }),
  });
  const get = (index: number, query = ""): BenchRequest => ({
    method: "GET",
    path: path(index) + query,
  });
  const all = async (on: BenchConnection, count: number, request: (i: number) => BenchRequest) => {
    for (let i = 0; i < count; i++) {
      const { status, body } = await on.request(request(i));
      if (status >= 300) throw new Error(`status ${status}: ${body.toString("utf8", 0, 300)}`);
    }
  };
  const counts: Record<string, Counted> = {};
  const count = async (
    name: string,
    request: (index: number) => BenchRequest,
    on: BenchConnection = connection,
  ) => {
    if (name !== "create") await all(on, WARM_UP, request);
    const afterwardsMs = name === "update" ? PAST_AFTER_MS : 0;
    counts[name] = await counted.count(OBJECTS, () => all(on, OBJECTS, request), afterwardsMs);
  };
  let created = 0;
  let updated = 0;
  // Of one length, and nothing that looks like a long number, which would be read with more care.
  const anew = (i: number) => update(i, `mark-${String(updated++).padStart(8, "0")}`);
  await all(connection, WARM_UP, () => create(created++));
  await count("create", () => create(created++));
  await count("get", get);
  await count("update", anew);
  counts["watch event"] = await countEvents(counted, anew);
  if (!onlyGated) {
    await count("get, resourceVersion=0", (i) => get(i, "?resourceVersion=0"));
    const http2 = await Http2Connection.open(counted.server);
    await count("get over HTTP/2", get, http2);
    await count("list of 430", () => ({ method: "GET", path: CONFIG_MAPS }));
    http2.close();
  }
  connection.close();
  return counts;
}

/** One event to one of several watchers: what more watchers cost, divided by how many more. */
async function countEvents(
  counted: CountedServer,
  update: (index: number) => BenchRequest,
): Promise<Counted> {
  const writer = await Http1Connection.open(counted.server);
  const connections: Http1Connection[] = [];
  let lines = 0;
  const onData = (piece: Buffer) => {
    for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
  };
  const addWatchers = async (count: number) => {
    const state = await writer.request({ method: "GET", path: `${CONFIG_MAPS}?limit=1` });
    const version = /"resourceVersion":"(\d+)"/.exec(state.body.toString("latin1", 0, 500))?.[1];
    for (let i = 0; i < count; i++) {
      const watcher = await Http1Connection.open(counted.server);
      const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${version}`;
      watcher.request({ method: "GET", path, onData }).catch(() => {});
      connections.push(watcher);
    }
  };
  const write = async (events: number) => {
    for (let i = 0; i < events; i++) {
      const goal = lines + connections.length;
      await writer.request(update(i));
      while (lines < goal) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const measure = async (added: number) => {
    await addWatchers(added);
    // Requests on other connections may overtake those of the watchers.
    while ((await openWatches(counted)) < connections.length);
    await write(WARM_UP);
    return await counted.count(EVENTS, () => write(EVENTS), PAST_AFTER_MS);
  };
  const few = await measure(FEW_WATCHERS);
  const many = await measure(MORE_WATCHERS);
  for (const connection of [...connections, writer]) connection.close();
  return {
    code: (many.code - few.code) / MORE_WATCHERS,
    bytes: (many.bytes - few.bytes) / MORE_WATCHERS,
    collections: few.collections + many.collections,
  };
}

function openWatches({ server }: CountedServer): Promise<number> {
  return metric(server, "apiserver_watch_cache_watchers", 'resource="configmaps"');
}

if (process.argv[1]?.endsWith("/bench/counts.js")) {
  const counts = await countAll(false, process.argv.slice(2));
  for (const [name, { code, bytes, collections }] of Object.entries(counts)) {
    const cells = [code.toFixed(0), bytes.toFixed(0), String(collections)];
    process.stdout.write(`${name.padEnd(26)}${cells.map((cell) => cell.padStart(10)).join("")}\n`);
  }
  for (const [name, { functions }] of Object.entries(counts)) {
    if (functions !== undefined) process.stdout.write(`\n${name}\n${listOf(functions)}`);
  }
}

function listOf(functions: Readonly<Record<string, number>>): string {
  return Object.entries(functions)
    .filter(([, code]) => code >= 1)
    .sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
    .map(([place, code]) => `${code.toFixed(0).padStart(9)}  ${place}\n`)
    .join("");
}
