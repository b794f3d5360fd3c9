/** Large events of watches that nobody reads do not fill the memory. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../../storage/kv/store.js";
import { createLargeEventsOfProcess, LargeEvents } from "./large-events.js";

const MIB = 1024 * 1024;
const HEAD = Buffer.from("{");
/** Memory that nobody touches costs nothing. */
const event = (mebibytes: number) => [HEAD, Buffer.from(new ArrayBuffer(mebibytes * MIB))];

test("39: beyond the bound that watch ends whose event has lain for longest, and what is shared counts once", async () => {
  const events = new LargeEvents();
  const cut: string[] = [];
  const hold = (name: string, parts: readonly Buffer[]) =>
    events.hold(parts, () => void cut.push(name));
  const shared = event(20);
  const releaseA = hold("a", shared);
  hold("b", shared);
  const releaseC = hold("c", event(20));
  assert.equal(events.heldBytes, 40 * MIB);
  releaseC();
  releaseC();
  hold("d", event(30));
  assert.equal(events.heldBytes, 50 * MIB);
  // Both that share have to go before their memory does.
  hold("e", event(20));
  assert.equal(events.heldBytes, 50 * MIB);
  assert.deepEqual(cut, [], "nobody ends amid a delivery");
  await new Promise(setImmediate);
  assert.deepEqual(cut, ["a", "b"]);
  releaseA();
  hold("f", event(70));
  await new Promise(setImmediate);
  assert.deepEqual(cut, ["a", "b", "d", "e", "f"], "larger than the bound");
  assert.equal(events.heldBytes, 0);
});

test("39: the newest of those that wait goes on first, one in each turn, and nobody is overtaken by who came later", async () => {
  const events = new LargeEvents();
  const gone: number[] = [];
  const ask = (revision: number) =>
    void events.turn(toRevision(revision)).then(() => gone.push(revision));
  for (const revision of [3, 7, 5]) ask(revision);
  const perTurn: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    await new Promise(setImmediate);
    perTurn.push(gone.length);
    if (turn === 0) for (const revision of [4, 9]) ask(revision);
  }
  assert.deepEqual(gone, [7, 5, 3, 9, 4]);
  assert.deepEqual(perTurn, [1, 2, 3, 4, 5]);
  assert.equal(events.begun, 5);
});

test("44: large events of all control planes have one bound, and the watches of the one that holds most end", async () => {
  const together = createLargeEventsOfProcess();
  const [quiet, loud] = [new LargeEvents(together), new LargeEvents(together)];
  const cut: string[] = [];
  quiet.hold(event(20), () => void cut.push("quiet"));
  for (let index = 0; index < 6; index++)
    loud.hold(event(10), () => void cut.push(`loud ${index}`));
  await new Promise(setImmediate);
  assert.deepEqual(cut, ["loud 0", "loud 1"]);
  assert.equal(together.memory.bytes, 60 * MIB);
  loud.close();
  assert.equal(together.memory.bytes, 20 * MIB);
});

test("44: a control plane with many watches in the past does not keep the watch of another one waiting", async () => {
  const together = createLargeEventsOfProcess();
  const [quiet, loud] = [new LargeEvents(together), new LargeEvents(together)];
  const gone: string[] = [];
  for (let revision = 1; revision <= 50; revision++) {
    void loud.turn(toRevision(revision)).then(() => gone.push("loud"));
  }
  await quiet.turn(toRevision(1)).then(() => gone.push("quiet"));
  assert.deepEqual(gone, ["loud", "quiet"]);
});
