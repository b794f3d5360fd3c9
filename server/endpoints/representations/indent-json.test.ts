/** Indented JSON equals compact JSON, digit by digit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { indentJson } from "./indent-json.js";

test("S1-QP-14: text is indented as JSON.stringify with two spaces does", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(indentJson(`${JSON.stringify(value)}\n`), JSON.stringify(value, null, 2));
    }),
  );
});

test("S1-VER-09, S1-QP-14: integers beyond 2^53 keep their digits", () => {
  assert.equal(
    indentJson('{"a":[9223372036854775807]}'),
    '{\n  "a": [\n    9223372036854775807\n  ]\n}',
  );
});

test("S1-QP-14: a part of a document is indented from its own depth", () => {
  assert.equal(indentJson('{"a":1,"b":{}}', 2), '{\n      "a": 1,\n      "b": {}\n    }');
});
