import assert from "node:assert/strict";
import { test } from "node:test";
import { splitYamlDocuments } from "./yaml-documents.js";

/** Each with what it has, told by the numbers in it. */
const TEXTS: readonly (readonly [text: string, documents: readonly string[]])[] = [
  ["a: 1\n---\na: 2\n", ["1", "2"]],
  ["--- # web\na: 1\n---\t# store: \u2028x\r\na: 2\r\n--- \r\n", ["1", "2"]],
  ["---#web\na: 1\n# nothing\n---\n# nothing\n---\n", ["1"]],
  ["a: |\n  ---\n  1\nb: '\n  --- 1'\n", ["1 1"]],
  ["--- 1\n", ["1"]],
  ['{"a": 1}\n{"a": 2}\n', ["1", "2"]],
  ['{\n  "a": {\n    "b": 1\n  }\n}\n\n{\n  "a": 2\n}\n---\n{"a": 3}', ["1", "2", "3"]],
  ['{"a":1}{"a":{"b":2}} {"a":"3}{\\\\"}\n{"a":"\\"}4"}', ["1", "2", "3", "4"]],
  ["{a: '1}{'}", ["1"]],
  ['{"items": [\n{"a": 1},\n{"a": 2}\n]}\n', ["1 2"]],
  ["{a: [\n{b: 1}]}\n", ["1"]],
];

test("documents end at lines of dashes, with a comment or without, and objects of JSON follow each other", () => {
  for (const [text, documents] of TEXTS) {
    const split = splitYamlDocuments(text);
    const numbers = split.map((one) => (one.match(/\d/g) ?? []).join(" "));
    assert.deepEqual(numbers, documents, JSON.stringify(text));
    // Each is found in the text, for the numbers of lines.
    assert.ok(split.every((one) => text.includes(one)));
  }
});
