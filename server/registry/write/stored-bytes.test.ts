/** What could not be read again is never committed, whoever made it (H5 of the store, item 5). */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { soon } from "../../../e2e/harness/eventually.js";
import { finishNow } from "../../../storage/base/steps.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../admission/admission.js";
import { AdmissionChain } from "../../admission/chain.js";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import { parseJson } from "../../schema/parse-json.js";
import type { Registry } from "../registry.js";
import { plainWrites } from "../testing/plain-writes.js";
import {
  inputOf,
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../testing/registry-harness.js";
import { createObject } from "./create.js";
import { storedBytes } from "./stored-bytes.js";
import { patchObject, updateObject } from "./update.js";

const harness = await openRegistryHarness();
const revisions = harness.resource("apps", "v1", "controllerrevisions");
const configMaps = harness.resource("", "v1", "configmaps");
const SOUND = { metadata: { name: "sound" }, revision: 1, data: { n: "1" } };

/** What is put into each object; undefined = nothing. */
const poison: { value?: JsonObject | undefined } = {};
const refused: string[] = [];

/** Changes each object as no webhook and no rule can, as their answers are judged: a defect of ours. */
const poisoner: AdmissionPlugin = {
  name: "Poisoner",
  mutate({ object }: AdmissionAttributes) {
    Object.assign(object ?? {}, poison.value);
    return poison.value !== undefined;
  },
};

const registry: Registry = {
  ...harness.registry,
  admission: new AdmissionChain([poisoner]),
  onUnstorable: (why) => void refused.push(why),
};

before(async () => {
  const { create } = plainWrites(harness);
  await create("", "namespaces", { metadata: { name: "default" } });
  await create("apps", "controllerrevisions", SOUND);
  const { revision: _, ...map } = SOUND;
  await create("", "configmaps", map);
});
after(() => harness[Symbol.asyncDispose]());

function place(resource: typeof revisions) {
  return { resource, namespace: "default", options: writeOptions() };
}

function deep(levels: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

/** Whatever a typed part holds, it is read once more after admission: only raw parts get as far as here. */
const HOSTILE: readonly (readonly [JsonObject, RegExp])[] = [
  [{ data: { n: Number.POSITIVE_INFINITY } }, /Infinity is no JSON number/],
  [{ data: { n: [Number.NaN] } }, /NaN is no JSON number/],
  [{ data: { n: Number.NEGATIVE_INFINITY } }, /-Infinity is no JSON number/],
  [{ data: { a: "\ud800" } }, /a text has half of a character/],
  [{ data: { a: [{ "\udc00": 1 }] } }, /a key has half of a character/],
  [{ data: { f: (() => 1) as unknown as JsonValue } }, /a function is no JSON/],
];

/** A text of a ConfigMap, which may change. */
const HALF: typeof HOSTILE = [[{ data: { a: "\ud800" } }, /half of a character/]];

const target = { ...place(configMaps), name: "sound", subresource: "" };

interface Writer {
  readonly values: typeof HOSTILE;
  write(n: number): Promise<unknown>;
}

const WRITERS: Readonly<Record<string, Writer>> = {
  create: {
    values: HOSTILE,
    write(n) {
      const input = inputOf({ ...SOUND, metadata: { name: `odd-${n}` } });
      return createObject(registry, { ...place(revisions), input }, noSignal);
    },
  },
  update: {
    values: HALF,
    write() {
      const input = inputOf({ metadata: { name: "sound", labels: { a: "b" } } });
      return updateObject(registry, { ...target, input } as never, noSignal);
    },
  },
  patch: {
    values: HALF,
    write() {
      const change = { metadata: { labels: { a: "b" } } };
      const patch = (current: JsonValue) => applyMergePatch(current, change);
      return patchObject(registry, { ...target, patch }, noSignal);
    },
  },
};

for (const [name, { values, write }] of Object.entries(WRITERS)) {
  test(`H7: ${name} commits nothing that could not be read again, says so, and counts it`, async () => {
    for (const [index, [change, why]] of values.entries()) {
      poison.value = change;
      refused.length = 0;
      const error = await refusal(write(index));
      poison.value = undefined;
      assert.equal(error.code, 500, String(why));
      assert.match(error.message, why);
      assert.equal(refused.length, 1, String(why));
    }
    const { view, store } = harness.registry;
    for (const resource of [revisions, configMaps]) {
      const prefix = view.keys.partitionPrefix(resource.partition);
      const { kvs } = await store.range({ prefix, after: "", limit: 0 }, soon());
      const texts = kvs.map(({ value }) => value.toString());
      assert.equal(texts.length, 1);
      assert.ok(texts.every((text) => text.includes('"data":{"n":"1"}')));
    }
  });
}

test("H7: bytes are made of what its type can hold, and read back the same", () => {
  const values: readonly (readonly [object, RegExp])[] = [
    [{ revision: "1" }, /a string is no int64/],
    [{ revision: 1.5 }, /a number is no int64/],
    [{ revision: 1, data: deep(2_000) }, /nested deeper than 1000/],
  ];
  const encode = (object: object, isLong: boolean) =>
    finishNow(storedBytes({}, revisions, object as unknown as ApiObject, isLong));
  for (const [change, why] of values) {
    const object = { ...SOUND, kind: "ControllerRevision", apiVersion: "apps/v1", ...change };
    for (const isLong of [false, true]) assert.throws(() => encode(object, isLong), why);
  }
  const data = { "\u2028<": "😀", big: 2n ** 62n, small: 5e-324, zero: 0, list: [null, true] };
  const object = { ...SOUND, kind: "ControllerRevision", apiVersion: "apps/v1", data };
  const bytes = encode(object, false);
  assert.deepEqual(encode(object, true), bytes);
  assert.deepEqual((parseJson(bytes) as JsonObject).data, data);
});
