import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { settle } from "../../storage/base/testing/manual-clock.js";
import { Lead } from "./lead.js";

test("work runs while the process leads, ends with the lead, and runs again with the next one", async () => {
  const lead = new Lead();
  const told: string[] = [];
  const ending = new AbortController();
  const running = lead.run(async (leading) => {
    told.push("begun");
    await once(leading, "abort");
    told.push("ended");
  }, ending.signal);
  await settle();
  assert.deepEqual(told, [], "another process leads");
  for (const count of [1, 2]) {
    const leading = new AbortController();
    const held = lead.hold(leading.signal);
    await settle();
    assert.deepEqual([told.length, told.at(-1), lead.isLeading], [2 * count - 1, "begun", true]);
    leading.abort();
    await held;
    await settle();
    assert.deepEqual([told.length, told.at(-1), lead.isLeading], [2 * count, "ended", false]);
  }
  ending.abort();
  await running;
  assert.equal(told.length, 4);
});

test("who leads ends with its own signal as well, and who waits for the lead stops waiting", async () => {
  const lead = new Lead();
  const leading = new AbortController();
  const held = lead.hold(leading.signal);
  const ending = new AbortController();
  const working = lead.run(async (signal) => {
    await once(signal, "abort");
  }, ending.signal);
  await settle();
  ending.abort();
  await working;
  assert.ok(lead.isLeading);
  leading.abort();
  await held;
  const stopping = new AbortController();
  const waiting = lead.run(() => Promise.reject(new Error("nobody leads")), stopping.signal);
  await settle();
  stopping.abort();
  await waiting;
});
