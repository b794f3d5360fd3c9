import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../../api/naming.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import type { Definition } from "./definition.js";
import { Conditions, condition } from "./definition-status.js";
import { definitionStrategy } from "./definition-strategy.js";

const naming = createNaming("k8s");
const context = { subresource: "status", naming, nowMs: 0 } as StrategyContext;

const established = (observedGeneration?: number) => ({
  type: "Established",
  status: "True",
  ...(observedGeneration !== undefined && { observedGeneration }),
});

function definition(observedGeneration?: number): Definition {
  const its = observedGeneration === undefined ? {} : { observedGeneration };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "cars.example.com" },
    spec: { group: "example.com", names: { plural: "cars", kind: "Car" } },
    status: { conditions: [established(observedGeneration)], ...its },
  } as Definition;
}

function written(next: Definition, current: Definition, tracks: boolean, subresource = "status") {
  const strategy = definitionStrategy({ holders: () => [] }, naming, tracks);
  strategy.prepareForUpdate?.(next, current, { ...context, subresource });
  const observed = [
    next.status,
    next.status?.conditions?.find(({ type }) => type === "Established"),
  ];
  return observed.map((one) => one?.observedGeneration);
}

test("a status may say which generation of a definition it is of", () => {
  assert.deepEqual(written(definition(3), definition(), true), [3, 3]);
});

test("S1-FEAT-06: without the gate it may not, unless it does already", () => {
  assert.deepEqual(written(definition(3), definition(), false), [undefined, undefined]);
  assert.deepEqual(written(definition(3), definition(2), false), [3, 3]);
});

test("a definition that is written anew keeps what its status says", () => {
  assert.deepEqual(written(definition(), definition(2), true, ""), [2, 2]);
});

test("a condition has the newest generation that was observed", () => {
  const begun = { ...condition("StorageMigrating", "True", "Begun", ""), observedGeneration: 2 };
  const conditions = new Conditions([begun], "2026-01-31T12:00:00Z");
  conditions.set(condition("StorageMigrating", "False", "Done", ""));
  assert.equal(conditions.all[0]?.observedGeneration, 2);
  conditions.set({ ...begun, observedGeneration: 3 });
  assert.equal(conditions.all[0]?.observedGeneration, 3);
});
