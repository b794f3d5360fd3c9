/** A definition of many versions: the documents about it are large, and come whole in every form. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { ANYTHING, DEFINITIONS, definitionOf, versionOf } from "./fixtures/definitions.js";
import { startServer } from "./harness/server-process.js";

const COUNT = 300;
const versions = Array.from({ length: COUNT }, (_, at) =>
  versionOf(ANYTHING, { name: `v${at + 1}`, storage: at === 0 }),
);

const server = await startServer();
before(async () => {
  const definition = definitionOf("widgets.many.example.com", "Widget", { versions });
  (await server.client.post(DEFINITIONS, definition)).expect(201);
});
after(() => server[Symbol.asyncDispose]());

const PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

async function ask(accept: string, encoding: string, method = "GET") {
  const headers = { accept, "accept-encoding": encoding };
  return (await server.client.request("/openapi/v2", { method, headers })).expect(200);
}

test("39: a large document of OpenAPI is the same plain and compressed, and has its length in its head", async () => {
  for (const accept of ["application/json", PROTOBUF]) {
    const plain = await ask(accept, "identity");
    assert.equal(plain.headers["content-type"], accept);
    assert.equal(plain.headers["content-length"], String(plain.bytes.length));
    const packed = await ask(accept, "gzip");
    assert.equal(packed.headers["content-encoding"], "gzip");
    assert.equal(packed.headers["content-length"], String(packed.bytes.length));
    assert.deepEqual(gunzipSync(packed.bytes), plain.bytes);
    const head = await ask(accept, "identity", "HEAD");
    assert.equal(head.bytes.length, 0);
    assert.equal(head.headers["content-length"], String(plain.bytes.length));
  }
  const { bytes } = await ask("application/json", "identity");
  const { paths } = JSON.parse(bytes.toString()) as { paths: Record<string, object> };
  const ofKind = Object.keys(paths).filter((path) => path.startsWith("/apis/many.example.com/v"));
  assert.equal(
    ofKind.filter((path) => path.endsWith("/namespaces/{namespace}/widgets")).length,
    2 * COUNT,
  );
  assert.deepEqual(Object.keys(paths), Object.keys(paths).toSorted());
});

test("39: a definition that may be created may be patched and applied as well", async () => {
  const values = Array.from({ length: 70_000 }, (_, at) => `v${at}`);
  const schema = { type: "object", properties: { choice: { type: "string", enum: values } } };
  const definition = definitionOf("choices.many.example.com", "Choice", {
    versions: [versionOf(schema)],
  });
  const path = `${DEFINITIONS}/choices.many.example.com`;
  const { client } = server;
  (await client.post(DEFINITIONS, definition)).expect(201);
  const { versions: same } = definition.spec;
  const patches = [
    [{ spec: { versions: same } }, "application/merge-patch+json"],
    [{ spec: { versions: same } }, "application/strategic-merge-patch+json"],
    [[{ op: "replace", path: "/spec/versions", value: same }], "application/json-patch+json"],
    [definition, "application/apply-patch+yaml"],
  ] as const;
  for (const [body, type] of patches) {
    const query = type.includes("apply") ? "?fieldManager=m&force=true" : "";
    (await client.patch(path + query, body, type)).expect(200);
  }
});
