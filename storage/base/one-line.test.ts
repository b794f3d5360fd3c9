import assert from "node:assert/strict";
import { test } from "node:test";
import { oneLine } from "./one-line.js";

test("an error is one line, without its stack and its causes", () => {
  assert.equal(oneLine(new Error("a\n  at b\tc ", { cause: new Error("secret") })), "a at b c");
  assert.equal(oneLine("text"), "text");
  assert.equal(oneLine(undefined), "undefined");
});
