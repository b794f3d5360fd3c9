/**
 * The merge engine against a brute-force model of ownership: objects are flat lists of paths, owners
 * are sets of paths, and every rule is a filter. Random writes and applies on a schema that has every
 * kind of type must leave both with the same owners and the same values.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { createFieldManager, keepTimesIfSame } from "./field-manager.js";
import type { FieldSet } from "./field-set.js";
import { elementOf } from "./list-items.js";
import {
  DYNAMIC,
  LEAF_TYPE,
  type MapType,
  type MergeType,
  mapOf,
  objectType,
} from "./merge-schema.js";
import { describePath } from "./path-element.js";
import { pathsOf } from "./testing/managed-object.js";

const struct = (fields: Record<string, MergeType>): MapType => {
  const map = new Map(Object.entries(fields));
  return { form: "map", fields: () => map, others: undefined };
};
const INNER = struct({ a: LEAF_TYPE, m: mapOf(LEAF_TYPE) });
const BODY = struct({
  leaf: LEAF_TYPE,
  whole: LEAF_TYPE,
  map: mapOf(LEAF_TYPE),
  struct: INNER,
  set: { form: "list", keys: [], keyDefaults: {}, items: LEAF_TYPE },
  list: {
    form: "list",
    keys: ["n", "p"],
    keyDefaults: { p: "TCP" },
    items: struct({ n: LEAF_TYPE, p: LEAF_TYPE, v: LEAF_TYPE, s: INNER }),
  },
  dynamic: DYNAMIC,
});
const ROOT = objectType(BODY, struct({ labels: mapOf(LEAF_TYPE) }));

const leaf = fc.constantFrom<JsonValue>("1", "2", 3, true);
const key = fc.constantFrom("x", "y", "z");
const options: { requiredKeys: []; noNullPrototype: true } = {
  requiredKeys: [],
  noNullPrototype: true,
};
const leaves = fc.dictionary(key, leaf, { maxKeys: 3, noNullPrototype: true });
const inner = fc.record({ a: leaf, m: leaves }, options);
const items = fc.uniqueArray(
  fc.record(
    { n: key, p: fc.constantFrom("TCP", "UDP"), v: leaf, s: inner },
    {
      requiredKeys: ["n"],
      noNullPrototype: true,
    },
  ),
  { maxLength: 3, selector: ({ n, p }) => `${n}${p ?? "TCP"}` },
);
const dynamic = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    leaf,
    fc.array(leaf, { maxLength: 2 }),
    fc.dictionary(key, tie("value"), { maxKeys: 2, noNullPrototype: true }),
  ),
})).value;
const body = fc.record(
  {
    leaf,
    whole: fc.oneof(fc.array(leaf, { maxLength: 2 }), leaves),
    map: leaves,
    struct: inner,
    set: fc.uniqueArray(key, { maxLength: 3 }),
    list: items,
    dynamic,
  },
  options,
) as fc.Arbitrary<JsonObject>;

/** A value at each path: JSON for what is owned as a whole, or that there are fields of its own. */
type Flat = Map<string, string>;
const MAP = "{...}";
const LIST = "[...]";
const CONTAINERS = [MAP, LIST, "{}", "[]"];

/** @param isEntry what a configuration that names this owns: entries and items count themselves */
function flatten(
  type: MergeType,
  value: JsonValue,
  path: readonly string[],
  isEntry: boolean,
  out: { values: Flat; owned: Set<string> },
): void {
  const here = describePath(path);
  const members = membersOf(type, value);
  if (members === undefined || members.length === 0) {
    out.values.set(here, JSON.stringify(sorted(value)));
    out.owned.add(here);
    return;
  }
  out.values.set(here, Array.isArray(value) ? LIST : MAP);
  if (isEntry) out.owned.add(here);
  for (const [element, memberType, member, isMemberEntry] of members) {
    flatten(memberType, member, [...path, element], isMemberEntry, out);
  }
}

/** Members in order, so that equal values have equal texts. */
function sorted(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value)
    ? value.map(sorted)
    : Object.fromEntries(Object.entries(value).sort());
}

