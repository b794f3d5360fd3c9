/** Custom resources in the engine: no schema, changed schemas, several versions; writers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject, JsonObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import type { OtherVersion } from "./entry-versions.js";
import { FieldManager, type FieldManagerOptions } from "./field-manager.js";
import type { FieldSet } from "./field-set.js";
import { LEAF_TYPE, type MapType, type MergeType, mapOf } from "./merge-schema.js";
import { createMergeSchemas } from "./merge-schema-facts.js";
import { pathsOf } from "./testing/managed-object.js";
import { managerNameOf, resetFieldsOf } from "./writers.js";

const naming = createNaming("kubernetes");
const { model } = loadFacts(naming);
const schemas = createMergeSchemas(model);

const struct = (fields: Record<string, MergeType>): MapType => {
  const map = new Map(Object.entries(fields));
  return { form: "map", fields: () => map, others: undefined };
};
const schemaOf = (spec: Record<string, MergeType>) =>
  schemas.ofCustom(struct({ spec: struct(spec) }));

function managerOf(options: Partial<FieldManagerOptions>) {
  return new FieldManager({
    schema: schemas.schemaless(),
    apiVersion: "example.com/v1",
    kind: "Thing",
    naming,
    now: () => 0,
    ...options,
  });
}

const thing = (spec: JsonObject, apiVersion = "example.com/v1") => ({
  apiVersion,
  kind: "Thing",
  metadata: { name: "t", uid: "u" },
  spec,
});
const by = (manager: string, force = false) => ({ manager, subresource: "", force });

function ownersOf({ metadata }: ApiObject): Record<string, string[]> {
  const entries = metadata.managedFields ?? [];
  return Object.fromEntries(
    entries.map((entry) => [
      `${String(entry.manager)} ${String(entry.apiVersion)}`,
      pathsOf(entry.fieldsV1 as unknown as FieldSet),
    ]),
  );
}

test("S1-SSA-26: without a schema maps are granular and every list is atomic", () => {
  const manager = managerOf({});
  const first = manager.apply(undefined, thing({ a: { b: 1 }, list: [{ name: "x" }] }), by("ops"));
  assert.deepEqual(first.metadata.managedFields?.[0]?.fieldsV1, {
    "f:spec": { ".": {}, "f:a": { ".": {}, "f:b": {} }, "f:list": {} },
  });
  const second = manager.apply(first, thing({ a: { c: 2 } }), by("dev"));
  assert.deepEqual(second.spec, { a: { b: 1, c: 2 }, list: [{ name: "x" }] });
  assert.throws(() => manager.apply(second, thing({ list: [] }), by("dev")), {
    code: 409,
    message: 'Apply failed with 1 conflict: conflict with "ops": .spec.list',
  });
});

test("S1-SSA-27: from granular to atomic, who owned a part owns the whole", () => {
  const granular = managerOf({ schema: schemaOf({ map: mapOf(LEAF_TYPE) }) });
  const atomic = managerOf({ schema: schemaOf({ map: LEAF_TYPE }) });
  const live = granular.apply(undefined, thing({ map: { a: 1, b: 2 } }), by("ops"));
  assert.throws(() => atomic.apply(live, thing({ map: { c: 3 } }), by("dev")), {
    message: 'Apply failed with 1 conflict: conflict with "ops": .spec.map',
  });
  const forced = atomic.apply(live, thing({ map: { c: 3 } }), by("dev", true));
  assert.deepEqual(forced.spec, { map: { c: 3 } });
  assert.deepEqual(ownersOf(forced), { "dev example.com/v1": [".spec.map"] });
  const same = atomic.apply(live, thing({ map: { a: 1, b: 2 } }), by("ops"));
  assert.deepEqual(ownersOf(same), { "ops example.com/v1": [".spec.map"] });
});

test("S1-SSA-28: from atomic to granular, parts have no owner and nothing conflicts", () => {
  const atomic = managerOf({ schema: schemaOf({ map: LEAF_TYPE }) });
  const granular = managerOf({ schema: schemaOf({ map: mapOf(LEAF_TYPE) }) });
  const live = atomic.apply(undefined, thing({ map: { a: 1, b: 2 } }), by("ops"));
  const next = granular.apply(live, thing({ map: { a: 3 } }), by("dev"));
  assert.deepEqual(next.spec, { map: { a: 3, b: 2 } });
  assert.deepEqual(ownersOf(next), {
    "ops example.com/v1": [".spec.map"],
    "dev example.com/v1": [".spec.map.a"],
  });
});

test("S1-SSA-22: an item without its key is refused where the key has no default", () => {
  const list: MergeType = { form: "list", keys: ["name"], keyDefaults: {}, items: struct({}) };
  const manager = managerOf({ schema: schemaOf({ list }) });
  for (const [item, why] of [
    [{}, /omits all key fields \["name"\]/],
    [null, /null element/],
    ["x", /non-map elements/],
  ] as const) {
    assert.throws(() => manager.apply(undefined, thing({ list: [item] }), by("ops")), {
      code: 400,
      message: why,
    });
  }
});

test("S1-SSA-22: an item that omits one of two keys is another one than those with both", () => {
  const list: MergeType = {
    form: "list",
    keys: ["name", "port"],
    keyDefaults: {},
    items: struct({ name: LEAF_TYPE, port: LEAF_TYPE }),
  };
  const manager = managerOf({ schema: schemaOf({ list }) });
  const whole = thing({ list: [{ name: "a", port: 1 }] });
  const live = manager.apply(undefined, whole, by("ops"));
  const next = manager.apply(live, thing({ list: [{ name: "a" }] }), by("dev"));
  assert.deepEqual(next.spec, { list: [{ name: "a", port: 1 }, { name: "a" }] });
});

const renamed = ({ spec, ...rest }: JsonObject, from: string, to: string, apiVersion: string) => {
  if (spec === undefined) return { ...rest, apiVersion };
  const { [from]: value, ...others } = spec as JsonObject;
  const moved = value === undefined ? others : { ...others, [to]: value };
  return { ...rest, apiVersion, spec: moved };
};
const OLD = "example.com/v1alpha1";
const NEW = "example.com/v1";
const oldSchema = schemaOf({ size: LEAF_TYPE, color: LEAF_TYPE });
const newSchema = schemaOf({ replicas: LEAF_TYPE, color: LEAF_TYPE });
const versions: Record<string, OtherVersion> = {
  [OLD]: {
    schema: oldSchema,
    toVersion: (object) => renamed(object, "replicas", "size", OLD),
    fromVersion: (object) => renamed(object, "size", "replicas", NEW),
  },
};

test("S1-SSA-01: owners in another version own the same fields by other names", () => {
  const alpha = managerOf({ schema: oldSchema, apiVersion: OLD });
  const served = managerOf({ schema: newSchema, otherVersion: (version) => versions[version] });
  const old = alpha.apply(undefined, thing({ size: 1, color: "red" }, OLD), by("ops"));
  const live: ApiObject = { ...old, ...renamed(old as never, "size", "replicas", NEW) };
  assert.throws(() => served.apply(live, thing({ replicas: 2 }), by("dev")), {
    message: 'Apply failed with 1 conflict: conflict with "ops": .spec.size',
  });
  const shared = served.apply(live, thing({ replicas: 1 }), by("dev"));
  assert.deepEqual(ownersOf(shared), {
    [`dev ${NEW}`]: [".spec.replicas"],
    [`ops ${OLD}`]: [".spec.color", ".spec.size"],
  });
  const less = served.apply(shared, thing({}), by("ops"));
  assert.deepEqual(less.spec, { replicas: 1 }, "dev owns it still");
  assert.deepEqual(served.apply(live, thing({}), by("ops")).spec, {});
  const written = served.update(shared, { ...shared, spec: { replicas: 3 } }, by("editor"));
  assert.deepEqual(ownersOf(written), { [`editor ${NEW}`]: [".spec.replicas"] });
});

test("entries in a version that is gone are dropped, fields of another version stay owned", () => {
  const alpha = managerOf({ schema: oldSchema, apiVersion: OLD });
  const live = {
    ...alpha.apply(undefined, thing({ size: 1, color: "red" }, OLD), by("ops")),
    ...thing({ replicas: 1, color: "red" }),
  };
  const { managedFields } = alpha.apply(undefined, thing({ size: 1 }, OLD), by("ops")).metadata;
  live.metadata = { ...live.metadata, managedFields } as never;
  const served = managerOf({ schema: newSchema });
  const next = served.apply(live, thing({ replicas: 2 }), by("dev"));
  assert.deepEqual(ownersOf(next), { [`dev ${NEW}`]: [".spec.replicas"] });
});

test("in another version, what somebody owns there is not pruned", () => {
  const alpha = managerOf({ schema: oldSchema, apiVersion: OLD });
  const served = managerOf({ schema: newSchema, otherVersion: (version) => versions[version] });
  const ops = served.apply(undefined, thing({ replicas: 1, color: "red" }), by("ops"));
  const [own] = ops.metadata.managedFields ?? [];
  const [other] =
    alpha.apply(undefined, thing({ size: 1 }, OLD), by("dev")).metadata.managedFields ?? [];
  assert(own !== undefined && other !== undefined);
  const live = { ...ops, metadata: { ...ops.metadata, uid: "u", managedFields: [other, own] } };
  assert.deepEqual(served.apply(live, thing({}), by("ops")).spec, { replicas: 1 });
});

test("S1-SSA-17: writes without a manager's name go by the user agent", () => {
  const table: readonly (readonly [string, string, string])[] = [
    ["me", "kubectl/v1.36.0 (linux/amd64)", "me"],
    ["", "kubectl/v1.36.0 (linux/amd64)", "kubectl"],
    ["", "foo", "foo"],
    ["", "My Client 2/1", "My Client 2"],
    ["", "a\u0000b\tc\u200b/1", "abc"],
    ["", "", ""],
    ["", `${"ü".repeat(100)}/1`, "ü".repeat(64)],
  ];
  for (const [manager, agent, expected] of table) {
    assert.equal(managerNameOf(manager, agent), expected, agent);
  }
  const created = managerOf({}).update(undefined, thing({ a: 1 }), by(""));
  assert.equal(created.metadata.managedFields?.[0]?.manager, "unknown");
});

test("S1-SSA-34: what a write does not reach is said by its subresource", () => {
  const reset = resetFieldsOf({ "": ["status"], status: ["spec", "metadata.labels"] });
  assert.deepEqual(reset(""), { "f:status": {} });
  assert.deepEqual(reset("status"), { "f:spec": {}, "f:metadata": { "f:labels": {} } });
  assert.deepEqual(reset("scale"), {});
});
