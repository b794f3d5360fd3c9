/** Objects stored as JSON and CBOR: both round-trip and are readable at any time. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { openEmbeddedStore } from "../../storage/embedded/embedded-store.js";
import { runStoreContract } from "../../storage/kv/contract/run-store-contract.js";
import { ConvertingStore } from "../../storage/kv/converting-store.js";
import { unreadableReason } from "../../storage/kv/unreadable.js";
import { encodeCbor, SELF_DESCRIBED } from "./cbor.js";
import { parseCbor } from "./cbor-parser.js";
import { createStoredForm } from "./stored-form.js";

const KEY = "/registry/core/configmaps/default/a";
const isObject = (key: string) => key.startsWith("/registry/");
const json = createStoredForm({ isCbor: false, isObject });
const cbor = createStoredForm({ isCbor: true, isObject });
const TEXT =
  '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","generation":9007199254740993},"data":{"a":"é😀\\u003c","z":""}}';

runStoreContract("converting", async ({ test: context }) => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-converting-"));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const options = { directory, clock: systemClock, logger: silentLogger };
  const isObject = () => false;
  const store = await openEmbeddedStore(options);
  return new ConvertingStore(store, createStoredForm({ isCbor: true, isObject }));
});

test("S1-PB-11: an object is stored as JSON, or as CBOR, and read as the same JSON", () => {
  const value = Buffer.from(TEXT);
  assert.equal(json.toStored(KEY, value), value);
  const stored = Buffer.from(cbor.toStored(KEY, value));
  assert.deepEqual(stored.subarray(0, 3), SELF_DESCRIBED);
  assert.ok(parseCbor(stored) !== undefined);
  for (const form of [json, cbor]) {
    assert.equal(form.fromStored(KEY, stored).toString(), TEXT, "CBOR is read in both settings");
    assert.equal(form.fromStored(KEY, value), value, "JSON is read in both settings");
  }
});

test("S1-PB-11: values that are no objects stay as they are", () => {
  const value = Buffer.from([...SELF_DESCRIBED, 1]);
  assert.equal(cbor.toStored("/other/key", value), value);
  assert.equal(cbor.fromStored("/other/key", value), value);
});

test("S1-UNS-08: CBOR that is cut off is a corrupt object, not an error of the store", async () => {
  const directory = await mkdtemp(join(tmpdir(), "keelson-converting-"));
  const options = { directory, clock: systemClock, logger: silentLogger };
  const inner = await openEmbeddedStore(options);
  try {
    const value = encodeCbor({ kind: "ConfigMap" }).subarray(0, -1);
    const operations = [{ type: "put", key: KEY, value } as const];
    const signal = soon();
    await inner.commit({ compares: [], operations }, signal);
    const { kv } = await new ConvertingStore(inner, cbor).get(KEY, {}, signal);
    assert.ok(kv);
    assert.notEqual(unreadableReason(kv.value), undefined);
  } finally {
    await inner[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  }
});
