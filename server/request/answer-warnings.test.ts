/** Warnings of an answer: each once, none that breaks a header, and together no more than clients take. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerWarnings } from "./answer-warnings.js";

function shown(...texts: string[]): readonly string[] {
  const warnings = new AnswerWarnings();
  for (const text of texts) warnings.add(text);
  return warnings.texts;
}

test("a text is shown once, without control characters", () => {
  assert.deepEqual(shown("a", "", "b", "a"), ["a", "b"]);
  assert.deepEqual(shown("a\r\nX-Evil: 1", "\u001b[31mred\u0085", "  c  "), [
    "a X-Evil: 1",
    " [31mred ",
    "  c  ",
  ]);
});

test("a text that is said twice is shown once, also when it is cut", () => {
  assert.deepEqual(shown("y".repeat(5000), "y".repeat(5000)), ["y".repeat(256)]);
});

test("within the budget nothing is cut, beyond it all are", () => {
  const [short, full] = ["s".repeat(300), "f".repeat(4096)];
  assert.deepEqual(shown(full), [full]);
  assert.deepEqual(shown(short, full), [short.slice(0, 256), full.slice(0, 256)]);
  // Counted and cut in code points.
  assert.deepEqual(shown("😀".repeat(1500)), ["😀".repeat(1500)]);
  assert.deepEqual(shown("😀".repeat(5000)), ["😀".repeat(256)]);
});

test("what comes after the budget is left out", () => {
  const texts = Array.from({ length: 100 }, (_, index) => `${index}-`.padEnd(150, "z"));
  const kept = shown(...texts);
  assert.deepEqual(kept, texts.slice(0, kept.length));
  const length = kept.join("").length;
  assert.ok(length >= 4096 && length < 4096 + 150, `${length}`);
});
