/** Stored objects of built-in kinds are taken as their kind has them, whoever stored them (H7). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../storage/kv/store.js";
import { decodeStoredObject } from "../../storage/objects/decode-object.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { createFactsCodecs } from "./facts-codecs.js";
import type { KindCodec } from "./kind-codec.js";
import { knowledgeOf } from "./stored-knowledge.js";
import type { ResourceStrategy } from "./strategy.js";

const codecs = createFactsCodecs(loadFacts(createNaming("kubernetes")));
const KEY = { path: "a/b", namespace: "a", name: "b" };

function read(group: string, version: string, kind: string, rest: string): StoredObject {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const text = `{"kind":"${kind}","apiVersion":"${apiVersion}","metadata":{"name":"b","namespace":"a","uid":"u"}${rest}}`;
  const knowledge = knowledgeOf({
    storedCodec: codecs.forKind(group, version, kind) as KindCodec,
    strategy: {} as ResourceStrategy,
    isCustom: false,
  });
  return decodeStoredObject(KEY, Buffer.from(text), toRevision(5), knowledge);
}

function shown(object: StoredObject): Record<string, unknown> {
  const { kind, apiVersion, metadata, ...rest } = JSON.parse(object.bytes.toString());
  assert.deepEqual(
    [typeof kind, typeof apiVersion, metadata.resourceVersion],
    ["string", "string", "5"],
  );
  return rest;
}

test("H7: an object that is as this server stores it is taken to the letter", () => {
  const rest = ',"data":{"z":"1","a":"2"},"immutable":true';
  assert.ok(read("", "v1", "ConfigMap", rest).bytes.includes(rest));
});

test("H7: unknown fields are left out, at any depth, and numbers keep their digits", () => {
  const odd = ',"spec":{"bogus":1,"minReadySeconds":3,"template":{"bogus":{}}},"other":[]';
  const { spec } = shown(read("apps", "v1", "ReplicaSet", odd)) as {
    spec: Record<string, unknown>;
  };
  assert.equal(spec.minReadySeconds, 3);
  assert.ok(!JSON.stringify(spec).includes("bogus"));
  const big = read("apps", "v1", "ControllerRevision", ',"revision":9007199254740993,"bogus":1');
  assert.ok(big.bytes.includes('"revision":9007199254740993'));
});

test("H7: nulls are what they are to the kind", () => {
  const hooks = read(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    ',"webhooks":[null]',
  );
  const { webhooks } = shown(hooks) as { webhooks: object[] };
  assert.equal(webhooks.length, 1);
  assert.equal((webhooks[0] as { name: string }).name, "");
  assert.deepEqual(shown(read("", "v1", "ConfigMap", ',"data":null')), {});
});

test("H7: what is not of its kind is unreadable, without a word of its content", () => {
  const object = read("", "v1", "Secret", ',"data":"hidden"');
  assert.equal(object.corruption, "the stored object is not of its kind");
});
