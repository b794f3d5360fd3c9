import assert from "node:assert/strict";
import { test } from "node:test";
import { cutPath, firstOf, showJson } from "./shown-value.js";

test("a short value is shown as JSON, with every digit of an integer (D11)", () => {
  const value = { a: [1, "x\n", null, { b: true }], c: 9007199254740993n, d: undefined };
  assert.equal(showJson(value), '{"a":[1,"x\\n",null,{"b":true}],"c":9007199254740993}');
  assert.equal(showJson(undefined), "null");
});

test("a long value is cut while it is shown (H3)", () => {
  for (const value of [
    "k".repeat(1_000_000),
    Array.from({ length: 300_000 }, () => 1),
    { ["k".repeat(1_000_000)]: 1, other: "x".repeat(1_000_000) },
    Array.from({ length: 1_000 }, () => ({ name: "x".repeat(1_000) })),
  ]) {
    const shown = showJson(value);
    assert.ok(shown.length < 17_000 && shown.includes("..."), String(shown.length));
  }
  assert.equal(cutPath("p".repeat(5_000)).length, 1_027);
  assert.equal(cutPath("spec.replicas"), "spec.replicas");
});

test("H7: what is cut never ends in half of a character, which could not be stored", () => {
  assert.equal(firstOf("a😀b", 4), "a😀b");
  assert.equal(firstOf("a😀b", 3), "a😀");
  assert.equal(firstOf("a😀b", 2), "a");
  assert.equal(cutPath("😀".repeat(1_000)), `${"😀".repeat(512)}...`);
  assert.equal(cutPath(`a${"😀".repeat(1_000)}`), `a${"😀".repeat(511)}...`);
});
