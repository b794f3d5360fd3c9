/**
 * Nulls in custom objects where the schema has none: not sent at all for every write but an apply, whose
 * sender would own the field. Both is as kube-apiserver does it, to which the same is sent by e2e/upstream.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { DEFINITIONS, definitionOf, versionOf } from "./fixtures/definitions.js";
import { RULES, webhook } from "./harness/admission-rules.js";
import { eventually } from "./harness/eventually.js";
import { startServer } from "./harness/server-process.js";

const JARS = "/apis/nulls.example.com/v1/namespaces/default/jars";
const FREE_JARS = "/apis/nulls.example.com/v1/namespaces/default/freejars";
const FREE_TYPE = { apiVersion: "nulls.example.com/v1", kind: "FreeJar" };
const TYPE = { apiVersion: "nulls.example.com/v1", kind: "Jar" };

const text = { type: "string" };
const struct = (properties: object) => ({ type: "object", properties });
const spec = struct({
  plain: text,
  nullable: { ...text, nullable: true },
  filled: { ...text, default: "full" },
  inner: struct({ plain: text }),
  list: { type: "array", items: struct({ plain: text }) },
  map: { type: "object", additionalProperties: text },
  loose: { "x-kubernetes-preserve-unknown-fields": true },
  any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
});
const definition = (plural: string, kind: string, schema: object) =>
  definitionOf(`${plural}.nulls.example.com`, kind, { versions: [versionOf(schema)] });

/** What is sent as spec, what is kept of it by other writes, and which fields an apply is refused for. */
const CASES: readonly (readonly [sent: object, kept: object, ...refused: string[]])[] = [
  [{ plain: null }, { filled: "full" }, "spec.plain"],
  [{ nullable: null }, { nullable: null, filled: "full" }],
  [{ filled: null }, { filled: "full" }],
  [{ inner: null }, { filled: "full" }, "spec.inner"],
  [{ inner: { plain: null } }, { inner: {}, filled: "full" }, "spec.inner.plain"],
  [{ list: [{ plain: null }] }, { list: [{}], filled: "full" }, "spec.list[0].plain"],
  [{ map: { a: null, b: "x" } }, { map: { b: "x" }, filled: "full" }, "spec.map.a"],
  [{ loose: null }, { filled: "full" }],
  [{ any: { a: null } }, { any: { a: null }, filled: "full" }],
];

const server = await startServer();
const STATES = "/apis/nulls.example.com/v1/namespaces/default/states";
const STATE_TYPE = { apiVersion: "nulls.example.com/v1", kind: "State" };
const either = { "x-kubernetes-int-or-string": true };
const states = definitionOf("states.nulls.example.com", "State", {
  versions: [
    versionOf(struct({ spec: struct({ either }), status: struct({ phase: text }) }), {
      subresources: { status: {} },
    }),
  ],
});
before(async () => {
  const free = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  (await server.client.post(DEFINITIONS, states)).expect(201);
  (await server.client.post(DEFINITIONS, definition("jars", "Jar", struct({ spec })))).expect(201);
  (await server.client.post(DEFINITIONS, definition("freejars", "FreeJar", free))).expect(201);
});
after(() => server[Symbol.asyncDispose]());

for (const [index, [sent, kept, ...refused]] of CASES.entries()) {
  const shown = JSON.stringify(sent);
  test(`S1-PATCH-04: ${shown} is ${JSON.stringify(kept)} when it is created`, async () => {
    const metadata = { name: `created-${index}` };
    const made = await server.client.post(JARS, { ...TYPE, metadata, spec: sent });
    const { object } = made.expect(201);
    assert.deepEqual(object.spec, kept);
    const body = { ...object, spec: sent };
    const path = `${JARS}/${metadata.name}`;
    const put = await server.client.put(path, body);
    assert.deepEqual(put.expect(200).object.spec, kept);
  });

  const what = refused.length === 0 ? "taken" : `refused for ${refused.join()}`;
  test(`S1-SSA-21: ${shown} is ${what} when it is applied`, async () => {
    const name = `applied-${index}`;
    const answer = await server.client.patch(
      `${JARS}/${name}?fieldManager=me`,
      { ...TYPE, metadata: { name }, spec: sent },
      "application/apply-patch+yaml",
    );
    if (refused.length === 0) {
      assert.deepEqual(answer.expect(201).object.spec, kept);
      return;
    }
    const { details } = answer.expect(422).object as { readonly details?: Details };
    const fields = details?.causes?.map(({ reason, field }) => [reason, field]);
    assert.deepEqual(fields?.slice(0, refused.length), [
      ...refused.map((f) => ["FieldValueTypeInvalid", f]),
    ]);
  });
}

const apply = (path: string, body: object) =>
  server.client.patch(`${path}?fieldManager=me`, body, "application/apply-patch+yaml");

test("S1-SSA-16, S1-META-19: null applied over what the same manager applied is null, and once more is no new generation", async () => {
  const path = `${FREE_JARS}/emptied`;
  const object = { ...FREE_TYPE, metadata: { name: "emptied" } };
  const generations: [unknown, number | undefined][] = [];
  for (const spec of [{ a: { b: 1 } }, { a: null }, { a: null }, null, null]) {
    const { object: now } = (await apply(path, { ...object, spec })).expect(
      generations.length === 0 ? 201 : 200,
    );
    generations.push([now.spec, now.metadata.generation]);
  }
  assert.deepEqual(generations, [
    [{ a: { b: 1 } }, 1],
    [{ a: null }, 2],
    [{ a: null }, 2],
    [null, 3],
    [null, 3],
  ]);

  // What others own below it stays.
  await apply(path, { ...object, spec: { a: { b: 1 } } });
  const theirs = { ...object, spec: { a: { c: 1 } } };
  const other = await server.client.patch(
    `${path}?fieldManager=other`,
    theirs,
    "application/apply-patch+yaml",
  );
  other.expect(200);
  const left = (await apply(path, { ...object, spec: { a: null } })).expect(200).object;
  assert.deepEqual(left.spec, { a: { c: 1 } });
});

