/** Creates: identity, names, namespaces, dry runs; against the embedded store. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { oneStep } from "../../../storage/base/steps.js";
import { StorageError } from "../../../storage/kv/errors.js";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import type { Registry } from "../registry.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject, decodeOnce } from "./create.js";
import { deleteObject } from "./delete.js";
import { pauseOf } from "./long-write.js";

const harness = await openRegistryHarness();

before(() => create("namespaces", "", { metadata: { name: "default" } }));
after(() => harness[Symbol.asyncDispose]());

async function create(
  resource: string,
  namespace: string,
  value: JsonObject,
  options = writeOptions(),
) {
  const request = {
    resource: harness.resource("", "v1", resource),
    namespace,
    input: inputOf(value),
    options,
  };
  const result = await createObject(harness.registry, request, noSignal);
  return { ...result, object: JSON.parse(result.bytes.toString()) as ApiObject };
}

test("S1-META-06, S1-META-08, S1-META-11: a new object gets uid, time and the store's revision", async () => {
  const { object, status, revision } = await create("configmaps", "default", {
    metadata: {
      name: "a",
      creationTimestamp: "1970-01-01T00:00:00Z",
      uid: "mine",
      deletionTimestamp: "1970-01-01T00:00:00Z",
    },
    data: { k: "v" },
  });
  assert.equal(status, 201);
  assert.match(object.metadata.uid ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  assert.equal(object.metadata.resourceVersion, String(revision));
  assert.match(object.metadata.creationTimestamp ?? "", /^20\d\d-.*T\d\d:\d\d:\d\dZ$/);
  assert.equal(object.metadata.deletionTimestamp, undefined);
  assert.equal(object.metadata.namespace, "default");
  assert.deepEqual(object.data, { k: "v" });
  assert.equal(object.metadata.generation, undefined);
});

test("S1-GEN-09: a name is taken once", async () => {
  await create("configmaps", "default", { metadata: { name: "twice" } });
  const error = await refusal(create("configmaps", "default", { metadata: { name: "twice" } }));
  assert.equal(error.code, 409);
  assert.equal(error.reason, "AlreadyExists");
  assert.equal(error.message, 'configmaps "twice" already exists');
});

test("S1-META-01: a name is required and checked", async () => {
  const missing = await refusal(create("configmaps", "default", { metadata: {} }));
  assert.equal(missing.code, 422);
  assert.equal(
    missing.message,
    'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
  );
  const bad = await refusal(create("configmaps", "default", { metadata: { name: "No_Good" } }));
  assert.match(
    bad.message,
    /^ConfigMap "No_Good" is invalid: metadata.name: Invalid value: "No_Good": a lowercase RFC 1123 subdomain must/,
  );
});

test("S1-META-02, S1-META-04: a generated name has five characters behind its prefix", async () => {
  const { object } = await create("configmaps", "default", {
    metadata: { generateName: "gen-" },
  });
  assert.match(object.metadata.name ?? "", /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  const both = await create("configmaps", "default", {
    metadata: { generateName: "gen-", name: "chosen" },
  });
  assert.equal(both.object.metadata.name, "chosen");
  const taken = await refusal(
    create("configmaps", "default", { metadata: { generateName: "gen-", name: "chosen" } }),
  );
  assert.equal(
    taken.message,
    'configmaps "chosen" already exists, the server was not able to generate a unique name for the object',
  );
  const long = await create("configmaps", "default", {
    metadata: { generateName: "x".repeat(80) },
  });
  assert.equal(long.object.metadata.name?.length, 63);
});

test("S1-META-05: a namespace other than the URL's is refused", async () => {
  const error = await refusal(
    create("configmaps", "default", { metadata: { name: "b", namespace: "other" } }),
  );
  assert.equal(error.code, 400);
  assert.equal(
    error.message,
    "the namespace of the provided object does not match the namespace sent on the request",
  );
});

test("S1-META-05: what belongs to the cluster loses the namespace that its manifest gives it", async () => {
  const made = await create("nodes", "", { metadata: { name: "n", namespace: "default" } });
  assert.equal(made.object.metadata.namespace, undefined);
});

test("S1-META-09, D13: a new object has no resourceVersion, which is said after all else", async () => {
  const sent = { metadata: { name: "b", resourceVersion: "7" } };
  const error = await refusal(create("configmaps", "default", sent));
  assert.equal(error.code, 400);
  assert.equal(error.message, "resourceVersion should not be set on objects to be created");
  const invalid = await refusal(create("configmaps", "default", { ...sent, data: { "a b": "" } }));
  assert.equal(invalid.code, 422);
  for (const resourceVersion of ["0", "junk"]) {
    const name = `b-${resourceVersion}`;
    await create("configmaps", "default", { metadata: { name, resourceVersion } });
  }
});

test("S1-GEN-21: a create in a namespace that does not exist is 404", async () => {
  const error = await refusal(create("configmaps", "nowhere", { metadata: { name: "b" } }));
  assert.equal(error.code, 404);
  assert.equal(error.message, 'namespaces "nowhere" not found');
});

test("S1-GEN-20: a create in a namespace that is going away is 403, on a lagging view too", async () => {
  await create("namespaces", "", { metadata: { name: "ending" } });
  const other = await harness.openReplica();
  const target = {
    resource: harness.resource("", "v1", "namespaces"),
    namespace: "",
    name: "ending",
    options: { isDryRun: false },
  };
  await deleteObject(other, target, noSignal);
  const error = await refusal(create("configmaps", "ending", { metadata: { name: "b" } }));
  assert.equal(error.code, 403);
  assert.equal(error.status.details?.causes?.[0]?.reason, "NamespaceTerminating");
});

test("S1-META-21, S1-GEN-14: body and endpoint must agree", async () => {
  const version = await refusal(
    create("configmaps", "default", { apiVersion: "v2", metadata: { name: "b" } }),
  );
  assert.equal(
    version.message,
    "the API version in the data (v2) does not match the expected API version (v1)",
  );
  for (const kind of ["List", "ConfigMapList", "Pod"]) {
    const error = await refusal(
      create("configmaps", "default", { kind, apiVersion: "v1", metadata: { name: "b" } }),
    );
    assert.equal(error.code, 400, kind);
  }
});

test("S1-FV-03, S1-FV-06..08: unknown fields are dropped, warned of, or refused", async () => {
  const value = () => ({ metadata: { name: `fv-${Math.random()}`.slice(0, 12) }, unknown: 1 });
  const warned = writeOptions();
  const { object } = await create("configmaps", "default", value(), warned);
  assert.equal(object.unknown, undefined);
  assert.deepEqual(warned.warnings, ['unknown field "unknown"']);
  const ignored = writeOptions({ fieldValidation: "Ignore" });
  await create("configmaps", "default", value(), ignored);
  assert.deepEqual(ignored.warnings, []);
  const strict = writeOptions({ fieldValidation: "Strict" });
  const error = await refusal(create("configmaps", "default", value(), strict));
  assert.equal(error.code, 400);
  assert.equal(
    error.message,
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "unknown"',
  );
});

test("S1-DRY-02, S1-DRY-04, S1-DRY-05: a dry run answers and stores nothing", async () => {
  const before = await harness.registry.store.currentRevision(noSignal);
  const options = writeOptions({ isDryRun: true });
  const { object, status } = await create(
    "configmaps",
    "default",
    { metadata: { name: "dry" } },
    options,
  );
  assert.equal(status, 201);
  assert.equal(object.metadata.name, "dry");
  assert.ok(object.metadata.uid);
  assert.equal(await harness.registry.store.currentRevision(noSignal), before);
});

test("S1-META-19: types with a spec begin at generation 1; a status sent on create is dropped", async () => {
  const resource = harness.resource("apps", "v1", "deployments");
  const input = inputOf({
    metadata: { name: "web" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "i:1" }] },
      },
    },
    status: { replicas: 9 },
  });
  const request = { resource, namespace: "default", input, options: writeOptions() };
  const { bytes } = await createObject(harness.registry, request, noSignal);
  const object = JSON.parse(bytes.toString()) as ApiObject & { spec: { replicas: number } };
  assert.equal(object.metadata.generation, 1);
  assert.deepEqual(object.status, {});
  assert.equal(object.spec.replicas, 1);
});

test("S1-GEN-11, S1-GEN-12: names are unique per kind and scope", async () => {
  await create("namespaces", "", { metadata: { name: "second" } });
  await create("configmaps", "second", { metadata: { name: "a" } });
  await create("secrets", "default", { metadata: { name: "a" } });
  await create("nodes", "", { metadata: { name: "n1" } });
  const error = await refusal(create("nodes", "", { metadata: { name: "n1" } }));
  assert.equal(error.code, 409);
});

test("a Secret's stringData becomes data and is not given back", async () => {
  const { object } = await create("secrets", "default", {
    metadata: { name: "s" },
    stringData: { password: "geheim" },
  });
  assert.deepEqual(object.data, { password: Buffer.from("geheim").toString("base64") });
  assert.equal(object.stringData, undefined);
  assert.equal(object.type, "Opaque");
});

/** A registry on whose store others take the name first, for the first attempts. */
function clashing(times: number): { registry: Registry; tries: string[] } {
  const { store } = harness.registry;
  const tries: string[] = [];
  const commit: typeof store.commit = async (transaction, signal) => {
    const key = transaction.compares[0]?.key ?? "";
    tries.push(key);
    if (tries.length <= times) {
      const name = key.slice(key.lastIndexOf("/") + 1);
      await create("configmaps", "default", { metadata: { name } });
    }
    return await store.commit(transaction, signal);
  };
  const clash = new Proxy(store, {
    get: (target, name) => (name === "commit" ? commit : Reflect.get(target, name, target)),
  });
  return { registry: { ...harness.registry, store: clash }, tries };
}

