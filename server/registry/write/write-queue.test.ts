/**
 * Turns of writers that contend for one object: their order, and their failure when the store is
 * silent.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StorageError } from "../../../storage/kv/errors.js";
import { serviceUnavailable } from "../../api/status.js";
import { storageFailure } from "../../api/storage-failure.js";
import { outageIn, WriteQueue } from "./write-queue.js";

const NEVER = new AbortController().signal;

test("writers of one key take turns in their order, and nothing is kept afterwards", async () => {
  const turns = new WriteQueue();
  const order: number[] = [];
  const first = await turns.enter("a", NEVER);
  const others = [1, 2, 3].map(async (n) => {
    const end = await turns.enter("a", NEVER);
    order.push(n);
    end();
  });
  assert.equal(turns.isContested("b"), false);
  assert.deepEqual(order, []);
  first();
  await Promise.all(others);
  assert.deepEqual(order, [1, 2, 3]);
  assert.equal(turns.size, 0);
});

test("who waited for the store in vain takes those behind along", async () => {
  const turns = new WriteQueue();
  const end = await turns.enter("a", NEVER);
  const waiting = [1, 2, 3].map(() => turns.enter("a", NEVER));
  const outage = serviceUnavailable("the store is silent");
  end(outage);
  for (const turn of waiting) await assert.rejects(turn, outage);
  assert.equal(turns.size, 0);
});

test("what a webhook denies with the code of an outage fails nobody behind", () => {
  assert.equal(outageIn(serviceUnavailable("a webhook denies it"), NEVER), undefined);
  const silent = storageFailure(new StorageError("Unavailable", "silent"));
  assert.equal(outageIn(silent, NEVER)?.code, 503);
});

test("a writer whose time is over leaves the queue; its place is not waited for", async () => {
  const turns = new WriteQueue();
  const caller = new AbortController();
  const end = await turns.enter("a", NEVER);
  const left = turns.enter("a", caller.signal);
  const next = turns.enter("a", NEVER);
  const reason = new Error("its time is over");
  caller.abort(reason);
  await assert.rejects(left, reason);
  end();
  (await next)();
  assert.equal(turns.size, 0);
});
