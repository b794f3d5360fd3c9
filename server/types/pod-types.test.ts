/** What validation reads of pods are the fields that the facts have. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "./load-facts.js";
import { POD_TYPES_FILE, podTypesText } from "./testing/pod-types.js";

test("the types of a pod template are those of the facts (node dist/server/types/testing/write-pod-types.js)", () => {
  const { model } = loadFacts(createNaming("kubernetes"));
  const current = readFileSync(POD_TYPES_FILE, "utf8");
  assert.equal(current, podTypesText(model, current));
});
