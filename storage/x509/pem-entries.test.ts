/** Which entries of a PEM text count, by the rules of Go's encoding/pem. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pemEntries } from "./pem-entries.js";

test("S2-X509-04: an entry begins and ends a line, and what is none is passed over", () => {
  const begin = "-----BEGIN X-----";
  const end = "-----END X-----";
  const found = (text: string) =>
    [...pemEntries(text)].map(({ hasHeaders, der }) => [hasHeaders, der.toString()]);
  assert.deepEqual(found(`${begin}\nYWJj\n${end}`), [[false, "abc"]]);
  assert.deepEqual(found(`${begin} \r\nYWJj\r\n${end} \r\n`), [[false, "abc"]]);
  assert.deepEqual(found(`${begin}\na: b\n\nYWJj\n${end}\n`), [[true, "abc"]]);
  const none = [
    `x${begin}\nYWJj\n${end}`,
    `${begin}YWJj\n${end}`,
    `${begin}\nYWJj${end}`,
    `${begin}\nYWJj\n${end}x`,
    `${begin}\nYW!j\n${end}`,
  ];
  for (const text of none) assert.deepEqual(found(text), [], text);
  assert.deepEqual(found(`${begin}\nYWJj${end}\n${begin}\nZGVm\n${end}\n`), [[false, "def"]]);
});
