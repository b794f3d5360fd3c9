import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import { readStoredEntries, writeEntries } from "./managed-fields.js";
import { fieldElement, sortElements, valueElement } from "./path-element.js";

const entry = (fieldsV1: JsonValue) => ({
  ...{ manager: "editor", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1" },
  fieldsV1,
});

test("S1-UNS-08: of stored entries none counts when the set of one is no tree of sets", () => {
  const sound = entry({ "f:data": { ".": {}, "f:a": {} } });
  assert.equal(finishNow(readStoredEntries([sound]))?.size, 1);
  assert.equal(finishNow(readStoredEntries([entry(null)]))?.size, 1);
  for (const set of ["x", [], 1, { "f:data": "x" }, { "f:data": { ".": "x", "f:a": {} } }]) {
    assert.equal(finishNow(readStoredEntries([sound, entry(set)])), undefined, JSON.stringify(set));
  }
});

test("entries by manager, fields and values are in the order of their bytes, also beyond U+E000", () => {
  const texts = ["a", "\ue000", "\u{10000}"];
  const stored = texts.toReversed().map((manager) => ({ ...entry({ "f:data": {} }), manager }));
  const entries = finishNow(readStoredEntries(stored)) ?? assert.fail("they are not read");
  const written = finishNow(writeEntries(entries)) ?? [];
  const managers = written.map(({ manager }) => manager);
  assert.deepEqual(managers, texts);
  for (const elements of [texts.map(fieldElement), texts.map(valueElement)])
    assert.deepEqual(sortElements(elements.toReversed()), elements);
});