test("S1-META-03: a generated name that is taken is made anew, eight times in all", async () => {
  const generate = (registry: Registry) =>
    createObject(
      registry,
      {
        resource: harness.resource("", "v1", "configmaps"),
        namespace: "default",
        input: inputOf({ metadata: { generateName: "clash-" } }),
        options: writeOptions(),
      },
      noSignal,
    );
  const lucky = clashing(7);
  await generate(lucky.registry);
  assert.equal(new Set(lucky.tries).size, 8);
  const unlucky = clashing(8);
  const error = await refusal(generate(unlucky.registry));
  assert.equal(error.reason, "AlreadyExists");
  assert.match(error.message, /already exists, the server was not able to generate a unique name/);
  assert.equal(error.status.details?.retryAfterSeconds, 1);
  assert.equal(unlucky.tries.length, 8);
});

test("S1-GEN-10: after its deletion a name belongs to a new object", async () => {
  const first = await create("configmaps", "default", { metadata: { name: "again" } });
  const target = {
    resource: harness.resource("", "v1", "configmaps"),
    namespace: "default",
    name: "again",
    options: { isDryRun: false },
  };
  await deleteObject(harness.registry, target, noSignal);
  const second = await create("configmaps", "default", { metadata: { name: "again" } });
  assert.notEqual(second.object.metadata.uid, first.object.metadata.uid);
});

