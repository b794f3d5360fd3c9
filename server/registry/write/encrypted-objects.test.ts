/** Objects over an encrypted store: rotation by writes, lost keys, and keys that come back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { EncryptedStore } from "../../../storage/encryption/encrypted-store.js";
import type { RevisionedStore } from "../../../storage/kv/store.js";
import { KeySpace } from "../../../storage/objects/keys.js";
import { createNaming } from "../../api/naming.js";
import { parseEncryptionConfiguration } from "../../config/encryption-configuration.js";
import type { Registry } from "../registry.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { deleteCorruptObject } from "./delete-corrupt.js";
import { patchObject } from "./update.js";

const naming = createNaming("kubernetes");
const KEY = "/registry/core/secrets/default/db";

function rules(...providers: readonly string[]) {
  const secret = (name: string) => Buffer.from(name.padEnd(32, ".")).toString("base64");
  const list = providers.map((provider) => {
    const [cipher, name = ""] = provider.split("/");
    const keys = [{ name, secret: secret(name) }];
    return cipher === "identity" ? { identity: {} } : { [cipher ?? ""]: { keys } };
  });
  const resources = [{ resources: ["secrets"], providers: list }];
  const apiVersion = "apiserver.config.k8s.io/v1";
  const file = { apiVersion, kind: "EncryptionConfiguration", resources };
  return parseEncryptionConfiguration(JSON.stringify(file), naming);
}

async function open(...providers: readonly string[]) {
  const keys = new KeySpace("/registry");
  const opened: { inner?: RevisionedStore; store?: EncryptedStore } = {};
  const harness = await openRegistryHarness({
    wrapStore(store) {
      opened.inner = store;
      const partitionOf = (key: string) => keys.parse(key)?.partition;
      opened.store = new EncryptedStore({ store, rules: rules(...providers), partitionOf });
      return opened.store;
    },
  });
  const { inner, store } = opened;
  assert.ok(inner !== undefined && store !== undefined);
  const registry: Registry = { ...harness.registry, storedForm: store };
  const secrets = harness.resource("", "v1", "secrets");
  const target = { resource: secrets, namespace: "default", name: "db" };
  const namespaces = { resource: harness.resource("", "v1", "namespaces"), namespace: "" };
  const input = inputOf({ apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });
  await createObject(registry, { ...namespaces, input, options: writeOptions() }, noSignal);
  return {
    harness,
    registry,
    store,
    target,
    create: async () => {
      const value = { metadata: { name: "db" }, stringData: { password: "correct horse" } };
      const sent = inputOf({ apiVersion: "v1", kind: "Secret", ...value });
      await createObject(registry, { ...target, input: sent, options: writeOptions() }, noSignal);
    },
    touch: async () => {
      const patch = (value: unknown) => value as never;
      const options = writeOptions();
      const update = { ...target, subresource: "", options, patch };
      return (await patchObject(registry, update, noSignal)).revision;
    },
    stored: async () => (await inner.get(KEY, {}, noSignal)).kv?.value.toString("latin1") ?? "",
    revision: async () => (await inner.get(KEY, {}, noSignal)).kv?.modRevision,
  };
}

test("a secret is unreadable in the store; other resources are stored as they are", async () => {
  const it = await open("aesgcm/one");
  await using _ = it.harness;
  await it.create();
  const stored = await it.stored();
  assert.ok(stored.startsWith("k8s:enc:aesgcm:v1:one:"));
  const password = Buffer.from("correct horse").toString("base64");
  assert.equal(stored.includes("password") || stored.includes(password), false);
  const other = await it.harness.openReplica();
  const read = other.view.partition("core/secrets").get("default/db");
  assert.ok(read?.bytes.toString().includes(password));
  assert.equal(other.view.partition("core/namespaces").get("default")?.corruption, undefined);
});

test("a write that changes nothing writes all the same when the key is an old one, and only then", async () => {
  const it = await open("aescbc/old");
  await using _ = it.harness;
  await it.create();
  const before = await it.revision();
  assert.equal(await it.touch(), before);
  it.store.use(rules("aesgcm/new", "aescbc/old"));
  const rewritten = await it.touch();
  assert.notEqual(rewritten, before);
  assert.ok((await it.stored()).startsWith("k8s:enc:aesgcm:v1:new:"));
  assert.equal(await it.touch(), rewritten);
});

test("S1-UNS-08: without its key an object is corrupt, may be deleted unsafely, and its neighbours are fine", async () => {
  const it = await open("aesgcm/lost");
  await using _ = it.harness;
  await it.create();
  it.store.use(rules("aesgcm/other"));
  const other = await it.harness.openReplica();
  const partition = other.view.partition("core/secrets");
  assert.equal(
    partition.get("default/db")?.corruption,
    "no key that the server has is that of the value",
  );
  assert.equal(other.view.isSynced, true);
  const { status } = await deleteCorruptObject(other, it.target, noSignal);
  assert.equal(status, 200);
  assert.equal(await it.stored(), "");
});

test("a key that comes back makes its objects readable without a restart", async () => {
  const it = await open("aesgcm/one");
  await using _ = it.harness;
  await it.create();
  it.store.use(rules("secretbox/other"));
  const other = await it.harness.openReplica();
  const partition = other.view.partition("core/secrets");
  const told: string[] = [];
  partition.observe({
    replaced: (objects) => told.push(`replaced ${objects.corrupt.size}`),
    put: () => {},
    deleted: () => {},
  });
  await other.view.rereadCorrupt(noSignal);
  assert.deepEqual([...partition.corrupt], ["default/db"]);
  it.store.use(rules("secretbox/other", "aesgcm/one"));
  const anew = await it.harness.openReplica();
  await other.view.rereadCorrupt(noSignal);
  // A view that never had it unreadable holds as many bytes.
  assert.equal(other.view.arena.live, anew.view.arena.live);
  assert.deepEqual([...partition.corrupt], []);
  assert.ok(partition.get("default/db")?.bytes.includes("password"));
  assert.equal(told.at(-1), "replaced 0");
});
