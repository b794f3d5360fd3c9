/**
 * What requests cost two servers beside each other, in turns of a few hundred, so that whatever else the machine
 * does meets both: two builds, or two settings of one. Both are started anew for each round and begin
 * cold, so what V8 compiles meanwhile counts, as it does after every deployment.
 *
 *   node dist/e2e/bench/beside.js --against=MAIN            another build's dist/bundle/main.js
 *   node dist/e2e/bench/beside.js create get --against-node-flags=--max-semi-space-size=16
 *     --against-node=PATH       another Node.js
 *     --node-flags=A,B  --against-node-flags=A,B   options of Node; without them those that are shipped
 *     --flags=A,B       --against-flags=A,B        the server's
 *     --env=A=1;B=2     --against-env=A=;B=2       its environment, beside what the image sets
 *     --rounds=3  --protocol=h2  --store=embedded  --lanes=16   requests under way at a time
 *     --warm=1          operations before, in times of those that count
 *
 * Prints microseconds of each server's CPU for one operation, medians over the rounds, how much of it threads
 * other than the main one took, and what is resident behind it.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Cleanup } from "../../storage/base/cleanup.js";
import { shippedEnvironment, shippedNodeFlags } from "../harness/command.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { residentMiB } from "../promises/gauge.js";
import { CONFIG_MAPS, configMap } from "../promises/raw-client.js";
import { startEtcd } from "../tools/etcd.js";
import type { BenchConnection, BenchRequest } from "./connection.js";
import { cpuUs } from "./cpu.js";
import { Http1Connection } from "./http1-connection.js";
import { Http2Connection } from "./http2-connection.js";
import { median } from "./median.js";
import { pinGenerator, pinToServerCore } from "./pin.js";
import { changed } from "./scenarios.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    against: { type: "string" },
    "against-node": { type: "string" },
    "node-flags": { type: "string" },
    "against-node-flags": { type: "string" },
    flags: { type: "string", default: "" },
    "against-flags": { type: "string", default: "" },
    env: { type: "string", default: "" },
    "against-env": { type: "string", default: "" },
    rounds: { type: "string", default: "3" },
    protocol: { type: "string", default: "h1" },
    store: { type: "string", default: "etcd" },
    warm: { type: "string", default: "0" },
    lanes: { type: "string", default: "16" },
  },
});

const SETTLE_MS = 3_000;
const LANES = Number(values.lanes);
/** Operations of one turn: short enough that both meet the same machine. */
const TURN = Math.max(250, 4 * LANES);
const BYTES = 1024;
const JSON_TYPE = "application/json";
const MERGE_PATCH = "application/merge-patch+json";

interface Operation {
  readonly count: number;
  readonly status: number;
  /** @param known the answer to the last write of the same object */
  readonly request: (index: number, known: Buffer) => BenchRequest;
}

const nameOf = (index: number) => `item-${String(index).padStart(6, "0")}`;
const pathOf = (index: number) => `${CONFIG_MAPS}/${nameOf(index)}`;
const mark = () => String(performance.now()).padEnd(20, "0").slice(0, 20);
const json = { Accept: JSON_TYPE, "Content-Type": JSON_TYPE };
const OBJECTS = 10_000;
const get = (query: string): Operation => ({
  count: 20_000,
  status: 200,
  request: (index) => {
    const path = pathOf((index * 37) % OBJECTS) + query;
    return { method: "GET", path, headers: { Accept: JSON_TYPE } };
  },
});

/** In the order of their run; what is read and written later is created first. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  create: {
    count: OBJECTS,
    status: 201,
    request: (index) => {
      const body = configMap(nameOf(index), BYTES);
      return { method: "POST", path: CONFIG_MAPS, headers: json, body };
    },
  },
  get: get(""),
  "get-rv0": get("?resourceVersion=0"),
  update: {
    count: 3_000,
    status: 200,
    request: (index, known) => {
      const body = changed(known, mark());
      return { method: "PUT", path: pathOf(index), headers: json, body };
    },
  },
  patch: {
    count: 3_000,
    status: 200,
    request: (index) => {
      const headers = { Accept: JSON_TYPE, "Content-Type": MERGE_PATCH };
      const body = JSON.stringify({ data: { mark: mark() } });
      return { method: "PATCH", path: pathOf(index), headers, body };
    },
  },
  delete: {
    count: 3_000,
    status: 200,
    request: (index) => ({
      method: "DELETE",
      path: pathOf(OBJECTS - 1 - index),
      headers: { Accept: JSON_TYPE },
    }),
  },
};

/** One of the two, with its connections. */
interface Contender {
  readonly server: ServerProcess;
  /** None until `connect`. */
  connections: readonly BenchConnection[];
  /** Answers to the last writes, by path. */
  readonly written: Map<string, Buffer>;
}

