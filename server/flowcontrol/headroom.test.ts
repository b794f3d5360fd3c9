import assert from "node:assert/strict";
import { test } from "node:test";
import { HELD_MS_MAX, Headroom } from "./headroom.js";

/** A thread on a clock of its own, asked after each piece of work or idle time. */
class Thread {
  active = 0;
  idle = 0;
  readonly #headroom: Headroom;

  constructor(busyShare: number) {
    this.#headroom = new Headroom(busyShare, () => ({ active: this.active, idle: this.idle }));
    this.isSpent();
  }

  isSpent(): boolean {
    return this.#headroom.isSpent(this.active + this.idle);
  }
  work(ms: number): boolean {
    this.active += ms;
    return this.isSpent();
  }
  beIdle(ms: number): boolean {
    this.idle += ms;
    return this.isSpent();
  }
}

test("work spends the headroom, and idle time gives it back by the wanted share", () => {
  const thread = new Thread(0.75);
  assert.ok(thread.work(3));
  assert.ok(thread.beIdle(0.9));
  assert.ok(!thread.beIdle(0.2));
});

test("a long idle time allows some milliseconds of work, and no more", () => {
  const thread = new Thread(0.5);
  thread.beIdle(1_000);
  assert.ok(!thread.work(4.9));
  assert.ok(thread.work(0.2));
});

test("a backlog that goes on whenever it may keeps the thread as busy as wanted", () => {
  for (const share of [0.25, 0.5, 0.65, 0.9]) {
    const thread = new Thread(share);
    for (let step = 0; step < 10_000; step++) {
      if (thread.isSpent()) thread.beIdle(0.1);
      else thread.work(0.3);
    }
    const busy = thread.active / (thread.active + thread.idle);
    assert.ok(Math.abs(busy - share) < 0.02, `${busy} instead of ${share}`);
  }
});

test("where the thread never rests, a backlog gets a turn in each interval", () => {
  const thread = new Thread(0.65);
  let turns = 0;
  for (let ms = 0; ms < 100 * HELD_MS_MAX; ms++) if (!thread.work(1)) turns++;

  assert.ok(turns >= 90 && turns <= 101, String(turns));
});

test("one long turn of the loop is forgiven soon", () => {
  const thread = new Thread(0.5);
  thread.work(10_000);
  assert.ok(!thread.beIdle(20.1));
});

test("a share of 1 wants no idle time", () => {
  const thread = new Thread(1);
  assert.ok(!thread.work(10_000));
});
