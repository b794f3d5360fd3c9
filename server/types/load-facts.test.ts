import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import type { SchemaModel, TypeRef } from "../schema/model.js";
import { loadFacts, storageVersionHash } from "./load-facts.js";

const facts = loadFacts(createNaming("kubernetes"));

function* referencesOf(model: SchemaModel): Generator<{ from: string; ref: TypeRef }> {
  for (const file of model.files.values()) {
    for (const type of file.types.values()) {
      if (type.form === "alias") yield { from: type.id, ref: type.target };
      if (type.form !== "struct") continue;
      for (const field of type.fields) yield { from: `${type.id}.${field.name}`, ref: field.type };
    }
  }
}

function namesIn(ref: TypeRef): string[] {
  if (ref.kind === "named") return [ref.id];
  if (ref.kind === "list") return namesIn(ref.items);
  return ref.kind === "map" ? [...namesIn(ref.keys), ...namesIn(ref.values)] : [];
}

test("every type that the facts mention exists", () => {
  const missing = [];
  for (const { from, ref } of referencesOf(facts.model)) {
    for (const id of namesIn(ref)) {
      if (facts.model.type(id) === undefined) missing.push(`${from} -> ${id}`);
    }
  }
  assert.deepEqual(missing, []);
});

test("the kind of every resource exists in its group-version", () => {
  const missing = facts.resources.filter(({ group, version, kind, kindGroupVersion }) => {
    const at = kindGroupVersion ?? { group, version };
    const type = facts.model.files.get(kind.endsWith("Options") ? "core.v1" : "")?.types.get(kind);
    return (facts.model.kind(at.group, at.version, kind) ?? type) === undefined;
  });
  assert.deepEqual(missing, []);
});

test("the facts are all there: counts of the index file hold", () => {
  const fields = (base: string) =>
    [...(facts.model.files.get(base)?.types.values() ?? [])]
      .map((type) => (type.form === "struct" ? type.fields.length : 0))
      .reduce((sum, count) => sum + count, 0);
  assert.equal(facts.model.files.size, 62);
  assert.equal(fields("core.v1"), 1044);
  assert.equal(fields("apps.v1"), 135);
  assert.equal(facts.resources.length, 150);
  assert.equal(facts.groupVersions.length, 36);
  assert.equal(facts.model.builtins.size, 9);
});

test("a field carries what its line says", () => {
  const spec = facts.model.type("core.v1.ServiceSpec");
  assert(spec?.form === "struct");
  const ports = spec.fields.find((field) => field.name === "ports");
  assert.deepEqual(ports, {
    name: "ports",
    number: 1,
    type: {
      kind: "list",
      items: { kind: "named", id: "core.v1.ServicePort", nullable: false },
      nullable: false,
    },
    requirement: "none",
    empty: "omit",
    noJson: false,
    deprecated: false,
    gates: [],
    discriminator: false,
    rules: [],
    shadowRules: [],
    generatorRules: [],
    listType: "map",
    listMapKeys: ["port", "protocol"],
    patchStrategies: ["merge"],
    patchMergeKey: "port",
  });
});

test("S2-VERS-02: tables know what is on by default, and what is stored in which version", () => {
  const eviction = facts.resources.find((row) => row.subresource === "eviction");
  assert.deepEqual(eviction?.kindGroupVersion, { group: "policy", version: "v1" });
  const deployments = facts.resources.find((row) => row.resource === "deployments");
  assert.deepEqual(deployments?.stored, { group: "apps", version: "v1" });
  assert.deepEqual(deployments?.categories, ["all"]);
  const configMaps = facts.resources.find((row) => row.resource === "configmaps");
  assert.deepEqual(configMaps?.stored, { group: "", version: "v1" });
});

test("storage version hashes are those of the table", () => {
  for (const { stored, kind, subresource, storageVersionHash: hash } of facts.resources) {
    if (stored === undefined || subresource !== "") continue;
    assert.equal(storageVersionHash(stored, kind), hash, kind);
  }
});

test("another vendor's facts do not spell the default vendor", () => {
  const acme = loadFacts(createNaming("acme"));
  assert.notEqual(acme.model.kind("rbac.authorization.acme.io", "v1", "Role"), undefined);
  const constants = [...acme.model.files.values()].flatMap((file) => [...file.constants]);
  const spelled = constants.filter(([, value]) => /k8s|kubernetes|kube-/.test(String(value)));
  assert.deepEqual(spelled, []);
  const groups = acme.resources.map((row) => row.group).filter((group) => group.includes("k8s"));
  assert.deepEqual(groups, []);
  assert.deepEqual(acme.model.type("core.v1.FinalizerName"), {
    form: "enum",
    id: "core.v1.FinalizerName",
    name: "FinalizerName",
    file: "core.v1",
    closed: false,
    values: ["acme"],
  });
});
