/** A version never loses an element. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "./load-facts.js";
import { elementsOf, missingElements, readElements } from "./testing/elements.js";

const there = elementsOf(loadFacts(createNaming("kubernetes")));

test("S2-DEP-01: no version has lost a type, a field or a value that it had", () => {
  assert.deepEqual(missingElements(readElements(), there), []);
});

test("S2-DEP-01: what is new is promised from then on (node dist/server/types/testing/write-elements.js)", () => {
  assert.deepEqual(missingElements(there, readElements()), []);
});

test("S2-DEP-01: the check sees a field, a value and a type that are gone", () => {
  const before = new Map([
    ["g.v1 A", ["x", "y"]],
    ["g.v1 B", ['"On"']],
    ["g.v1 C", []],
  ]);
  const after = new Map([
    ["g.v1 A", ["x", "z"]],
    ["g.v1 B", []],
  ]);
  assert.deepEqual(missingElements(before, after), ["g.v1 A.y", 'g.v1 B."On"', "g.v1 C"]);
});
