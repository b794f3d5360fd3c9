import assert from "node:assert/strict";
import { test } from "node:test";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import { readStoredEntries } from "./managed-fields.js";

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