async function open(opened: Cleanup, isOther: boolean): Promise<Contender> {
  const own = values[isOther ? "against-env" : "env"].split(";").filter((one) => one !== "");
  const pairs = own.map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]);
  // A server has the environment of this process.
  const before = { ...process.env };
  Object.assign(process.env, await shippedEnvironment(), Object.fromEntries(pairs));
  const words = (text: string) => text.split(",").filter((word) => word !== "");
  const nodeFlags = values[isOther ? "against-node-flags" : "node-flags"] ?? "";
  const etcd = values.store === "etcd" ? opened.use(await startEtcd()) : undefined;
  const server = opened.use(
    await startServer({
      ...(etcd !== undefined && { etcdEndpoints: [etcd.endpoint] }),
      ...(isOther && values.against !== undefined && { main: values.against }),
      ...(isOther && values["against-node"] !== undefined && { node: values["against-node"] }),
      nodeFlags: [...shippedNodeFlags(), ...words(nodeFlags)],
      flags: words(values[isOther ? "against-flags" : "flags"]),
    }),
  );
  process.env = before;
  pinToServerCore(server.pid);
  return { server, connections: [], written: new Map() };
}

/** Behind the start of both: a connection that waits for half a minute without a request is answered with 408 and closed. */
async function connect(contender: Contender): Promise<void> {
  const isH2 = values.protocol === "h2";
  const openOne = isH2 ? Http2Connection.open : Http1Connection.open;
  const opening = Array.from({ length: isH2 ? 1 : LANES }, () => openOne(contender.server));
  contender.connections = await Promise.all(opening);
}

/** So many operations from one on, over all lanes. */
async function run(
  { connections, written }: Contender,
  { status, request }: Operation,
  from: number,
  to: number,
): Promise<void> {
  let next = from;
  const lane = async (index: number) => {
    const connection = connections[index % connections.length];
    while (connection !== undefined && next < to) {
      const at = pathOf(next);
      const asked = request(next++, written.get(at) ?? Buffer.alloc(0));
      const answer = await connection.request(asked);
      if (answer.status === status) {
        if (asked.method !== "GET" && asked.method !== "DELETE") written.set(at, answer.body);
        continue;
      }
      throw new Error(`status ${answer.status}: ${answer.body.toString("utf8", 0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)));
}

/** Of the main thread alone. */
async function mainThreadUs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${pid}/schedstat`, "latin1");
  return Number(text.split(" ")[0]) / 1_000;
}

interface Cost {
  readonly all: number;
  readonly main: number;
}

async function costsOf({ server }: Contender): Promise<Cost> {
  return { all: await cpuUs(server.pid), main: await mainThreadUs(server.pid) };
}

/** Every operation by both, in turns. @returns by operation what one cost each of them */
async function measure(
  contenders: readonly Contender[],
  names: readonly string[],
): Promise<Map<string, Cost[]>> {
  const costs = new Map<string, Cost[]>();
  for (const name of names) {
    const operation = OPERATIONS[name];
    if (operation === undefined) throw new Error(`unknown operation ${name}`);
    const warm = Math.round(Number(values.warm) * operation.count);
    const { count } = operation;
    for (const contender of contenders) await run(contender, operation, 0, warm);
    const before = await Promise.all(contenders.map(costsOf));
    for (let from = warm; from < warm + count; from += TURN) {
      const to = Math.min(from + TURN, warm + count);
      // Who is first changes, as the second finds warm caches.
      const inTurn = (from / TURN) % 2 === 0 ? contenders : [...contenders].reverse();
      for (const contender of inTurn) await run(contender, operation, from, to);
    }
    const after = await Promise.all(contenders.map(costsOf));
    costs.set(
      name,
      after.map(({ all, main }, index) => ({
        all: (all - (before[index]?.all ?? 0)) / count,
        main: (main - (before[index]?.main ?? 0)) / count,
      })),
    );
  }
  return costs;
}

pinGenerator();
const names = positionals.length > 0 ? positionals : Object.keys(OPERATIONS);
const rounds: Map<string, Cost[]>[] = [];
const residents: number[][] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  await using opened = new Cleanup();
  const contenders = [await open(opened, false), await open(opened, true)];
  // What the second does behind its start is not to be counted.
  await sleep(SETTLE_MS);
  for (const contender of contenders) await connect(contender);
  rounds.push(await measure(contenders, names));
  residents.push(await Promise.all(contenders.map(({ server }) => residentMiB(server.pid))));
  for (const { connections } of contenders) for (const one of connections) one.close();
}
const line = (cells: readonly string[]) =>
  process.stdout.write(
    `${cells.map((cell, i) => (i === 0 ? cell.padEnd(10) : cell.padStart(15))).join("")}\n`,
  );
line(["", "this µs", "other threads", "against µs", "other threads", "this/against"]);
for (const name of names) {
  const of = (index: number, part: (cost: Cost) => number) =>
    median(rounds.map((round) => part(round.get(name)?.[index] ?? { all: 0, main: 0 })));
  const ratios = rounds.map((round) => {
    const [one, other] = round.get(name) ?? [];
    return (one?.all ?? 0) / (other?.all ?? 1);
  });
  line([
    name,
    ...[0, 1].flatMap((index) => [
      of(index, ({ all }) => all).toFixed(1),
      of(index, ({ all, main }) => all - main).toFixed(1),
    ]),
    median(ratios).toFixed(3),
  ]);
}
line([
  "MiB",
  ...[0, 1].flatMap((index) => [median(residents.map((one) => one[index] ?? 0)).toFixed(0), ""]),
]);
