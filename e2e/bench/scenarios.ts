/**
 * What is measured: requests on single objects, lists in their forms, streaming lists and the fan-out of
 * events. Each scenario drives connections that are open and answers that are checked before.
 */
import { CONFIG_MAPS, configMap } from "../promises/raw-client.js";
import type { UnitName } from "./bare.js";
import type { BenchAnswer, BenchConnection, BenchRequest } from "./connection.js";

/** One protocol against one server, and what the collection holds. */
export interface Bench {
  /** Opens a connection of its own. */
  open(): Promise<BenchConnection>;
  /** CPU of the server, user and system, in microseconds so far. */
  cpuUs(): Promise<number>;
  readonly objects: number;
  readonly seconds: number;
  readonly watchers: number;
}

/** Microseconds of the server's CPU for one operation. */
export type Scenario = (bench: Bench) => Promise<number>;

/** Requests on single objects are under way at the same time so many. */
const CONCURRENCY = 16;
/** Writes of one scenario. */
const WRITES = 3_000;
/** Writes of its kind before it, in as many: the first 6,000 are a third dearer, as V8 compiles their code. */
const WARM_UP_ROUNDS = 2;
const EVENTS = 200;
const WRITERS = 4;
/** Objects that change between two lists, as they do between two of a herd of clients. */
const CHANGED_BETWEEN = 3;
const PAGE = 500;

const JSON_TYPE = "application/json";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const MERGE_PATCH = "application/merge-patch+json";

const nameOf = (index: number) => `item-${String(index).padStart(6, "0")}`;
const pathOf = (index: number) => `${CONFIG_MAPS}/${nameOf(index)}`;
/** No value that it had before, and of the same length. */
const nextMark = () => String(performance.now()).padEnd(20, "0").slice(0, 20);

const patchOf = (index: number): BenchRequest => ({
  method: "PATCH",
  path: pathOf(index),
  headers: { Accept: JSON_TYPE, "Content-Type": MERGE_PATCH },
  body: JSON.stringify({ data: { mark: nextMark() } }),
});

/** A ConfigMap's JSON with another mark in its data. */
export function changed(body: Buffer, mark: string): string {
  const object = JSON.parse(body.toString()) as { data: Record<string, string> };
  object.data.mark = mark;
  return JSON.stringify(object);
}

function expectStatus(answer: BenchAnswer, status: number): BenchAnswer {
  if (answer.status === status) return answer;
  throw new Error(`status ${answer.status}: ${answer.body.toString("utf8", 0, 300)}`);
}

/** Calls `work` from several lanes until it gives up; connections are opened and closed around it. */
async function inLanes(
  bench: Bench,
  lanes: number,
  work: (connection: BenchConnection) => Promise<boolean>,
): Promise<void> {
  const connections = [await bench.open()];
  const lanesEach = connections[0]?.lanes ?? 1;
  while (connections.length * lanesEach < lanes) connections.push(await bench.open());
  const lane = async (index: number) => {
    const connection = connections[index % connections.length];
    if (connection === undefined) return;
    while (await work(connection));
  };
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index)));
  for (const connection of connections) connection.close();
}

async function measured(
  bench: Bench,
  run: () => Promise<number>,
  warmUp?: () => Promise<unknown>,
): Promise<number> {
  await warmUp?.();
  const before = await bench.cpuUs();
  const operations = await run();
  return ((await bench.cpuUs()) - before) / operations;
}

function lasting(bench: Bench, seconds: number, request: (index: number) => BenchRequest) {
  return async () => {
    const until = performance.now() + seconds * 1000;
    let count = 0;
    await inLanes(bench, CONCURRENCY, async (connection) => {
      expectStatus(await connection.request(request((count++ * 37) % bench.objects)), 200);
      return performance.now() < until;
    });
    return count;
  };
}

const gets =
  (query: string): Scenario =>
  (bench) => {
    const request = (index: number): BenchRequest => ({
      method: "GET",
      path: pathOf(index) + query,
      headers: { Accept: JSON_TYPE },
    });
    return measured(
      bench,
      lasting(bench, bench.seconds, request),
      lasting(bench, bench.seconds / 3, request),
    );
  };

/** Each of a number of requests once. */
function once(
  bench: Bench,
  count: number,
  status: number,
  request: (index: number) => BenchRequest,
) {
  return async () => {
    let next = 0;
    await inLanes(bench, CONCURRENCY, async (connection) => {
      if (next >= count) return false;
      expectStatus(await connection.request(request(next++)), status);
      return true;
    });
    return count;
  };
}