function membersOf(
  type: MergeType,
  value: JsonValue,
): (readonly [string, MergeType, JsonValue, boolean])[] | undefined {
  if (type.form === "list") {
    return (value as JsonValue[]).map((item) => [
      String(elementOf(type, item)),
      type.items,
      item,
      true,
    ]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  if (type.form === "dynamic") {
    return Object.entries(value).map(([name, member]) => [
      `f:${name}`,
      DYNAMIC,
      member ?? null,
      true,
    ]);
  }
  if (type.form !== "map") return undefined;
  return Object.entries(value).map(([name, member]) => {
    const declared = type.fields().get(name);
    const memberType = declared ?? type.others;
    assert(memberType !== undefined, name);
    return [`f:${name}`, memberType, member ?? null, declared === undefined];
  });
}

function flat(value: JsonObject): { values: Flat; owned: Set<string> } {
  const out = { values: new Map<string, string>(), owned: new Set<string>() };
  for (const [element, type, member] of membersOf(BODY, value) ?? []) {
    flatten(type, member, [element], false, out);
  }
  return out;
}

/** Paths that an owner of others may no longer have, and those that the writer now has. */
function differenceOf(before: Flat, after: Flat): { changed: Set<string>; removed: Set<string> } {
  const changed = new Set<string>();
  const removed = new Set<string>();
  for (const [path, value] of after) {
    const old = before.get(path);
    // A map or list that only got or lost members is the same map or list.
    const isSame = [old, value].every((text) => CONTAINERS.includes(text ?? ""));
    if (old !== value && !(isSame && old?.[0] === value[0])) changed.add(path);
  }
  for (const path of before.keys()) if (!after.has(path)) removed.add(path);
  return { changed, removed };
}

type Operation =
  | { readonly verb: "put"; readonly manager: string; readonly value: JsonObject }
  | {
      readonly verb: "apply";
      readonly manager: string;
      readonly value: JsonObject;
      readonly force: boolean;
    };

const manager = fc.constantFrom("a", "b", "c");
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ verb: fc.constant("put" as const), manager, value: body }),
  fc.record({ verb: fc.constant("apply" as const), manager, value: body, force: fc.boolean() }),
);

const forced = (step: Operation): Operation =>
  step.verb === "apply" ? { ...step, force: true } : step;

function createEngine() {
  let time = 0;
  const fields = createFieldManager({
    schema: { root: ROOT, empty: { metadata: {} } },
    apiVersion: "v1",
    kind: "Thing",
    naming: createNaming("kubernetes"),
    now: () => time++ * 1000,
  });
  let live: ApiObject | undefined;
  return {
    run(step: Operation): void {
      const object = { apiVersion: "v1", kind: "Thing", metadata: { name: "t" }, ...step.value };
      const write = { manager: step.manager, subresource: "" };
      const before = JSON.stringify([live, object]);
      const next =
        step.verb === "put"
          ? fields.update(live, object, write)
          : fields.apply(live, object as JsonObject, { ...write, force: step.force });
      assert.equal(JSON.stringify([live, object]), before, "what goes in is left alone");
      live = live === undefined ? next : keepTimesIfSame(live, next);
      live.metadata.uid = "u";
    },
    object: () => live,
    body(): JsonObject {
      const { apiVersion: _, kind: __, metadata: ___, ...rest } = live ?? {};
      return rest as JsonObject;
    },
    owners(): Map<string, string[]> {
      const entries = live?.metadata.managedFields ?? [];
      return new Map(
        entries.map(({ manager: name, operation: how, fieldsV1 }) => [
          `${String(name)} ${String(how)}`,
          pathsOf(fieldsV1 as unknown as FieldSet),
        ]),
      );
    },
  };
}

test("S1-SSA-09..16: random writes and applies leave the owners that a brute-force model has", () => {
  fc.assert(
    fc.property(fc.array(operation, { minLength: 1, maxLength: 8 }), (steps) => {
      const engine = createEngine();
      const model = new Map<string, Set<string>>();
      for (const step of steps) {
        const before = flat(engine.body()).values;
        const isNew = engine.object() === undefined;
        if (!isNew && model.size === 0) {
          if (step.verb === "put") {
            // Nothing is followed of what nobody owns, as the last of its owners let go.
            engine.run(step);
            continue;
          }
          if (before.size > 0) model.set("before-first-apply Update", new Set(before.keys()));
        }
        const id = `${step.manager} ${step.verb === "put" ? "Update" : "Apply"}`;
        const others = [...model].filter(([owner]) => step.verb === "put" || owner !== id);
        let conflict: StatusError | undefined;
        try {
          engine.run(step);
        } catch (error) {
          assert(error instanceof StatusError && error.code === 409, String(error));
          assert(step.verb === "apply" && !step.force);
          conflict = error;
          engine.run({ ...step, force: true });
        }
        const { changed, removed } = differenceOf(before, flat(engine.body()).values);
        const taken = others.flatMap(([owner, paths]) =>
          owner === id ? [] : [...paths].filter((path) => changed.has(path)),
        );
        if (step.verb === "apply") {
          assert.equal(conflict !== undefined, taken.length > 0 && !step.force);
          const fields = conflict?.status.details?.causes?.map(({ field }) => field ?? "");
          if (fields !== undefined) assert.deepEqual(fields.sort(), taken.sort());
        }
        for (const [owner, paths] of others) {
          for (const path of paths) {
            if (removed.has(path) || (changed.has(path) && owner !== id)) paths.delete(path);
          }
          if (paths.size === 0) model.delete(owner);
        }
        const own =
          step.verb === "apply"
            ? flat(step.value).owned
            : new Set([...(model.get(id) ?? []), ...changed]);
        if (own.size === 0) model.delete(id);
        else model.set(id, own);
        const expected = [...model].map(([owner, paths]) => [owner, [...paths].sort()] as const);
        assert.deepEqual(new Map([...engine.owners()].sort()), new Map([...expected].sort()));
      }
    }),
    { numRuns: 300 },
  );
});

