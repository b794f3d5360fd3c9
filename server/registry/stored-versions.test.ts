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

const DEFINITION = "/registry/apiextensions.k8s.io/customresourcedefinitions/s";
const named = { plural: "cars", singular: "car", kind: "Car", listKind: "CarList" };
const read = (spec: object) =>
  JSON.parse(
    versions
      .toCurrent(
        DEFINITION,
        objectText("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", { spec }),
      )
      .toString(),
  );

test("D19: a definition that kube-apiserver stored as v1beta1 is read with its schemas, columns and webhook", () => {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const other = { openAPIV3Schema: { type: "object", description: "other" } };
  const common = { group: "example.com", names: named, scope: "Namespaced" };
  const v1 = { name: "v1", served: true, storage: true };
  const column = { name: "A", type: "string" };
  const one = read({
    ...common,
    version: "v1",
    versions: [v1],
    validation: schema,
    subresources: { status: {} },
    additionalPrinterColumns: [{ ...column, JSONPath: ".spec.a" }],
    conversion: {
      strategy: "Webhook",
      webhookClientConfig: { url: "https://a.b/c" },
      conversionReviewVersions: ["v1"],
    },
    preserveUnknownFields: false,
  });
  assert.equal(one.apiVersion, "apiextensions.k8s.io/v1");
  assert.deepEqual(one.spec, {
    ...common,
    versions: [
      {
        ...v1,
        schema,
        subresources: { status: {} },
        additionalPrinterColumns: [{ ...column, jsonPath: ".spec.a" }],
      },
    ],
    conversion: {
      strategy: "Webhook",
      webhook: { clientConfig: { url: "https://a.b/c" }, conversionReviewVersions: ["v1"] },
    },
  });
  const two = [
    { ...v1, schema, additionalPrinterColumns: [{ ...column, JSONPath: ".a" }] },
    { ...v1, name: "v2", storage: false, schema: other },
  ];
  const several = read({ ...common, version: "v1", versions: two, preserveUnknownFields: false });
  assert.deepEqual(several.spec.versions, [
    { ...v1, schema, additionalPrinterColumns: [{ ...column, jsonPath: ".a" }] },
    two[1],
  ]);
  // As the oldest ones are.
  const oldest = read({ ...common, version: "v1" });
  assert.deepEqual(oldest.spec.versions, [v1]);
  assert.equal(oldest.spec.preserveUnknownFields, true);
  assert.throws(() => read({ ...common, versions: ["v1"] }), /is not a CustomResourceDefinition$/);
});
