/**
 * Objects of every resource that can be created go out in one encoding and come back in it: whatever a
 * client uses to read and to write back, the object stays what it was. To the smallest object of each
 * kind are added members that are generated from the facts, as far as the server takes them.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../server/api/meta.js";
import { createNaming } from "../server/api/naming.js";
import { parseCbor } from "../server/codec/cbor-parser.js";
import { stringifyJson } from "../server/codec/json.js";
import { ENVELOPE_PREFIX } from "../server/codec/protobuf-envelope.js";
import { createGenerator, servedKinds } from "../server/codec/testing/generated-objects.js";
import { parseJson } from "../server/schema/parse-json.js";
import { loadFacts } from "../server/types/load-facts.js";
import { MINIMAL_NAMESPACE, MINIMAL_OBJECTS } from "./fixtures/minimal-objects.js";
import { eventually } from "./harness/eventually.js";
import type { Answer } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const CBOR = "application/cbor";
/** Members that are tried beyond the smallest object. */
const MEMBERS_MAX = 8;

const facts = loadFacts(createNaming("kubernetes"));
const generate = createGenerator(facts.model);
const server = await startServer({
  flags: ["--feature-gates=CBORServingAndStorage=true", "--runtime-config=api/all=true"],
});
after(() => server[Symbol.asyncDispose]());
const { client } = server;
(
  await client.post("/api/v1/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: MINIMAL_NAMESPACE },
  })
).expect(201);

for (const { type, group, version } of servedKinds(facts)) {
  const resource = facts.resources.find(
    (row) =>
      row.kind === type.name &&
      row.group === group &&
      row.version === version &&
      row.subresource === "",
  );
  if (resource === undefined) continue;
  const plural = resource.resource;
  const row = MINIMAL_OBJECTS[group === "" ? plural : `${plural}.${group}`];
  if (row === undefined) continue;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const base = group === "" ? `/api/${version}` : `/apis/${apiVersion}`;
  const inNamespace = resource.namespaced ? `/namespaces/${MINIMAL_NAMESPACE}` : "";
  const collection = `${base}${inNamespace}/${plural}`;

  test(`S1-PB-04, S1-PB-07, S1-NEG-05: ${type.id} read and written back in Protobuf and CBOR stays itself`, async (t) => {
    if ((await client.get(`${collection}?limit=1`)).status === 404) return t.skip("not served");
    const name = row.name?.(7) ?? "round-trip-7";
    const [sample = {}] = fc.sample(generate(type), 1);
    const labels = { app: "é😀", "example.test/a": "b" };
    const object: JsonObject = structuredClone({
      apiVersion,
      kind: type.name,
      metadata: { name, labels: { app: "a" }, annotations: labels },
      ...(row.content as JsonObject),
      ...(row.forName?.(name) as JsonObject | undefined),
    });
    await enrich(collection, object, sample);
    (await post(collection, object)).expect(201, "create");
    const path = `${collection}/${name}`;

    const read = async () =>
      parseJson((await client.get(path)).expect(200).bytes) as JsonObject & {
        metadata: JsonObject;
      };
    for (const encoding of [PROTOBUF, CBOR]) {
      // Controllers write some of these objects, too.
      await eventually(`the object stays what it was over ${encoding}`, async () => {
        const before = await read();
        const answer = await client.get(path, encoding);
        const { bytes } = answer.expect(200);
        if (encoding === CBOR) assert.deepEqual(parseCbor(bytes), { ...before });
        else assert.deepEqual([...bytes.subarray(0, 4)], ENVELOPE_PREFIX);
        const written = await client.request(path, {
          method: "PUT",
          headers: { "content-type": encoding, accept: "application/json" },
          body: bytes,
        });
        if (written.status === 409) return undefined;
        written.expect(200, `write back in ${encoding}`);
        const again = await read();
        assert.deepEqual(again.metadata.uid, before.metadata.uid);
        assert.deepEqual(again, before);
        return true;
      });
    }
    const deleted = await client.delete(path);
    assert.ok(deleted.status < 300, deleted.text);
  });
}

/** Adds to an object what the server takes of a generated one. */
async function enrich(collection: string, object: JsonObject, sample: JsonObject): Promise<void> {
  let tried = 0;
  for (const [target, members] of [
    [object, sample],
    [object.spec, sample.spec],
  ] as const) {
    if (!isObject(target) || !isObject(members)) continue;
    for (const [key, value] of Object.entries(members)) {
      if (key in target || tried === MEMBERS_MAX) continue;
      tried++;
      target[key] = value as JsonValue;
      const answer = await post(`${collection}?dryRun=All`, object);
      assert.ok(answer.status < 500, `${answer.status}: ${answer.text}`);
      if (answer.status !== 201) delete target[key];
    }
  }
}

/** With integers of any size. */
function post(path: string, object: JsonObject): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  return client.request(path, { method: "POST", headers, body: stringifyJson(object) });
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
