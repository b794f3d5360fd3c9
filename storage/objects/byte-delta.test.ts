import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { applyDelta, encodeDelta, textLengthOf } from "./byte-delta.js";

const edit = fc.record({
  at: fc.nat({ max: 400 }),
  removed: fc.nat({ max: 30 }),
  put: fc.string({ maxLength: 30 }),
});

test("the text follows from its base and the delta, whatever the two are", () => {
  const text = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom("", "a", "ab".repeat(200)).map((value) => Buffer.from(value)),
  );
  fc.assert(
    fc.property(text, text, fc.array(edit, { maxLength: 4 }), (base, other, edits) => {
      let edited = base.toString("latin1");
      for (const { at, removed, put } of edits) {
        edited = edited.slice(0, at) + put + edited.slice(at + removed);
      }
      for (const target of [other, Buffer.from(edited, "latin1")]) {
        assert.deepEqual(applyDelta(base, encodeDelta(base, target)), target);
      }
    }),
  );
});

test("a version that differs in its resourceVersion, a time and a value at its end takes few bytes", () => {
  const version = (revision: string, time: string, mark: string) =>
    Buffer.from(
      `{"metadata":{"resourceVersion":"${revision}","time":"${time}"},"data":{"payload":"${"x".repeat(1_000)}","mark":"${mark}"}}`,
    );
  const base = version("1042", "2026-01-01T10:00:00Z", "one");
  const text = version("1937", "2026-01-01T10:07:31Z", "another");
  const delta = encodeDelta(base, text);
  assert.ok(delta.length < 50, `${delta.length} bytes`);
  assert.deepEqual(applyDelta(base, delta), text);
  assert.equal(textLengthOf(Buffer.concat([base, delta]), base.length), text.length);
});
