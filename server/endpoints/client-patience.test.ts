/** When a client that keeps a stream waiting counts as stalled, and when it is cut off. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ClientPatience } from "./client-patience.js";

const PATIENCE_MS = 60_000;

/** A patience, what it said and when, and a clock that is moved by hand. */
function start(context: TestContext) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let nowMs = 0;
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(`${what} at ${nowMs}`);
  const patience = new ClientPatience({ stalled: tell("stalled"), cut: tell("cut") }, () => nowMs);
  const pass = (ms: number) => {
    for (const end = nowMs + ms; nowMs < end; ) {
      nowMs++;
      context.mock.timers.tick(1);
    }
  };
  return { patience, told, pass };
}

test("a client that reads nothing is stalled after a second, and cut off at the end of the patience", (context) => {
  const { patience, told, pass } = start(context);
  patience.begin(PATIENCE_MS);
  pass(2 * PATIENCE_MS);
  assert.deepEqual(told, ["stalled at 1000", "cut at 60000"]);
});

test("each wait counts from its own begin, whatever the waits before it took", (context) => {
  const { patience, told, pass } = start(context);
  for (let wait = 0; wait < 10; wait++) {
    patience.begin(PATIENCE_MS);
    pass(700);
    patience.end();
    pass(7);
  }
  assert.deepEqual(told, []);
  patience.begin(PATIENCE_MS);
  pass(2_000);
  patience.end();
  patience.begin(PATIENCE_MS);
  pass(2_000);
  assert.deepEqual(told, ["stalled at 8070", "stalled at 10070"]);
});

test("a client whose request ends soon is cut off then and never stalled, though a timer is set to later", (context) => {
  const { patience, told, pass } = start(context);
  patience.begin(PATIENCE_MS);
  pass(10);
  patience.end();
  patience.begin(300);
  pass(2_000);
  assert.deepEqual(told, ["cut at 310"]);
});

test("nobody is told anything of a stream that is closed", (context) => {
  const { patience, told, pass } = start(context);
  patience.begin(PATIENCE_MS);
  patience.close();
  pass(2 * PATIENCE_MS);
  assert.deepEqual(told, []);
});
