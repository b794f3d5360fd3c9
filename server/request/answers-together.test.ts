import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { AnswersTogether } from "./answers-together.js";

const BOUND = 64;

/** A response that notes what it sends. */
function response(sent: string[]): ServerResponse {
  return { end: (body: string) => sent.push(body) } as unknown as ServerResponse;
}

test("answers of a turn are written at its end, in their order", async () => {
  const answers = new AnswersTogether();
  const sent: string[] = [];
  answers.end(response(sent), "a");
  await Promise.resolve();
  answers.end(response(sent), "b");
  process.nextTick(() => answers.end(response(sent), "c"));
  assert.deepEqual(sent, []);

  await nextTurn();
  assert.deepEqual(sent, ["a", "b", "c"]);

  answers.end(response(sent), "d");
  await nextTurn();
  assert.deepEqual(sent, ["a", "b", "c", "d"]);
});

test("no more wait than the bound: what comes then lets them go", async () => {
  const answers = new AnswersTogether();
  const sent: string[] = [];
  const names = Array.from({ length: BOUND + 2 }, (_, index) => String(index));
  for (const name of names.slice(0, BOUND - 1)) answers.end(response(sent), name);
  assert.deepEqual(sent, []);
  for (const name of names.slice(BOUND - 1)) answers.end(response(sent), name);
  assert.deepEqual(sent, names.slice(0, BOUND));

  await nextTurn();
  assert.deepEqual(sent, names);
});