test("a lost answer of the store is 504, as the write may have happened", async () => {
  const { store } = harness.registry;
  const lost = new StorageError("Unavailable", "connection lost", { outcomeUnknown: true });
  const failing = new Proxy(store, {
    get: (target, name) =>
      name === "commit" ? () => Promise.reject(lost) : Reflect.get(target, name, target),
  });
  const request = {
    resource: harness.resource("", "v1", "configmaps"),
    namespace: "default",
    input: inputOf({ metadata: { name: "lost" } }),
    options: writeOptions(),
  };
  const registry = { ...harness.registry, store: failing };
  const error = await refusal(createObject(registry, request, noSignal));
  assert.equal(error.code, 504);
  assert.equal(error.reason, "Timeout");
});

test("39.3: what another attempt of a large write decodes anew is decoded in turns", async () => {
  let turns = 0;
  const request = { bodyBytes: 100_000, nextTurn: async () => void turns++ };
  const resource = harness.resource("", "v1", "configmaps");
  const input = inputOf({ metadata: { name: "again" }, data: { a: "b" } });
  const decode = await decodeOnce(resource, input, { ...writeOptions(), request });
  assert.equal(await decode.next(), decode.first);
  turns = 0;
  const again = await decode.next();
  assert.ok(turns > 0);
  assert.notEqual(again, decode.first);
  assert.deepEqual(again, decode.first);
});

test("39.3: a small object that its definition's defaults make large is written in turns from there on", async () => {
  const maps = harness.resource("", "v1", "configmaps");
  const request = {
    bodyBytes: 100,
    grownBytes: 0,
    grew(bytes: number) {
      this.grownBytes += bytes;
    },
    nextTurn: async () => {},
  };
  assert.equal(pauseOf(request), undefined);
  const resource = {
    ...maps,
    isCustom: true,
    codec: {
      ...maps.codec,
      applyDefaultsInSteps(_: unknown, grew: (bytes: number) => void) {
        grew(100_000);
        return oneStep(undefined);
      },
    },
  } as never;
  const input = inputOf({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "grows" } });
  await decodeOnce(resource, input, { ...writeOptions(), request });
  assert.notEqual(pauseOf(request), undefined);
});