test("S1-SSA-16: null applied over what may not be null is refused, whatever was there", async () => {
  const name = "refused-later";
  const object = { ...TYPE, metadata: { name } };
  (await apply(`${JARS}/${name}`, { ...object, spec: { inner: { plain: "x" } } })).expect(201);
  const answer = await apply(`${JARS}/${name}`, { ...object, spec: { inner: null } });
  assert.match(answer.expect(422).text, /spec\.inner in body must be of type object/);
  // An empty one is as good as any.
  const emptied = await apply(`${JARS}/${name}`, { ...object, spec: { inner: {} } });
  assert.deepEqual(emptied.expect(200).object.spec, { inner: {}, filled: "full" });
});

interface Details {
  readonly causes?: readonly { readonly reason: string; readonly field: string }[];
}

test("S1-SSA-16: a status that is applied as null is one without what was applied, or none", async () => {
  const path = `${STATES}/stated`;
  const object = { ...STATE_TYPE, metadata: { name: "stated" } };
  (await server.client.post(STATES, object)).expect(201);
  const state = async (status: unknown) => {
    const { object: now } = (await apply(`${path}/status`, { ...object, status })).expect(200);
    return now.status;
  };
  assert.equal(await state(null), undefined);
  assert.deepEqual(await state({ phase: "up" }), { phase: "up" });
  assert.deepEqual(await state(null), {});
});

test("S1-FV: members of what is neither integer nor text are no unknown fields of an apply", async () => {
  const object = { ...STATE_TYPE, metadata: { name: "neither" }, spec: { either: { a: 1 } } };
  const answer = await apply(`${STATES}/neither`, object);
  assert.match(answer.expect(422).text, /must be of type integer,string/);
  assert.equal(answer.headers.warning, undefined);
});

test("D14, S1-CRUD-03: a PUT is told of the namespace, the name, the version and the kind, in this order", async () => {
  const path = `${STATES}/put`;
  const object = { ...STATE_TYPE, metadata: { name: "put" } };
  (await server.client.post(STATES, object)).expect(201);
  const told = async (change: object, metadata: object) => {
    const body = { ...object, ...change, metadata: { ...object.metadata, ...metadata } };
    const answer = await server.client.put(path, body);
    return `${answer.status} ${String(answer.object.message)}`;
  };
  const other = { kind: "Other", zz: 1 };
  assert.match(await told(other, { name: "x", namespace: "x" }), /^400 the namespace of/);
  assert.match(await told(other, { name: "x" }), /^400 the name of/);
  assert.match(await told(other, {}), /^422 .*resourceVersion: Invalid value: 0/);
  const { metadata } = (await server.client.get(path)).expect(200).object;
  assert.match(
    await told(other, metadata),
    /^422 Other\.nulls\.example\.com "put" is invalid: kind/,
  );
  const sent = { ...object, kind: "Other", metadata: { name: "put2", namespace: "x" } };
  (await server.client.post(STATES, sent)).expect(400);
});

test("S1-PATCH-04: a null that a webhook puts into an object is judged, and is none in metadata and status", async () => {
  await using hook = await openAdmissionHook();
  const answer = (path: string) => {
    const patch = Buffer.from(JSON.stringify([{ op: "add", path, value: null }]));
    hook.respond = () => ({
      allowed: true,
      patchType: "JSONPatch",
      patch: patch.toString("base64"),
    });
  };
  const path = `${STATES}/hooked`;
  const object = { ...STATE_TYPE, metadata: { name: "hooked" }, spec: { either: 1 } };
  (await server.client.post(STATES, object)).expect(201);
  const types = { apiGroups: ["nulls.example.com"], apiVersions: ["*"], operations: ["*"] };
  const rule = { ...types, resources: ["states", "states/status"] };
  const hooks = `${RULES}/mutatingwebhookconfigurations`;
  const metadata = { name: "nulls" };
  const webhooks = [{ ...webhook("nulls.example.com", hook, {}), rules: [rule] }];
  (await server.client.post(hooks, { metadata, webhooks })).expect(201);

  const made = (name: string) =>
    server.client.post(`${STATES}?dryRun=All`, { ...object, metadata: { name } });
  answer("/metadata/labels");
  await eventually("the webhook is asked", async () => {
    (await made("asked")).expect(201);
    return hook.requests.length > 0;
  });
  const statusOf = async () => {
    const said = await server.client.request(`${path}/status`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { status: { phase: "up" } },
    });
    return said.expect(200).object.status;
  };
  answer("/status");
  (await made("hooked-new")).expect(201);
  assert.equal(await statusOf(), undefined);
  answer("/spec/either");
  const refused = (await made("refused")).expect(422).object;
  assert.match(
    String(refused.message),
    /spec.either in body must be of type integer,string: "null"/,
  );
  (await server.client.delete(`${hooks}/nulls`)).expect(200);
});
