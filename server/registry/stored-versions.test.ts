/** Objects that an earlier release stored in another version are read in the current one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KeySpace } from "../../storage/objects/keys.js";
import { createNaming } from "../api/naming.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import { loadFacts } from "../types/load-facts.js";
import { createStoredVersions, readVersions } from "./stored-versions.js";

const naming = createNaming("kubernetes");
const facts = loadFacts(naming);
const keys = new KeySpace("/registry");
const made = { codecs: 0 };
const versions = createStoredVersions({
  byPartition: readVersions(naming, facts),
  codecs() {
    made.codecs++;
    return createFactsCodecs(facts);
  },
  partitionOf: (key) => keys.partitionOf(key),
});

const SCALER = "/registry/autoscaling/horizontalpodautoscalers/default/s";
const metadata = { name: "s", namespace: "default", uid: "u" };
const objectText = (kind: string, apiVersion: string, content: object) =>
  Buffer.from(JSON.stringify({ kind, apiVersion, metadata, ...content }));

test("S2-DEP-04: what is stored in the present version is the value itself, and so is what is not known", () => {
  const present = objectText("HorizontalPodAutoscaler", "autoscaling/v2", {});
  const others = [
    objectText("HorizontalPodAutoscaler", "autoscaling/v9", {}),
    Buffer.from("\0sealed"),
    Buffer.from('{"kind":'),
    Buffer.from("[1]"),
  ];
  for (const value of [present, ...others]) {
    assert.equal(versions.toCurrent(SCALER, value), value);
    assert.equal(versions.isOlder(SCALER, value), false);
  }
  const plain = objectText("ConfigMap", "v9", {});
  assert.equal(versions.toCurrent("/registry/core/configmaps/default/s", plain), plain);
  assert.equal(made.codecs, 0);
});

test("S2-DEP-04: every version that the release knows is read as the one that it stores", () => {
  let count = 0;
  for (const { group, version, resource, subresource, kind, stored } of facts.resources) {
    if (subresource !== "" || stored === undefined) continue;
    const [was, is] = [{ group, version }, stored].map((one) =>
      one.group === "" ? one.version : `${one.group}/${one.version}`,
    );
    if (was === is) continue;
    count++;
    const key = `/registry/${stored.group === "" ? "core" : stored.group}/${resource}/default/s`;
    const old = objectText(kind, was ?? "", {});
    assert.equal(versions.isOlder(key, old), true, key);
    const read = versions.toCurrent(key, old).toString();
    assert.ok(read.startsWith(`{"kind":"${kind}","apiVersion":"${is}","metadata":`), read);
    assert.equal(versions.isOlder(key, Buffer.from(read)), false, read);
  }
  assert.ok(count > 10, String(count));
});

test("what is stored in an older version and is no such object is refused without being quoted", () => {
  const wrong = objectText("HorizontalPodAutoscaler", "autoscaling/v1", { spec: "secret" });
  assert.throws(() => versions.toCurrent(SCALER, wrong), {
    message: "what is stored as autoscaling/v1 is not a HorizontalPodAutoscaler",
  });
});
