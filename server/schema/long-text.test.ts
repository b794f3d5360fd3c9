import assert from "node:assert/strict";
import { test } from "node:test";
import { LongText } from "./long-text.js";

test("39.3: a text of stretches is what was added, in order", () => {
  const text = new LongText();
  assert.equal(`${text}`, "");
  text.add("a");
  text.add("b");
  text.endStretch();
  text.endStretch();
  text.add("c");
  assert.equal(`[${text}]`, "[abc]");
  text.add("d");
  assert.equal(text.toString(), "abcd");
});
