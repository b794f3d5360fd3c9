import assert from "node:assert/strict";
import { test } from "node:test";
import { cutPath, showJson } from "./shown-value.js";

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
