import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { followBacklogs } from "./heap-growth.js";

const MIB = 1024 * 1024;
const SECOND = 1_000;

/** Looks at backlogs and memory that the test sets, second by second. */
class Follower {
  readonly clock = new ManualClock();
  readonly #controller = new AbortController();
  readonly percents: number[] = [];
  heldBackMs = Number.NEGATIVE_INFINITY;
  usedMiB = 60;
  readonly #ended = followBacklogs(
    {
      clock: this.clock,
      heldBackMs: () => this.heldBackMs,
      usedBytes: () => this.usedMiB * MIB,
      setPercent: (percent) => this.percents.push(percent),
    },
    this.#controller.signal,
  );

  async seconds(count: number): Promise<void> {
    await this.clock.advanceInSteps(count * SECOND, SECOND);
  }

  /** A backlog is held back during so many seconds. */
  async holdBack(count: number): Promise<void> {
    for (let done = 0; done < count; done++) {
      this.heldBackMs = this.clock.monotonic();
      await this.seconds(1);
    }
  }

  async end(): Promise<void> {
    this.#controller.abort();
    await assert.rejects(this.#ended, { name: "AbortError" });
  }
}

test("while a backlog is held back the heap may grow further, and for a while behind it", async () => {
  const follower = new Follower();
  await follower.seconds(5);
  assert.deepEqual(follower.percents, []);

  await follower.holdBack(3);
  assert.deepEqual(follower.percents, [200]);
  await follower.seconds(8);
  assert.deepEqual(follower.percents, [200]);
  await follower.seconds(2);
  assert.deepEqual(follower.percents, [200, 30]);

  await follower.holdBack(1);
  assert.deepEqual(follower.percents, [200, 30, 200]);
  await follower.end();
});

test("by how much is bounded: what is alive is the least of the last looks, the rest is garbage", async () => {
  const follower = new Follower();
  follower.usedMiB = 100;
  await follower.holdBack(1);
  follower.usedMiB = 220;
  await follower.holdBack(5);
  assert.deepEqual(follower.percents, [128]);

  follower.usedMiB = 1_000;
  await follower.holdBack(15);
  assert.deepEqual(follower.percents.slice(-1), [30]);
  await follower.end();
});
