/** Which definitions have kinds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { Definition } from "../registry/apiextensions/definition.js";
import type { CustomCodec, CustomKind } from "./custom-codec.js";
import { type CustomResourceParts, createCustomResources } from "./custom-resources.js";

function served(apiVersion: string) {
  const definition = {
    apiVersion,
    kind: "CustomResourceDefinition",
    metadata: { name: "cars.example.com" },
    spec: { group: "example.com", scope: "Namespaced", versions: [] },
    status: { conditions: [{ type: "Established", status: "True" }] },
  } as unknown as Definition;
  const asked: string[] = [];
  const versions = [{ name: "v1", served: false, storage: true }];
  const spec = new Proxy(definition.spec ?? {}, {
    get(target, name) {
      asked.push(String(name));
      return name === "versions" ? versions : Reflect.get(target, name);
    },
  });
  const resources = createCustomResources(
    {} as StoredObject,
    { ...definition, spec },
    {} as CustomResourceParts,
  );
  return { resources, isRead: asked.includes("versions") };
}

test("D19: a definition that comes in another version than v1 has no kinds, as its schemas may be elsewhere", () => {
  assert.equal(served("apiextensions.k8s.io/v1").isRead, true);
  assert.deepEqual(served("apiextensions.k8s.io/v1beta1"), { resources: [], isRead: false });
});

test("39: the schemas of many versions are read from one parsing, and a better version is looked for once", () => {
  const count = 1_000;
  const versions = Array.from({ length: count }, (_, at) => ({
    name: `v${at + 1}`,
    served: true,
    storage: at === 0,
    deprecated: at + 1 !== 900,
    schema: { openAPIV3Schema: { type: "object", description: `the ${at + 1}th` } },
  }));
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "cars.example.com", generation: 1 },
    spec: { group: "example.com", scope: "Namespaced", versions },
    status: {
      acceptedNames: { plural: "cars", kind: "Car" },
      conditions: [{ type: "Established", status: "True" }],
    },
  } as unknown as Definition;
  const bytes = Buffer.from(JSON.stringify(definition));
  let parsed = 0;
  const stored = {
    get bytes() {
      parsed++;
      return bytes;
    },
  } as unknown as StoredObject;
  const schemas = new Map<string, CustomKind["schema"]>();
  const create = (kind: CustomKind) => {
    schemas.set(kind.version, kind.schema);
    return {} as CustomCodec;
  };
  const parts = { codecs: { create } } as unknown as CustomResourceParts;
  const resources = createCustomResources(stored, definition, parts);
  assert.equal(resources.length, count);
  for (const at of [1, 2, 500, 1_000]) {
    assert.equal(schemas.get(`v${at}`)?.()?.description, `the ${at}th`);
  }
  assert.equal(parsed, 1);
  const warnings = resources.map(({ fact }) => fact.deprecation?.warning);
  assert.equal(warnings[0], "example.com/v1 Car is deprecated; use example.com/v900 Car");
  assert.equal(warnings[899], undefined);
  assert.equal(warnings[900], "example.com/v901 Car is deprecated");
});

test("44: what is made of a definition holds on to what it needs, and not to schemas and owners of fields", () => {
  const version = { name: "v1", served: true, storage: true };
  const schema = { openAPIV3Schema: { type: "object", description: "long" } };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      ...{
        name: "cars.example.com",
        uid: "u",
        generation: 3,
        deletionTimestamp: "2026-11-28T00:00:00Z",
      },
      ...{ annotations: { long: "x" }, managedFields: [{ manager: "m" }] },
    },
    spec: {
      ...{ group: "example.com", scope: "Namespaced", names: { plural: "cars" } },
      ...{ conversion: { strategy: "Webhook" }, versions: [{ ...version, schema }] },
    },
    status: {
      ...{ acceptedNames: { plural: "cars", kind: "Car" }, storedVersions: ["v1"] },
      conditions: ["Established", "Terminating"].map((type) => ({ type, status: "True" })),
    },
  } as unknown as Definition;
  const stop = new Error("seen");
  let given: Definition | undefined;
  const parts = {
    createConverter(one: Definition) {
      given = one;
      throw stop;
    },
  } as unknown as CustomResourceParts;

  assert.throws(() => createCustomResources({} as StoredObject, definition, parts), stop);
  assert.deepEqual(given, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      ...{
        name: "cars.example.com",
        uid: "u",
        generation: 3,
        deletionTimestamp: "2026-11-28T00:00:00Z",
      },
    },
    spec: {
      ...{ group: "example.com", scope: "Namespaced" },
      ...{ conversion: { strategy: "Webhook" }, versions: [{ ...version, schema: null }] },
    },
    status: {
      ...{ acceptedNames: { plural: "cars", kind: "Car" }, storedVersions: ["v1"] },
      conditions: [{ type: "Terminating", status: "True" }],
    },
  });
});