function creates(bench: Bench, from: number): () => Promise<number> {
  const request = (index: number): BenchRequest => ({
    method: "POST",
    path: CONFIG_MAPS,
    headers: { Accept: JSON_TYPE, "Content-Type": JSON_TYPE },
    body: configMap(nameOf(from + index), 1024),
  });
  return once(bench, WRITES, 201, request);
}

function removes(bench: Bench, from: number): () => Promise<number> {
  const request = (index: number): BenchRequest => ({
    method: "DELETE",
    path: pathOf(from + index),
    headers: { Accept: JSON_TYPE },
  });
  return once(bench, WRITES, 200, request);
}

/** Of objects that come and go. */
const warmUp = (bench: Bench) => async () => {
  const from = bench.objects + 3 * WRITES;
  for (let round = 0; round < WARM_UP_ROUNDS; round++) {
    await creates(bench, from)();
    await removes(bench, from)();
  }
};

const create: Scenario = (bench) => measured(bench, creates(bench, bench.objects), warmUp(bench));

const remove: Scenario = (bench) => measured(bench, removes(bench, bench.objects), warmUp(bench));

/** Of objects that were made for it. */
const deleteCollection: Scenario = async (bench) => {
  const from = bench.objects + 2 * WRITES;
  const request = (index: number): BenchRequest => {
    const text = configMap(nameOf(from + index), 1024);
    const object = JSON.parse(text) as { metadata: { labels?: object } };
    object.metadata.labels = { bench: "gone" };
    return {
      method: "POST",
      path: CONFIG_MAPS,
      headers: { Accept: JSON_TYPE, "Content-Type": JSON_TYPE },
      body: JSON.stringify(object),
    };
  };
  await once(bench, WRITES, 201, request)();
  const connection = await bench.open();
  const path = `${CONFIG_MAPS}?labelSelector=bench%3Dgone`;
  const cost = await measured(bench, async () => {
    expectStatus(await connection.request({ method: "DELETE", path }), 200);
    return WRITES;
  });
  connection.close();
  return cost;
};

/** Each object as it was read and with one change, as clients write it. */
const update: Scenario = (bench) => {
  const bodies: string[] = [];
  const read = async () => {
    let next = 0;
    await inLanes(bench, CONCURRENCY, async (connection) => {
      const index = next++;
      if (index >= WRITES) return false;
      const answer = await connection.request({ method: "GET", path: pathOf(index) });
      bodies[index] = changed(expectStatus(answer, 200).body, nextMark());
      return true;
    });
  };
  const write = once(bench, WRITES, 200, (index) => ({
    method: "PUT",
    path: pathOf(index),
    headers: { Accept: JSON_TYPE, "Content-Type": JSON_TYPE },
    body: bodies[index] ?? "",
  }));
  const warmUp = async () => {
    for (let round = 0; round < WARM_UP_ROUNDS; round++) {
      await read();
      await write();
    }
    await read();
  };
  return measured(bench, write, warmUp);
};

const patch: Scenario = (bench) => measured(bench, ...warm(once(bench, WRITES, 200, patchOf)));

/** What is measured, and the same as its warm-up. */
function warm(run: () => Promise<number>): [() => Promise<number>, () => Promise<void>] {
  const before = async () => {
    for (let round = 0; round < WARM_UP_ROUNDS; round++) await run();
  };
  return [run, before];
}

const lists =
  ({ accept = JSON_TYPE, limit = 0, coding = "identity", query = "" }): Scenario =>
  async (bench) => {
    const connection = await bench.open();
    const page = async (path: string) => {
      const headers = { Accept: accept, "Accept-Encoding": coding };
      return expectStatus(await connection.request({ method: "GET", path, headers }), 200);
    };
    const all = async () => {
      if (limit === 0) return void (await page(`${CONFIG_MAPS}${query}`));
      let token = "";
      do {
        const answer = await page(`${CONFIG_MAPS}?limit=${limit}${token}`);
        const head = await headOf(answer.body, coding);
        const next = /"continue":"([^"]+)"/.exec(head)?.[1];
        token = next === undefined ? "" : `&continue=${encodeURIComponent(next)}`;
      } while (token !== "");
    };
    await all();
    await all();
    const until = performance.now() + bench.seconds * 1000;
    let [cost, count] = [0, 0];
    while (performance.now() < until || count < 3) {
      for (let i = 0; i < CHANGED_BETWEEN; i++) {
        expectStatus(
          await connection.request(patchOf((count * 31 + i * 997) % bench.objects)),
          200,
        );
      }
      const before = await bench.cpuUs();
      await all();
      cost += (await bench.cpuUs()) - before;
      count++;
    }
    connection.close();
    return cost / count;
  };

