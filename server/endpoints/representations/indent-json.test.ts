/** Indented JSON equals compact JSON, digit by digit. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { indentedPieces, indentJson } from "./indent-json.js";

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

test("39.3: pieces are no longer than they have to be, and together the whole", () => {
  let deep: unknown = Array.from({ length: 300 }, (_, at) => ({ [`k${at}`]: [at, "x"] }));
  for (let level = 0; level < 200; level++) deep = { a: deep };
  const text = JSON.stringify(deep);
  const pieces = [...indentedPieces(text, 2)];
  assert.equal(pieces.join(""), indentJson(text, 2));
  assert.ok(pieces.length > 20, `${pieces.length}`);
  assert.ok(Math.max(...pieces.map(({ length }) => length)) < 20_000);
});

test("S1-QP-14: a part of a document is indented from its own depth", () => {
  assert.equal(indentJson('{"a":1,"b":{}}', 2), '{\n      "a": 1,\n      "b": {}\n    }');
});
