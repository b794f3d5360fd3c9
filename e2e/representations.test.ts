/** The forms and encodings of answers over the wire: what is asked for is what comes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import { startServer } from "./harness/server-process.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const TABLE = "as=Table;g=meta.k8s.io;v=v1";
const METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const COUNT = 400;

// Nothing but what the test makes is in its namespace.
const server = await startServer({ flags: ["--controllers=*,-root-ca-cert-publisher"] });
const made = Array.from({ length: COUNT }, (_, index) =>
  server.client.post(MAPS, {
    metadata: { name: `m${String(index).padStart(4, "0")}` },
    data: { text: "x".repeat(2_000), big: "9223372036854775807" },
  }),
);
for (const answer of await Promise.all(made)) answer.expect(201);

after(() => server[Symbol.asyncDispose]());

const get = (path: string, headers: Record<string, string>) =>
  server.client.request(path, { headers });

test("S1-QP-14: people get indented answers, objects, lists and errors", async () => {
  const agent = { "user-agent": "curl/8.0" };
  const objects = [`${MAPS}/m0000`, `${MAPS}?limit=2`, MAPS, `${MAPS}/missing`];
  for (const path of [...objects, "/api/v1", "/apis", "/version", "/"]) {
    const { text } = await get(path, agent);
    assert.equal(text, JSON.stringify(JSON.parse(text), null, 2), path);
  }
  const compact = await get(`${MAPS}/m0000?pretty=false`, agent);
  assert.match(compact.text, /^\{"kind":"ConfigMap","apiVersion":"v1",/);
  const asked = await get(`${MAPS}/m0000?pretty=true`, {});
  assert.match(asked.text, /^\{\n {2}"kind": "ConfigMap"/);
});

test("S1-NEG-02, S1-NEG-11: YAML says what JSON says", async () => {
  for (const path of [`${MAPS}/m0000`, `${MAPS}?limit=3`, `${MAPS}?`]) {
    const json = (await get(path, {})).expect(200);
    const { metadata: expected, ...expectedRest } = JSON.parse(json.text);
    // The server writes for itself meanwhile, which moves the version of the most recent list.
    const exactly = path.includes("?")
      ? `&resourceVersion=${expected.resourceVersion}&resourceVersionMatch=Exact`
      : "";
    const yaml = (await get(`${path}${exactly}`, { accept: "application/yaml" })).expect(200);
    assert.equal(yaml.headers["content-type"], "application/yaml");
    const { metadata, ...rest } = parse(yaml.text);
    assert.deepEqual(rest, expectedRest, path);
    assert.equal(metadata.resourceVersion, expected.resourceVersion);
  }
  const missing = await get(`${MAPS}/missing`, { accept: "application/yaml" });
  assert.equal(parse(missing.expect(404).text).reason, "NotFound");
});

test("S1-NEG-13: an error is JSON for who asks for a form of the object alone", async () => {
  for (const type of ["application/yaml", PROTOBUF]) {
    const accept = `${type};${METADATA}`;
    const answer = (await get(`${MAPS}/missing`, { accept })).expect(404);
    assert.equal(answer.headers["content-type"], "application/json", accept);
    const both = await get(`${MAPS}/missing`, { accept: `${accept},${type}` });
    assert.equal(both.headers["content-type"], type, accept);
  }
});

test("39.3, S1-NEG-02, S1-NEG-18: YAML of large objects, in turns and compressed, says what JSON says", async () => {
  const path = `${MAPS.replace("default", "kube-public")}`;
  const names = ["long-0", "long-1"];
  for (const name of names) {
    const keys = Array.from({ length: 2_500 }, (_, at) => [
      `key-${(at * 7) % 2_500}`,
      "no: \n\u0001",
    ]);
    const data = { ...Object.fromEntries(keys), lines: "line\n".repeat(20_000) };
    (await server.client.post(path, { metadata: { name, labels: { is: "long" } }, data })).expect(
      201,
    );
  }
  (
    await server.client.post(path, { metadata: { name: "long-0-small", labels: { is: "long" } } })
  ).expect(201);
  const yaml = (of: string, headers: Record<string, string>, method = "GET") =>
    server.client.request(of, { method, headers: { accept: "application/yaml", ...headers } });
  for (const of of [`${path}/long-0`, `${path}?labelSelector=is%3Dlong`]) {
    const { metadata: _, ...expected } = JSON.parse((await get(of, {})).expect(200).text);
    const { text } = (await yaml(of, {})).expect(200);
    const { metadata: __, ...shown } = parse(text);
    assert.deepEqual(shown, expected, of);
    const zipped = (await yaml(of, { "accept-encoding": "gzip" })).expect(200);
    assert.equal(zipped.headers["content-encoding"], "gzip");
    assert.equal(withoutVersion(gunzipSync(zipped.bytes).toString()), withoutVersion(text));
    assert.equal((await yaml(of, {}, "HEAD")).expect(200).text, "");
  }
  for (const name of names) {
    const removed = (
      await yaml(`${path}/${name}?propagationPolicy=Background`, {}, "DELETE")
    ).expect(200);
    assert.equal(parse(removed.text).status, "Success");
  }
});

/** The server writes for itself meanwhile, which moves the version of the most recent list. */
const withoutVersion = (yaml: string) => yaml.replace(/^metadata:\n {2}resourceVersion: .*\n/m, "");

