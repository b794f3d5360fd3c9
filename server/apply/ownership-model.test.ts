/**
 * The merge engine against a brute-force model of ownership (testing/ownership-model.ts). Random writes and applies on a schema that has every
 * kind of type must leave both with the same owners and the same values.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepEqual } from "../api/deep-equal.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import { DYNAMIC, LEAF_TYPE, mapOf } from "./merge-schema.js";
import {
  checkAgainstModel,
  createEngine,
  flat,
  LIST,
  MAP,
  type Operation,
  structOf,
} from "./testing/ownership-model.js";

const INNER = structOf({ a: LEAF_TYPE, m: mapOf(LEAF_TYPE) });
const BODY = structOf({
  leaf: LEAF_TYPE,
  whole: LEAF_TYPE,
  map: mapOf(LEAF_TYPE),
  struct: INNER,
  set: { form: "list", keys: [], keyDefaults: {}, items: LEAF_TYPE },
  list: {
    form: "list",
    keys: ["n", "p"],
    keyDefaults: { p: "TCP" },
    items: structOf({ n: LEAF_TYPE, p: LEAF_TYPE, v: LEAF_TYPE, s: INNER }),
  },
  dynamic: DYNAMIC,
});

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

const manager = fc.constantFrom("a", "b", "c");
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ verb: fc.constant("put" as const), manager, value: body }),
  fc.record({ verb: fc.constant("apply" as const), manager, value: body, force: fc.boolean() }),
);

const forced = (step: Operation): Operation =>
  step.verb === "apply" ? { ...step, force: true } : step;

test("S1-SSA-09..16: random writes and applies leave the owners that a brute-force model has", () => {
  fc.assert(
    fc.property(fc.array(operation, { minLength: 1, maxLength: 8 }), (steps) => {
      checkAgainstModel(BODY, steps);
    }),
    { numRuns: 300 },
  );
});

test("S1-SSA-16: after an apply the object has what was applied, and what others own", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 5 }), body, (steps, value) => {
      const engine = createEngine(BODY);
      for (const step of steps) engine.run(forced(step));
      const owned = engine.owners();
      const before = flat(BODY, engine.body()).values;
      engine.run({ verb: "apply", manager: "a", value, force: true });
      const after = flat(BODY, engine.body()).values;
      const applied = flat(BODY, value);
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
      const engine = createEngine(BODY);
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
        const engine = createEngine(BODY);
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
      const engine = createEngine(BODY);
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
