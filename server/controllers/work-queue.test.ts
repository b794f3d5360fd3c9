/** The queue: unique keys, only moved forward, and growing delays after failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ShortTurns } from "../../storage/base/short-turns.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import { WorkQueue } from "./work-queue.js";

function open() {
  const clock = new ManualClock();
  const queue = new WorkQueue(clock);
  const handled: string[] = [];
  const stop = new AbortController();
  const running = queue.run(async (key) => {
    handled.push(key);
  }, stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { clock, queue, handled, end };
}

test("a key that waits is not queued twice, and can only come forward", async () => {
  const { clock, queue, handled, end } = open();
  queue.add("a", 5_000);
  queue.add("a", 9_000);
  queue.add("b", 8_000);
  queue.add("b", 1_000);
  assert.equal(queue.size, 2);
  await clock.advanceInSteps(2_000);
  assert.deepEqual(handled, ["b"]);
  await clock.advanceInSteps(4_000);
  assert.deepEqual(handled, ["b", "a"]);
  await clock.advanceInSteps(10_000);
  assert.deepEqual(handled, ["b", "a"]);
  queue.add("c");
  await settle();
  assert.deepEqual(handled, ["b", "a", "c"]);
  await end();
});

test("retries come later and later, up to a bound, until the key is forgotten", async () => {
  const { clock, queue, handled, end } = open();
  for (let i = 0; i < 10; i++) queue.forget("other");
  queue.retry("a");
  await clock.advanceInSteps(500, 100);
  assert.equal(handled.length, 1);
  for (let i = 0; i < 12; i++) queue.retry("a");
  await clock.advanceInSteps(11_000);
  assert.equal(handled.length, 2);
  queue.retry("a");
  await clock.advanceInSteps(5_000);
  assert.equal(handled.length, 2);
  queue.forget("a");
  queue.retry("a");
  await clock.advanceInSteps(500, 100);
  assert.equal(handled.length, 3);
  await end();
});

test("several keys are looked at at a time, one key never twice at once", async () => {
  const queue = new WorkQueue(new ManualClock());
  const active = new Set<string>();
  const handled: string[] = [];
  const finish = new Map<string, () => void>();
  const stop = new AbortController();
  const running = queue.run(
    async (key) => {
      assert.equal(active.has(key), false);
      active.add(key);
      await new Promise<void>((resolve) => finish.set(key, resolve));
      active.delete(key);
      handled.push(key);
    },
    stop.signal,
    2,
  );
  for (const key of ["a", "b", "c"]) queue.add(key);
  await settle();
  assert.deepEqual([...active], ["a", "b"]);
  queue.add("a");
  queue.add("a", 1_000);
  assert.equal(queue.pending, 4);
  finish.get("b")?.();
  await settle();
  assert.deepEqual([...active], ["a", "c"]);
  finish.get("a")?.();
  await settle();
  assert.deepEqual([...active], ["c", "a"]);
  stop.abort();
  finish.get("c")?.();
  finish.get("a")?.();
  await running;
  assert.deepEqual(handled, ["b", "a", "c", "a"]);
});

test("39.3: keys whose handling waits for nothing leave the thread to others after some milliseconds", async () => {
  let ms = 0;
  // A millisecond passes at each look.
  const turns = new ShortTurns({ now: () => ms++ });
  const queue = new WorkQueue(new ManualClock(), turns);
  const seen: string[] = [];
  const stop = new AbortController();
  for (const key of "abcdefghij") queue.add(key);
  setImmediate(() => seen.push("another"));
  const running = queue.run(async (key) => void seen.push(key), stop.signal, 3);
  while (queue.pending > 0) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await running;
  assert.ok(seen.indexOf("another") > 0 && seen.indexOf("another") < 5, seen.join(" "));
  assert.equal(seen.filter((key) => key !== "another").join(""), "abcdefghij");
});

test("39.2: due times that were brought forward again and again are not kept", async () => {
  const { clock, queue, handled, end } = open();
  for (let at = 0; at < 5_000; at++) {
    queue.add("a", 300_000);
    queue.add("b", 600_000 - at);
    queue.add("a");
    if (at % 500 === 0) await settle();
  }
  await settle();
  const before = handled.length;
  await clock.advanceInSteps(700_000, 50_000);
  assert.deepEqual(handled.slice(before), ["b"]);
  await end();
});
