import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOSE_MS_MAX, Cleanup, openAll } from "./cleanup.js";
import { ManualClock } from "./testing/manual-clock.js";

function open(opened: Cleanup, closed: string[], names: readonly string[]): void {
  for (const name of names) {
    opened.use({
      async [Symbol.asyncDispose]() {
        closed.push(name);
        if (name.startsWith("bad")) throw new Error(name);
      },
    });
  }
}

test("what was opened before a failure is closed in reverse order, and the failure is thrown", async () => {
  const closed: string[] = [];
  const opening = openAll(async (opened) => {
    open(opened, closed, ["store", "bad cache", "listener"]);
    throw new Error("port taken");
  });
  await assert.rejects(opening, /^Error: port taken$/);
  assert.deepEqual(closed, ["listener", "bad cache", "store"]);
});

test("what was opened without a failure stays open until it is closed, once", async () => {
  const closed: string[] = [];
  const all = await openAll(async (opened) => {
    open(opened, closed, ["store", "listener"]);
    return opened;
  });
  assert.deepEqual(closed, []);
  await Promise.all([all[Symbol.asyncDispose](), all[Symbol.asyncDispose]()]);
  assert.deepEqual(closed, ["listener", "store"]);
});

test("one thing that cannot be closed is told after the others were closed", async () => {
  const closed: string[] = [];
  const openWith = (names: readonly string[]) =>
    openAll(async (opened) => {
      open(opened, closed, names);
      return opened;
    });
  const one = await openWith(["a", "bad b", "c"]);
  await assert.rejects(one[Symbol.asyncDispose](), /^Error: bad b$/);
  const two = await openWith(["bad d", "bad e"]);
  await assert.rejects(two[Symbol.asyncDispose](), AggregateError);
  assert.deepEqual(closed, ["c", "bad b", "a", "bad e", "bad d"]);
});

test("39.7: what does not close is named, and the rest is closed; nothing waits behind it for ever", async () => {
  const clock = new ManualClock();
  const closed: string[] = [];
  const all = new Cleanup(clock);
  open(all, closed, ["store"]);
  all.defer(() => new Promise(() => {}), "the listener");
  open(all, closed, ["cache"]);
  const closing = all[Symbol.asyncDispose]();
  await clock.untilAsleep();
  while (all.waitsFor !== "the listener") await new Promise(setImmediate);
  assert.deepEqual(closed, ["cache"]);
  clock.advance(CLOSE_MS_MAX);
  await assert.rejects(closing, /^Error: the listener was not closed within 15 s$/);
  assert.deepEqual(closed, ["cache", "store"]);
  assert.equal(all.waitsFor, undefined);
});