/** The beginning of a list, where its token is. */
async function headOf(body: Buffer, coding: string): Promise<string> {
  if (coding !== "gzip" || body[0] !== 0x1f) return body.toString("latin1", 0, 1_000);
  const { gunzipSync } = await import("node:zlib");
  return gunzipSync(body).toString("latin1", 0, 1_000);
}

const streamingList: Scenario = async (bench) => {
  const connection = await bench.open();
  const path = `${CONFIG_MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
  const whole = async () => {
    const own = await bench.open();
    await new Promise<void>((resolve, reject) => {
      let tail = "";
      const onData = (piece: Buffer) => {
        tail = (tail + piece.toString("latin1", Math.max(0, piece.length - 600))).slice(-600);
        if (tail.includes("initial-events-end")) resolve();
      };
      own.request({ method: "GET", path, headers: { Accept: JSON_TYPE }, onData }).catch(reject);
    });
    return own;
  };
  (await whole()).close();
  const until = performance.now() + bench.seconds * 1000;
  let [cost, count] = [0, 0];
  while (performance.now() < until || count < 3) {
    const before = await bench.cpuUs();
    const own = await whole();
    cost += (await bench.cpuUs()) - before;
    count++;
    own.close();
  }
  connection.close();
  return cost / count;
};

/** @param isShared several watches on a connection, where the protocol can */
const watch =
  (isShared: boolean): Scenario =>
  async (bench) => {
    const connections: BenchConnection[] = [];
    let lines = 0;
    let started = 0;
    const onData = (piece: Buffer) => {
      for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
    };
    const writer = await bench.open();
    const state = expectStatus(
      await writer.request({ method: "GET", path: `${CONFIG_MAPS}?limit=1` }),
      200,
    );
    const version = /"resourceVersion":"(\d+)"/.exec(state.body.toString("latin1", 0, 500))?.[1];
    for (let i = 0; i < bench.watchers; i++) {
      const last = connections.at(-1);
      const isFull = !isShared || last === undefined || started % last.lanes === 0;
      const connection = isFull ? await bench.open() : last;
      if (isFull) connections.push(connection);
      started++;
      const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${version}`;
      connection
        .request({ method: "GET", path, headers: { Accept: JSON_TYPE }, onData })
        .catch(() => {});
    }
    const until = async (count: number) => {
      const deadline = performance.now() + 60_000;
      while (lines < count) {
        if (performance.now() > deadline) throw new Error(`${lines} of ${count} events`);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    };
    const write = async (count: number) => {
      const writers = await Promise.all(Array.from({ length: WRITERS }, () => bench.open()));
      let next = 0;
      const before = lines;
      await Promise.all(
        writers.map(async (connection) => {
          while (next < count) expectStatus(await connection.request(patchOf(next++)), 200);
          connection.close();
        }),
      );
      await until(before + count * bench.watchers);
    };
    await write(20);
    const cost = await measured(bench, async () => {
      await write(EVENTS);
      return EVENTS * bench.watchers;
    });
    for (const connection of connections) connection.close();
    writer.close();
    return cost;
  };

/** In the order in which they run; what creates and removes stands at the end. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  get: gets(""),
  "get-rv0": gets("?resourceVersion=0"),
  list: lists({}),
  pages: lists({ limit: PAGE }),
  table: lists({ accept: TABLE }),
  "list-gzip": lists({ coding: "gzip" }),
  "pages-gzip": lists({ coding: "gzip", limit: PAGE }),
  "table-gzip": lists({ coding: "gzip", accept: TABLE }),
  watchlist: streamingList,
  watch: watch(false),
  "watch-shared": watch(true),
  create,
  update,
  patch,
  delete: remove,
  deletecollection: deleteCollection,
};

/** Which of the bare server's figures a scenario is divided by. */
export function unitOf(scenario: string): UnitName {
  if (/^(?:list|pages|table|watchlist)/.test(scenario)) return "list";
  return scenario.startsWith("watch") ? "watch" : "get";
}
