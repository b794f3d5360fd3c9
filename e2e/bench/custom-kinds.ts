/**
 * What custom resources cost the server beside ConfigMaps, in one run of one server, in turns, so that
 * whatever else the machine does meets both:
 *
 *   node dist/e2e/bench/custom-kinds.js                  all scenarios
 *   node dist/e2e/bench/custom-kinds.js create update    some of them
 *     --objects=2000  --turns=7  --profile=DIR
 *
 * Prints microseconds of the server's CPU for one operation, the medians over the turns, and the bytes of
 * an answer, which are the same for both: as many members, and a payload that makes up for longer names
 * and paths of fields.
 */

import { parseArgs } from "node:util";
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import { startServer } from "../harness/server-process.js";
import { CONFIG_MAPS, configMap } from "../promises/raw-client.js";
import { startEtcd } from "../tools/etcd.js";
import type { BenchConnection, BenchRequest } from "./connection.js";
import { cpuUs } from "./cpu.js";
import { Http1Connection } from "./http1-connection.js";
import { median } from "./median.js";
import { pinGenerator, pinToServerCore } from "./pin.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    objects: { type: "string", default: "2000" },
    turns: { type: "string", default: "7" },
    profile: { type: "string" },
  },
});
const OBJECTS = Number(values.objects);
const TURNS = Number(values.turns);
const CONNECTIONS = 16;
/** Writes or gets of a turn. */
const OPERATIONS = 600;
const LISTS = 5;
/** Turns before any is counted: code is compiled in the first thousands of writes of a kind. */
const WARM_UP_TURNS = 6;
const BYTES = 1024;
const JSON_TYPE = "application/json";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

/** One of the two that are compared. */
interface Contender {
  readonly name: string;
  readonly path: string;
  body(name: string, mark: string): string;
}

const text = { type: "string" };
const SPEC = {
  type: "object",
  required: ["payload"],
  properties: {
    payload: { ...text, maxLength: 10_000 },
    mark: text,
    mode: { ...text, enum: ["Auto", "Manual"], default: "Auto" },
    replicas: { type: "integer", minimum: 0, maximum: 100 },
    labels: { type: "object", additionalProperties: text },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name"],
        properties: { name: text, port: { type: "integer" } },
      },
    },
  },
};
const STATUS = { type: "object", properties: { phase: text } };
const DEFINITION = definitionOf("benchitems.bench.example.com", "BenchItem", {
  versions: [
    versionOf(
      { type: "object", properties: { spec: SPEC, status: STATUS } },
      {
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Mode", type: "string", jsonPath: ".spec.mode" },
          { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
        ],
      },
    ),
  ],
});

function benchItem(name: string, mark: string): string {
  const spec = {
    payload: "",
    mark,
    replicas: 3,
    labels: { a: "b" },
    ports: [{ name: "a", port: 1 }],
  };
  const object = {
    kind: "BenchItem",
    apiVersion: "bench.example.com/v1",
    metadata: { name },
    spec,
  };
  spec.payload = "x".repeat(Math.max(0, BYTES - JSON.stringify(object).length));
  return JSON.stringify(object);
}

const CUSTOM: Contender = {
  name: "custom",
  path: "/apis/bench.example.com/v1/namespaces/default/benchitems",
  body: benchItem,
};
/** @param more what a payload has to be longer by, so that the answers are of the same length */
const builtIn = (more: number): Contender => ({
  name: "built-in",
  path: CONFIG_MAPS,
  // As many values as a BenchItem has, all of them texts, as in every ConfigMap.
  body: (name, mark) =>
    configMap(name, BYTES + more, {
      mark,
      mode: "Auto",
      replicas: "3",
      a: "b",
      name: "a",
      port: "1",
    }),
});

/** The version of each object that was last written: who replaces a custom resource has to name it. */
const versions = new Map<string, string>();

function withVersion(path: string, name: string, body: string): string {
  const version = versions.get(`${path}/${name}`) ?? "";
  return body.replace('"metadata":{', `"metadata":{"resourceVersion":"${version}",`);
}

const nameOf = (index: number) => `item-${String(index).padStart(6, "0")}`;
/** No value that it had before, and of the same length. */
const nextMark = () => String(performance.now()).padEnd(20, "0").slice(0, 20);

/** The requests of one turn; `count` grows from turn to turn. */
type Requests = (contender: Contender, count: number) => BenchRequest;

const get: Requests = ({ path }, count) => ({
  method: "GET",
  path: `${path}/${nameOf(count % OBJECTS)}`,
  headers: { Accept: JSON_TYPE },
});
const list =
  (accept: string): Requests =>
  ({ path }) => ({ method: "GET", path, headers: { Accept: accept } });