test("S1-SSA-16: after an apply the object has what was applied, and what others own", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5 }), body, (steps, value) => {
      const engine = createEngine();
      for (const step of steps) engine.run(forced(step));
      const owned = engine.owners();
      const before = flat(engine.body()).values;
      engine.run({ verb: "apply", manager: "a", value, force: true });
      const after = flat(engine.body()).values;
      const applied = flat(value);
      for (const path of applied.owned) {
        const wanted = applied.values.get(path);
        const isEmptied =
          wanted === "{}" ? after.get(path) === MAP : wanted === "[]" && after.get(path) === LIST;
        assert.ok(isEmptied || after.get(path) === wanted, path);
      }
      const last = new Set(owned.get("a Apply") ?? []);
      const others = [...owned].filter(([owner]) => owner !== "a Apply");
      const isKept = (path: string) => others.some(([, paths]) => paths.includes(path));
      for (const path of last) {
        const isGone = !applied.values.has(path) && !isKept(path);
        if (isGone && before.get(path) !== MAP && before.get(path) !== LIST)
          assert.ok(!after.has(path), `${path} stays`);
      }
    }),
    { numRuns: 300 },
  );
});

test("S1-SSA-36: apply is idempotent", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5 }), body, (steps, value) => {
      const engine = createEngine();
      for (const step of steps) engine.run(forced(step));
      const apply = { verb: "apply", manager: "a", value, force: true } as const;
      engine.run(apply);
      const once = structuredClone(engine.object());
      engine.run(apply);
      assert.deepEqual(engine.object(), once);
    }),
    { numRuns: 300 },
  );
});

test("S1-SSA-09: appliers of different fields may come in any order", () => {
  const values = fc.tuple(body, body).map(([a, b]) => {
    const mine = new Set(Object.keys(a));
    return [a, Object.fromEntries(Object.entries(b).filter(([name]) => !mine.has(name)))] as const;
  });
  fc.assert(
    fc.property(body, values, (start, [a, b]) => {
      const run = (...appliers: readonly (readonly [string, JsonObject])[]) => {
        const engine = createEngine();
        engine.run({ verb: "put", manager: "c", value: start });
        for (const [name, value] of appliers) {
          engine.run({ verb: "apply", manager: name, value, force: true });
        }
        return [engine.body(), engine.owners()] as const;
      };
      const [bodyAb, ownersAb] = run(["a", a], ["b", b]);
      const [bodyBa, ownersBa] = run(["b", b], ["a", a]);
      assert.ok(deepEqual(bodyAb, bodyBa));
      assert.deepEqual(new Map([...ownersAb].sort()), new Map([...ownersBa].sort()));
    }),
    { numRuns: 300 },
  );
});

test("whatever is applied, it ends with an object or a Status", () => {
  const wild = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(
        fc.oneof(
          fc.constantFrom(...BODY.fields().keys(), "n", "p", "a", "m", "labels", "managedFields"),
          fc.constantFrom("metadata", "constructor", "toString"),
        ),
        tie("value"),
        { maxKeys: 4, noNullPrototype: true },
      ),
    ),
  })).value;
  const object = fc.dictionary(fc.constantFrom(...BODY.fields().keys(), "metadata"), wild, {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(body, fc.array(object, { minLength: 1, maxLength: 3 }), (start, values) => {
      const engine = createEngine();
      engine.run({ verb: "put", manager: "c", value: start });
      for (const value of values) {
        try {
          engine.run({ verb: "apply", manager: "a", value: value as JsonObject, force: false });
        } catch (error) {
          assert.ok(error instanceof StatusError, String(error));
          assert.ok([400, 409].includes(error.code));
        }
      }
    }),
    { numRuns: 300 },
  );
});
