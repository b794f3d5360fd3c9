/** CBOR on the wire, with its gate on and off (S1-NEG-04..08, S1-FEAT-01). */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { JsonObject, JsonValue } from "../server/api/meta.js";
import { encodeCbor, SELF_DESCRIBED } from "../server/codec/cbor.js";
import { parseCbor } from "../server/codec/cbor-parser.js";
import { furnished } from "./harness/furnished-namespace.js";
import { startServer } from "./harness/server-process.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const CBOR = "application/cbor";
const TABLE = "as=Table;g=meta.k8s.io;v=v1";
const METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

const [off, on] = await Promise.all([
  startServer(),
  startServer({ flags: ["--feature-gates=CBORServingAndStorage=true"] }),
]);
after(async () => {
  await off[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
});
// Lists and watches of the same namespace are compared: no control loop may write between them.
await furnished(on.client);

const map = (name: string, data: JsonObject) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});
const send = (method: string, path: string, value: JsonValue, type = CBOR) =>
  on.client.request(path, {
    method,
    headers: { "content-type": type, accept: CBOR },
    body: encodeCbor(value),
  });
const get = (path: string, accept: string) => on.client.get(path, accept);
const objectIn = (bytes: Buffer) => parseCbor(bytes) as JsonObject;

test("S1-NEG-04, S1-FEAT-01: without the gate CBOR is neither given nor taken", async () => {
  const accept = { accept: CBOR };
  (await off.client.request(MAPS, { headers: accept })).expect(406);
  (await off.client.get(MAPS, `${CBOR},*/*`)).expect(200);
  for (const [method, path, type] of [
    ["POST", MAPS, CBOR],
    ["PATCH", `${MAPS}/a`, "application/apply-patch+cbor"],
  ] as const) {
    const headers = { "content-type": type };
    const body = encodeCbor(map("a", {}));
    (await off.client.request(path, { method, headers, body })).expect(415);
  }
});

test("S1-NEG-05, S1-NEG-06: objects and lists come and go in CBOR, the same as in JSON", async () => {
  const created = (await send("POST", MAPS, map("a", { text: "ä" }))).expect(201);
  assert.equal(created.headers["content-type"], CBOR);
  assert.deepEqual(created.bytes.subarray(0, 3), SELF_DESCRIBED);
  const current = objectIn(created.bytes) as JsonObject & { metadata: JsonObject };
  (await send("PUT", `${MAPS}/a`, { ...current, data: { text: "b" } })).expect(200);
  for (const path of [`${MAPS}/a`, `${MAPS}?limit=5`, MAPS, "/api/v1/namespaces"]) {
    const inCbor = await get(path, CBOR);
    const { metadata, ...rest } = objectIn(inCbor.expect(200).bytes);
    const { metadata: expected, ...expectedRest } = (await get(path, "application/json")).object;
    assert.deepEqual(rest, expectedRest, path);
    assert.ok(metadata !== undefined && expected !== undefined);
  }
  const missing = (await get(`${MAPS}/missing`, CBOR)).expect(404);
  assert.equal(missing.headers["content-type"], CBOR);
  assert.equal(objectIn(missing.bytes).reason, "NotFound");
});

test("S1-NEG-13: tables and metadata in CBOR", async () => {
  const table = await get(MAPS, `${CBOR};${TABLE}`);
  assert.equal(table.headers["content-type"], CBOR);
  const { kind, rows } = objectIn(table.expect(200).bytes) as { kind: string; rows: JsonObject[] };
  const [row = {}] = rows;
  assert.deepEqual([kind, (row.cells as JsonValue[])[0]], ["Table", "a"]);
  const metadata = objectIn((await get(`${MAPS}/a`, `${CBOR};${METADATA}`)).expect(200).bytes);
  assert.deepEqual(Object.keys(metadata), ["kind", "apiVersion", "metadata"]);
});

test("S1-NEG-07, S1-WATCH-25: a watch is a sequence of items, one event each", async () => {
  const before = (await on.client.get(MAPS)).object.metadata.resourceVersion;
  (await send("POST", MAPS, map("w1", { n: "1" }))).expect(201);
  (await on.client.delete(`${MAPS}/w1`)).expect(200);
  const path = `${MAPS}?watch=1&resourceVersion=${before}&timeoutSeconds=1`;
  for (const accept of [CBOR, "application/cbor-seq"]) {
    const stream = (await get(path, accept)).expect(200);
    assert.equal(stream.headers["content-type"], "application/cbor-seq");
    const starts: number[] = [];
    for (let at = 0; at >= 0; at = stream.bytes.indexOf(SELF_DESCRIBED, at + 1)) starts.push(at);
    const events = starts.map((from, index) =>
      objectIn(stream.bytes.subarray(from, starts[index + 1])),
    );
    assert.deepEqual(
      events.map(({ type, object }) => [type, (object as { metadata: JsonObject }).metadata.name]),
      [
        ["ADDED", "w1"],
        ["DELETED", "w1"],
      ],
    );
  }
});

test("S1-NEG-08, S1-PATCH-07: an apply may be CBOR, the other patches not", async () => {
  const applied = await send(
    "PATCH",
    `${MAPS}/applied?fieldManager=me`,
    map("applied", { a: "1" }),
    "application/apply-patch+cbor",
  );
  assert.deepEqual(objectIn(applied.expect(201).bytes).data, { a: "1" });
  for (const type of ["json-patch", "merge-patch", "strategic-merge-patch"]) {
    (await send("PATCH", `${MAPS}/applied`, {}, `application/${type}+cbor`)).expect(415);
  }
});

test("S1-NEG-05: what is no CBOR, or no object in it, is a bad request", async () => {
  for (const body of [Buffer.from("{}"), Buffer.from([0xa1, 0x01]), Buffer.from([0xf7])]) {
    const headers = { "content-type": CBOR };
    (await on.client.request(MAPS, { method: "POST", headers, body })).expect(400);
  }
});

test("S1-VER-09: integers of 64 bits survive both ways", async () => {
  const path = "/apis/batch/v1/namespaces/default/jobs";
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "long" },
    spec: {
      activeDeadlineSeconds: 9_007_199_254_740_993n,
      template: {
        spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
      },
    },
  };
  const created = objectIn((await send("POST", path, job)).expect(201).bytes);
  assert.equal((created.spec as JsonObject).activeDeadlineSeconds, 9_007_199_254_740_993n);
  const { text } = await on.client.request(`${path}/long`, {});
  assert.match(text, /"activeDeadlineSeconds":9007199254740993\b/);
});