const send = (method: string, type = JSON_TYPE) => ({
  method,
  headers: { Accept: JSON_TYPE, "Content-Type": type },
});
const create: Requests = ({ path, body }, count) => ({
  ...send("POST"),
  path,
  body: body(nameOf(OBJECTS + count), "new"),
});
const update: Requests = ({ path, body }, count) => {
  const name = nameOf(count % OBJECTS);
  const next = withVersion(path, name, body(name, nextMark()));
  return { ...send("PUT"), path: `${path}/${name}`, body: next };
};
const patch: Requests = ({ name, path }, count) => ({
  ...send("PATCH", "application/merge-patch+json"),
  path: `${path}/${nameOf(count % OBJECTS)}`,
  body: JSON.stringify({ [name === "custom" ? "spec" : "data"]: { mark: nextMark() } }),
});
const apply: Requests = ({ path, body }, count) => {
  const name = nameOf(count % OBJECTS);
  return {
    ...send("PATCH", "application/apply-patch+yaml"),
    path: `${path}/${name}?fieldManager=bench&force=true`,
    body: body(name, nextMark()),
  };
};

const SCENARIOS: Readonly<Record<string, readonly [count: number, Requests]>> = {
  get: [OPERATIONS, get],
  list: [LISTS, list(JSON_TYPE)],
  table: [LISTS, list(TABLE)],
  create: [OPERATIONS, create],
  update: [OPERATIONS, update],
  patch: [OPERATIONS, patch],
  apply: [OPERATIONS, apply],
};

pinGenerator();
await using etcd = await startEtcd();
await using server = await startServer({
  etcdEndpoints: [etcd.endpoint],
  nodeFlags: values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`],
});
pinToServerCore(server.pid);
(
  await server.client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
).expect(201);
const connections: BenchConnection[] = [];
while (connections.length < CONNECTIONS) connections.push(await Http1Connection.open(server));

/** Sends requests with the numbers `from` up to `to` over all connections. @returns bytes of the answers */
async function drive(
  { path }: Contender,
  [from, to]: readonly [number, number],
  request: (count: number) => BenchRequest,
) {
  let next = from;
  let received = 0;
  const lane = async (connection: BenchConnection) => {
    while (next < to) {
      const { status, body } = await connection.request(request(next++));
      received += body.length;
      const answer = body.toString("utf8", 0, 500);
      if (status >= 300) throw new Error(`status ${status}: ${answer}`);
      const written = /"name":"([^"]+)".*?"resourceVersion":"(\d+)"/.exec(answer);
      if (written !== null) versions.set(`${path}/${written[1]}`, written[2] ?? "");
    }
  };
  await Promise.all(connections.map(lane));
  return received;
}

const sample = (contender: Contender, at: number) =>
  drive(contender, [at, at + 1], (count) => create(contender, count));
const first = -OBJECTS - 1;
const evening = (await sample(CUSTOM, first)) - (await sample(builtIn(0), first));
const contenders = [CUSTOM, builtIn(evening)];
for (const contender of contenders) {
  await drive(contender, [-OBJECTS, 0], (count) => create(contender, count));
}
process.stdout.write("scenario    custom µs  built-in µs  ratio  bytes of the answers\n");
for (const name of positionals.length > 0 ? positionals : Object.keys(SCENARIOS)) {
  const [count, requests] = SCENARIOS[name] ?? [0, get];
  if (count === 0) throw new Error(`unknown scenario ${name}`);
  const costs = contenders.map((): number[] => []);
  const bytes = contenders.map(() => 0);
  for (let turn = 0; turn < WARM_UP_TURNS + TURNS; turn++) {
    // Who comes second may pay for the other's garbage.
    for (const index of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      const contender = contenders[index] as Contender;
      const before = await cpuUs(server.pid);
      const next = [turn * count, (turn + 1) * count] as const;
      bytes[index] = (await drive(contender, next, (at) => requests(contender, at))) / count;
      if (turn >= WARM_UP_TURNS) costs[index]?.push(((await cpuUs(server.pid)) - before) / count);
    }
  }
  const [custom = 0, other = 0] = costs.map(median);
  const cells = [custom.toFixed(1).padStart(11), other.toFixed(1).padStart(13)];
  process.stdout.write(
    `${name.padEnd(10)}${cells.join("")}${(custom / other).toFixed(2).padStart(7)}${bytes.map((count) => String(Math.round(count)).padStart(12)).join("")}\n`,
  );
}
for (const connection of connections) connection.close();
await server.stop();
