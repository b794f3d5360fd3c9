/** The Accept header's grammar, including clients' deviations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { covers, parseAccept } from "./accept.js";

test("media ranges come best first, equals in the order sent", () => {
  const ranges = parseAccept("text/*;q=0.5, Application/JSON;G=a;v=V2, */*;q=0.1, a/b;q=0");
  assert.deepEqual(
    ranges.map(({ type, subtype, quality }) => [type, subtype, quality]),
    [
      ["application", "json", 1],
      ["text", "*", 0.5],
      ["*", "*", 0.1],
    ],
  );
  assert.deepEqual(
    [...(ranges[0]?.parameters ?? [])],
    [
      ["g", "a"],
      ["v", "V2"],
    ],
  );
});

test("a header that is absent or empty accepts everything", () => {
  for (const accept of [undefined, "", " "]) {
    const [range] = parseAccept(accept);
    assert.ok(range !== undefined && covers(range, "application", "json"));
  }
});

test("any header text is parsed without failing, into ranges with a quality from 0 to 1", () => {
  const wild = fc.string({ unit: fc.constantFrom(...'a/*;=,q0." \t') });
  fc.assert(
    fc.property(fc.oneof(wild, fc.string()), (accept) => {
      for (const { type, subtype, quality } of parseAccept(accept)) {
        assert.ok(type !== "" && subtype !== "" && quality > 0 && quality <= 1);
      }
    }),
  );
});