test("S1-PB-01, S1-PB-08, S1-PB-09: Protobuf for objects, lists, watches and errors", async () => {
  for (const path of [`${MAPS}/m0000`, `${MAPS}?limit=3`, MAPS, `${MAPS}/missing`]) {
    const answer = await get(path, { accept: PROTOBUF });
    assert.equal(answer.headers["content-type"], PROTOBUF);
    assert.deepEqual([...answer.bytes.subarray(0, 4)], [0x6b, 0x38, 0x73, 0x00], path);
  }
  const events = await get(`${MAPS}?watch=1&timeoutSeconds=1&limit=2`, { accept: PROTOBUF });
  assert.equal(events.headers["content-type"], `${PROTOBUF};stream=watch`);
  let frames = 0;
  for (let at = 0; at < events.bytes.length; at += 4 + events.bytes.readUInt32BE(at)) frames++;
  assert.equal(frames, COUNT);
});

const FORMS: readonly [ids: string, accept: string, path: string, status: number][] = [
  ["C-16", `${PROTOBUF};${TABLE}`, MAPS, 406],
  ["C-16", `${PROTOBUF};${METADATA_LIST}`, MAPS, 200],
  ["C-16", `${PROTOBUF};${METADATA}`, `${MAPS}/m0000`, 200],
  ["C-16, S1-TABLE-09", `application/json;${METADATA}`, MAPS, 406],
  ["C-16", `application/json;${METADATA_LIST}`, `${MAPS}/m0000`, 406],
  ["C-16", `application/json;${METADATA_LIST}`, `${MAPS}?watch=1`, 406],
  ["S1-NEG-13", `application/yaml;${TABLE}`, MAPS, 200],
  ["S1-NEG-02", "application/yaml", `${MAPS}?watch=1`, 406],
  ["S1-NEG-12", "text/csv", MAPS, 406],
];

for (const [ids, accept, path, status] of FORMS) {
  test(`${ids}: Accept ${accept} on ${path} is ${status}`, async () => {
    (await get(path, { accept })).expect(status);
  });
}

test("S1-TABLE-03: rows carry nothing, the metadata or the object", async () => {
  const accept = `application/json;${TABLE}`;
  const rowOf = async (included: string) => {
    const answer = await get(`${MAPS}?limit=1&includeObject=${included}`, { accept });
    return JSON.parse(answer.expect(200).text).rows[0];
  };
  assert.equal((await rowOf("None")).object, null);
  assert.deepEqual((await rowOf("None")).cells.slice(0, 2), ["m0000", 2]);
  assert.equal((await rowOf("Metadata")).object.kind, "PartialObjectMetadata");
  assert.equal((await rowOf("Object")).object.data.text.length, 2_000);
});

test("S1-TABLE-03: includeObject is looked at for tables only, and a wrong one says what is right", async () => {
  const path = `${MAPS}?limit=1&includeObject=Nothing`;
  (await get(path, {})).expect(200);
  const refused = (await get(path, { accept: `application/json;${TABLE}` })).expect(400);
  assert.equal(
    refused.object.message,
    "Unable to convert to Table as requested: includeObject: Invalid value: \"Nothing\": must be 'Metadata', 'Object', 'None', or empty",
  );
});

test("S1-WATCH-07, S1-TABLE-05: a bookmark is its version and nothing that it does not have, in every form", async () => {
  const path = `${MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`;
  const bookmarkIn = async (accept: string) => {
    const { text } = (await get(path, { accept })).expect(200);
    const line = text.split("\n").find((each) => each.startsWith('{"type":"BOOKMARK"')) ?? "";
    // Meanwhile others write.
    return JSON.parse(line.replaceAll(/"resourceVersion":"\d+"/g, '"resourceVersion":"1"')).object;
  };
  const metadata = {
    resourceVersion: "1",
    annotations: { "k8s.io/initial-events-end": "true" },
  };
  const map = { kind: "ConfigMap", apiVersion: "v1", metadata };
  assert.deepEqual(await bookmarkIn("application/json"), map);
  const meta = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
  assert.deepEqual(await bookmarkIn(`application/json;${METADATA}`), meta);
  const table = await bookmarkIn(`application/json;${TABLE}`);
  assert.deepEqual(table.rows[0].object, meta);
});

