/** Compaction by several replicas, on a store that only records its calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Lifecycle } from "../base/lifecycle.js";
import { silentLogger } from "../base/logger.js";
import { ManualClock } from "../base/testing/manual-clock.js";
import { runCompactor } from "./compactor.js";
import { StorageError } from "./errors.js";
import { type Revision, type RevisionedStore, type Transaction, toRevision } from "./store.js";

const KEY = "/registry/.compaction";
const INTERVAL_MS = 300_000;

/** One key and a counter. */
class OneKeyStore {
  revision = 100;
  modRevision = 0;
  value = "";
  compacted: number[] = [];
  isDown = false;
  isForbidden = false;
  isFull = false;

  get asStore(): RevisionedStore {
    return this as unknown as RevisionedStore;
  }

  async get() {
    if (this.isDown) throw new StorageError("Unavailable", "down");
    return { kv: this.#kv(), revision: toRevision(this.revision) };
  }

  async commit({ compares, operations }: Transaction) {
    if (this.isFull) throw new StorageError("NoSpace", "full");
    if (compares[0]?.modRevision !== this.modRevision) {
      return { succeeded: false, revision: toRevision(this.revision), current: [this.#kv()] };
    }
    const [operation] = operations;
    if (operation?.type === "put") this.value = Buffer.from(operation.value).toString();
    this.modRevision = ++this.revision;
    return { succeeded: true, revision: toRevision(this.revision) };
  }

  async currentRevision() {
    return toRevision(this.revision);
  }

  async compact(revision: Revision) {
    if (this.isForbidden) throw new StorageError("Refused", "not for you");
    this.compacted.push(revision);
  }

  #kv() {
    if (this.modRevision === 0) return undefined;
    return { key: KEY, value: Buffer.from(this.value), modRevision: toRevision(this.modRevision) };
  }
}

test("CARD-10, S1-LIM-01: three replicas compact once per interval, to where the round before was", async () => {
  const store = new OneKeyStore();
  const clock = new ManualClock();
  const lifecycle = new Lifecycle(silentLogger);
  const options = {
    store: store.asStore,
    key: KEY,
    intervalMs: INTERVAL_MS,
    clock,
    logger: silentLogger,
  };
  for (const name of ["a", "b", "c"])
    lifecycle.spawn(name, "restart", (signal) => runCompactor(options, signal));
  await clock.untilAsleep(3);
  assert.deepEqual(store.compacted, [], "nobody forgets anything in the first interval");

  const expected: number[] = [];
  for (let round = 0; round < 4; round++) {
    expected.push(Number(store.value));
    store.revision += 1_000;
    clock.advance(INTERVAL_MS);
    await clock.untilAsleep(3);
    assert.deepEqual(store.compacted, expected);
  }
  await lifecycle[Symbol.asyncDispose]();
});

test("CARD-10: a round in which the store is down is made up for by the next", async () => {
  const store = new OneKeyStore();
  const clock = new ManualClock();
  const lifecycle = new Lifecycle(silentLogger);
  lifecycle.spawn("compactor", "restart", (signal) =>
    runCompactor(
      { store: store.asStore, key: KEY, intervalMs: INTERVAL_MS, clock, logger: silentLogger },
      signal,
    ),
  );
  await clock.untilAsleep();
  const first = Number(store.value);
  store.isDown = true;
  clock.advance(INTERVAL_MS);
  await clock.untilAsleep();
  assert.deepEqual(store.compacted, []);
  store.isDown = false;
  clock.advance(INTERVAL_MS);
  await clock.untilAsleep();
  assert.deepEqual(store.compacted, [first]);
  await lifecycle[Symbol.asyncDispose]();
});

test("a store that refuses compaction is told of once, and asked again", async () => {
  const store = new OneKeyStore();
  store.isForbidden = true;
  const clock = new ManualClock();
  const lifecycle = new Lifecycle(silentLogger);
  const told: string[] = [];
  const logger = { ...silentLogger, warn: (_: unknown, text: string) => void told.push(text) };
  const options = { store: store.asStore, key: KEY, intervalMs: INTERVAL_MS, clock, logger };
  lifecycle.spawn("compactor", "restart", (signal) => runCompactor(options, signal));
  const play = async (rounds: number) => {
    for (let round = 0; round < rounds; round++) {
      await clock.untilAsleep();
      clock.advance(INTERVAL_MS);
    }
    await clock.untilAsleep();
  };
  await play(8);
  assert.deepEqual(told, ["compaction failed; it is tried again"]);
  store.isForbidden = false;
  await play(4);
  assert.ok(store.compacted.length > 0);
  await lifecycle[Symbol.asyncDispose]();
});

test("H-damage: a store without room, not even for the key, is compacted to where the round before was", async () => {
  const store = new OneKeyStore();
  const clock = new ManualClock();
  await using lifecycle = new Lifecycle(silentLogger);
  const options = { store: store.asStore, key: KEY, intervalMs: INTERVAL_MS, clock };
  lifecycle.spawn("compactor", "restart", (signal) =>
    runCompactor({ ...options, logger: silentLogger }, signal),
  );
  await clock.untilAsleep();
  store.isFull = true;
  const seen: number[] = [];
  for (let round = 0; round < 3; round++) {
    store.revision += 500;
    seen.push(store.revision);
    clock.advance(INTERVAL_MS);
    await clock.untilAsleep();
  }
  assert.deepEqual(store.compacted, seen.slice(0, 2));
});
