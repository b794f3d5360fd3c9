import assert from "node:assert/strict";
import { test } from "node:test";
import { missingObject } from "./missing-object.js";

test("an object is not found, unless its name is none", () => {
  const pods = { group: "", resource: "pods" };
  for (const [name, code, message] of [
    ["web", 404, 'pods "web" not found'],
    [".web", 404, 'pods ".web" not found'],
    [".", 400, "Name parameter invalid: \".\": may not be '.'"],
    ["..", 400, "Name parameter invalid: \"..\": may not be '..'"],
    ["a%/b", 400, "Name parameter invalid: \"a%/b\": may not contain '/';may not contain '%'"],
  ] as const) {
    const refusal = missingObject(pods, name);
    assert.deepEqual([refusal.code, refusal.message], [code, message]);
  }
});
