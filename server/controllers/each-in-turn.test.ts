/** Work on many: one that is refused holds up no other, an outage ends it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { conflict, forbidden, serviceUnavailable } from "../api/status.js";
import { eachInTurn } from "./each-in-turn.js";

const LEASES = { group: "coordination.k8s.io", resource: "leases" };
const race = conflict(LEASES, "lock");
const refusal = forbidden(LEASES, "lock", "a policy refuses it");

async function passed(failures: Readonly<Record<number, unknown>>) {
  const done: number[] = [];
  const work = async (item: number) => {
    if (failures[item] !== undefined) throw failures[item];
    done.push(item);
  };
  const error = await eachInTurn([1, 2, 3, 4], work).catch((thrown: unknown) => thrown);
  return { done, error };
}

test("what is refused holds up nothing behind it, and is told at the end rather than a lost race", async () => {
  assert.deepEqual(await passed({}), { done: [1, 2, 3, 4], error: undefined });
  assert.deepEqual(await passed({ 2: race }), { done: [1, 3, 4], error: race });
  assert.deepEqual(await passed({ 1: race, 3: refusal }), { done: [2, 4], error: refusal });
});

test("an outage of the store, and what is no refusal at all, end it at once", async () => {
  for (const error of [serviceUnavailable("down"), new Error("a defect")]) {
    assert.deepEqual(await passed({ 2: error }), { done: [1], error });
  }
});
