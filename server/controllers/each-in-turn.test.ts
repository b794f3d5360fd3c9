/** Work on many: one that is refused holds up no other, an outage ends it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StorageError } from "../../storage/kv/errors.js";
import { conflict, forbidden, serviceUnavailable } from "../api/status.js";
import { storeUnavailable } from "../api/storage-failure.js";
import { eachInTurn } from "./each-in-turn.js";

const LEASES = { group: "coordination.k8s.io", resource: "leases" };
const race = conflict(LEASES, "lock");
const refusal = forbidden(LEASES, "lock", "a policy refuses it");

async function passed(failures: Readonly<Record<number, unknown>>, atOnce?: number) {
  const done: number[] = [];
  const work = async (item: number) => {
    if (failures[item] !== undefined) throw failures[item];
    done.push(item);
  };
  const error = await eachInTurn([1, 2, 3, 4], work, atOnce).catch((thrown: unknown) => thrown);
  return { done, error };
}

test("what is refused holds up nothing behind it, and is told at the end rather than a lost race", async () => {
  assert.deepEqual(await passed({}), { done: [1, 2, 3, 4], error: undefined });
  assert.deepEqual(await passed({ 2: race }), { done: [1, 3, 4], error: race });
  assert.deepEqual(await passed({ 1: race, 3: refusal }), { done: [2, 4], error: refusal });
});

test("a webhook that denies one with the code of an outage holds up no other, and each refusal is told", async () => {
  const denial = serviceUnavailable("a webhook denies it");
  assert.deepEqual(await passed({ 2: denial }), { done: [1, 3, 4], error: denial });
  const { done, error } = await passed({ 1: race, 2: denial, 3: refusal });
  assert.deepEqual(done, [4]);
  assert.equal((error as Error).message, `2 failed: ${denial.message}; ${refusal.message}`);
});

test("an outage of the store, and what is no refusal at all, end it at once", async () => {
  const outage = storeUnavailable(new StorageError("Unavailable", "down"));
  for (const error of [outage, new Error("a defect")]) {
    assert.deepEqual(await passed({ 2: error }), { done: [1], error });
  }
});

test("as many as are asked for go on at once, and none behind an outage", async () => {
  const begun: number[] = [];
  const goesOn: (() => void)[] = [];
  const work = (item: number) => {
    begun.push(item);
    return new Promise<void>((resolve) => goesOn.push(resolve));
  };
  const all = eachInTurn([1, 2, 3], work, 2);
  assert.deepEqual(begun, [1, 2]);
  goesOn.shift()?.();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(begun, [1, 2, 3]);
  for (const one of goesOn) one();
  await all;
  const down = storeUnavailable(new StorageError("Unavailable", "down"));
  assert.deepEqual(await passed({ 1: down }, 2), { done: [2], error: down });
});
