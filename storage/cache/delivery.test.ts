/** When woken watchers get their events: at the end of the turn, or with the writes that are under way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, settle } from "../base/testing/manual-clock.js";
import { Delivery } from "./delivery.js";
import type { Watcher } from "./watcher.js";

/** A partition of which only the deliveries are seen; events wake all watchers that are not awake. */
class Bench {
  readonly clock = new ManualClock();
  /** Own writes with the store. */
  underWay = 0;
  /** Pieces that watchers got since the last look. */
  pieces = 0;
  readonly #awake = new Set<Watcher>();
  readonly #watchers: readonly Watcher[];
  readonly #delivery: Delivery;

  constructor(watchers: number) {
    this.#watchers = Array.from({ length: watchers }, (_, id) => ({ id }) as unknown as Watcher);
    this.#delivery = new Delivery({
      clock: this.clock,
      isExpecting: () => this.underWay > 0,
      deliver: (watcher) => {
        this.pieces++;
        assert.ok(this.#awake.delete(watcher), "a watcher is delivered to once for each waking");
      },
    });
  }

  event(): void {
    for (const watcher of this.#watchers) {
      if (this.#awake.has(watcher)) continue;
      this.#awake.add(watcher);
      this.#delivery.markAwake(watcher);
    }
    this.#delivery.appended();
  }

  /** An event of an own write. */
  ownEvent(): void {
    this.underWay--;
    this.event();
  }

  /** What was delivered by the end of the turn. */
  async delivered(): Promise<number> {
    await settle();
    const { pieces } = this;
    this.pieces = 0;
    return pieces;
  }
}

test("all events of a turn are one piece for each watcher", async () => {
  const bench = new Bench(500);
  bench.event();
  bench.event();
  assert.equal(bench.pieces, 0, "not within the event");
  assert.equal(await bench.delivered(), 500);
});

test("an event to many watchers waits for the writes under way, and leaves with the last of them", async () => {
  const bench = new Bench(500);
  bench.underWay = 3;
  for (let write = 0; write < 2; write++) {
    bench.ownEvent();
    assert.equal(await bench.delivered(), 0);
  }
  bench.ownEvent();
  assert.equal(await bench.delivered(), 500);
  bench.clock.advance(1_000);
  assert.equal(await bench.delivered(), 0, "once");
});

test("events wait no longer than their delivery takes, whatever becomes of the writes", async () => {
  for (const [watchers, waitMs] of [
    [200, 2],
    [500, 5],
    [5_000, 5],
  ] as const) {
    const bench = new Bench(watchers);
    bench.underWay = 1;
    bench.event();
    assert.equal(await bench.delivered(), 0);
    bench.clock.advance(waitMs - 1);
    // Later events of others do not put it off.
    bench.event();
    assert.equal(await bench.delivered(), 0);
    bench.clock.advance(1);
    assert.equal(await bench.delivered(), watchers);
  }
});

test("a wait that is over early does not end the next one", async () => {
  const bench = new Bench(500);
  bench.underWay = 2;
  bench.event();
  assert.equal(await bench.delivered(), 0);
  bench.clock.advance(3);
  bench.underWay = 0;
  bench.event();
  assert.equal(await bench.delivered(), 500);
  bench.underWay = 1;
  bench.event();
  assert.equal(await bench.delivered(), 0);
  bench.clock.advance(4);
  assert.equal(await bench.delivered(), 0);
  bench.clock.advance(1);
  assert.equal(await bench.delivered(), 500);
});

test("events to few watchers never wait", async () => {
  const bench = new Bench(99);
  bench.underWay = 10;
  bench.event();
  assert.equal(await bench.delivered(), 99);
});

test("S1-WATCH-24: watchers that are woken while others are delivered to get theirs in the next turn", async () => {
  let isFirst = true;
  const delivered: number[] = [];
  const delivery = new Delivery({
    clock: new ManualClock(),
    isExpecting: () => false,
    deliver: (watcher) => {
      delivered.push((watcher as unknown as { id: number }).id);
      // A burst is limited: the watcher goes on in the next turn.
      if (isFirst) delivery.markAwake(watcher);
      isFirst = false;
    },
  });
  delivery.markAwake({ id: 1 } as unknown as Watcher);
  delivery.markAwake({ id: 2 } as unknown as Watcher);
  await settle();
  assert.deepEqual(delivered, [1, 2, 1]);
});

test("39.3: a delivery to many watchers is cut into turns, with nobody left out and nobody twice", async () => {
  let ms = 0;
  const delivered: number[] = [];
  const delivery = new Delivery({
    clock: new ManualClock(),
    isExpecting: () => false,
    deliver: (watcher) => {
      // What a selector may take that looks at thousands of labels.
      ms += 3;
      delivered.push((watcher as unknown as { id: number }).id);
    },
    time: { now: () => ms },
  });
  const wake = (id: number) => delivery.markAwake({ id } as unknown as Watcher);
  for (let id = 0; id < 10; id++) wake(id);
  const perTurn: number[] = [];
  for (let turn = 0; turn < 9; turn++) {
    const before = delivered.length;
    await new Promise((resolve) => setImmediate(resolve));
    perTurn.push(delivered.length - before);
    // Others wake meanwhile.
    if (turn === 1) for (let id = 10; id < 13; id++) wake(id);
  }
  assert.ok(Math.max(...perTurn) <= 2, perTurn.join(" "));
  assert.deepEqual(
    delivered,
    Array.from({ length: 13 }, (_, id) => id),
  );
});