test("S1-VER-08: resourceVersionMatch means the same in every media type", async () => {
  const at = (await get(`${MAPS}?limit=1`, {})).object.metadata.resourceVersion ?? "";
  (await server.client.post(MAPS, { metadata: { name: "zz-later" } })).expect(201);
  const exact = `${MAPS}?resourceVersion=${at}&resourceVersionMatch=Exact`;
  for (const [mediaType, isIn] of [
    ["application/json", (text: string) => text.includes(`"resourceVersion":"${at}"`)],
    ["application/yaml", (text: string) => text.includes(`resourceVersion: "${at}"`)],
    [PROTOBUF, (text: string) => text.startsWith("k8s\0") && text.includes(at)],
    [`application/json;${TABLE}`, (text: string) => text.includes(`"resourceVersion":"${at}"`)],
  ] as const) {
    const accept = { accept: mediaType };
    const list = (await get(exact, accept)).expect(200);
    assert.ok(isIn(list.text), mediaType);
    assert.ok(!list.text.includes("zz-later"), mediaType);
    assert.ok((await get(MAPS, accept)).text.includes("zz-later"), mediaType);
    (await get(`${MAPS}?resourceVersion=${at}&resourceVersionMatch=About`, accept)).expect(422);
    (await get(`${MAPS}?resourceVersionMatch=Exact`, accept)).expect(422);
  }
  (await server.client.delete(`${MAPS}/zz-later`)).expect(200);
});

test("S1-NEG-11: the content type of a special form is the media type alone", async () => {
  for (const [accept, expected, watched] of [
    [`application/json;${TABLE}`, "application/json", "application/json"],
    [`application/json;${METADATA}`, "application/json", "application/json"],
    [`application/yaml;${TABLE}`, "application/yaml", undefined],
    [`${PROTOBUF};${METADATA}`, PROTOBUF, `${PROTOBUF};stream=watch`],
  ] as const) {
    const one = (await get(`${MAPS}/m0000`, { accept })).expect(200);
    assert.equal(one.headers["content-type"], expected, accept);
    const list = { accept: accept.replace("Metadata;", "MetadataList;") };
    const all = (await get(MAPS, list)).expect(200);
    assert.equal(all.headers["content-type"], expected, accept);
    if (watched === undefined) continue;
    const events = await get(`${MAPS}?watch=1&timeoutSeconds=1`, { accept });
    assert.equal(events.headers["content-type"], watched, accept);
  }
});

test("S1-NEG-18, S1-NEG-19: get and list are compressed, watches are not", async () => {
  const gzip = { "accept-encoding": "gzip" };
  for (const path of [`${MAPS}/m0000`, `${MAPS}?limit=3`, MAPS]) {
    const compressed = (await get(path, gzip)).expect(200);
    assert.equal(compressed.headers["content-encoding"], "gzip", path);
    assert.equal(compressed.headers.vary, "Accept-Encoding");
    const plain = (await get(path, {})).expect(200);
    const text = gunzipSync(compressed.bytes).toString();
    assert.deepEqual(JSON.parse(text).items, JSON.parse(plain.text).items, path);
  }
  const watch = await get(`${MAPS}?watch=1&timeoutSeconds=1`, gzip);
  assert.equal(watch.headers["content-encoding"], undefined);
  const small = await get("/api/v1/namespaces/default", gzip);
  assert.equal(small.headers["content-encoding"], undefined);
});

test("S1-NEG-09: what a delete answers is in the encoding asked for", async () => {
  const headers = { accept: "application/yaml" };
  const deleted = await server.client.request(`${MAPS}/m0001`, { method: "DELETE", headers });
  assert.equal(parse(deleted.expect(200).text).status, "Success");
  const again = await server.client.request(`${MAPS}/m0002`, {
    method: "DELETE",
    headers: { accept: PROTOBUF },
  });
  assert.deepEqual([...again.expect(200).bytes.subarray(0, 3)], [0x6b, 0x38, 0x73]);
});

test("S1-TABLE-08, S1-NEG-14: the answer to a question has no row; who takes JSON too gets that", async () => {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const body = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
  for (const [accept, expected] of [
    [`application/json;${TABLE}`, 406],
    [`application/json;${METADATA}`, 406],
    [`application/json;${TABLE},application/json`, 201],
  ] as const) {
    const headers = { accept, "content-type": "application/json" };
    const answer = await server.client.request(path, { method: "POST", headers, body });
    assert.equal(answer.status, expected, accept);
    assert.equal(answer.object.kind, expected === 201 ? "SelfSubjectAccessReview" : "Status");
  }
});

test("S1-WATCH-25: a watch as Tables and as metadata is one document per event", async () => {
  const first = (await get(`${MAPS}/m0000`, {})).expect(200).object;
  const since = Number(first.metadata.resourceVersion) - 1;
  const path = `${MAPS}?watch=1&resourceVersion=${since}&fieldSelector=metadata.name%3Dm0000&timeoutSeconds=1`;
  for (const [form, kind] of [
    [TABLE, "Table"],
    [METADATA, "PartialObjectMetadata"],
  ] as const) {
    const stream = (await get(path, { accept: `application/json;${form}` })).expect(200);
    const events = stream.text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.ok(events.length > 0);
    for (const { type, object } of events) assert.deepEqual([type, object.kind], ["ADDED", kind]);
    const named = kind === "Table" ? events[0].object.rows[0].object : events[0].object;
    assert.equal(named.metadata.name, "m0000");
  }
});
