import assert from "node:assert/strict";
import { test } from "node:test";
import type { Revision } from "../kv/store.js";
import { FeedLag } from "./feed-lag.js";

const rev = (revision: number) => revision as Revision;

test("the lag is from shortly before the answer to the arrival, whichever comes first", () => {
  const lags: number[] = [];
  const lag = new FeedLag((ms) => lags.push(ms));
  lag.answered(0, 4);
  // Asked at 10, answered at 30; the shortest round trip is 4, so it was committed at 28.
  lag.committed(rev(5), 10, 30);
  lag.arrived(rev(4), 31);
  assert.deepEqual(lags, []);
  lag.arrived(rev(5), 33);
  // The next commit's event arrives before its answer.
  lag.arrived(rev(7), 40);
  lag.committed(rev(6), 35, 41);
  assert.deepEqual(lags, [5, 1]);
  lag.arrived(rev(8), 50);
  lag.committed(rev(8), 51, 55);
  assert.equal(lag.recentMs, 1, "the median of 5, 1 and 0");
});

test("an own commit has its own time, one of others what it took of late", () => {
  const lag = new FeedLag(() => {});
  lag.committed(rev(5), 10, 10);
  lag.arrived(rev(5), 13);
  lag.arrived(rev(6), 20);
  assert.equal(lag.commitOf(rev(5), 13), 10);
  assert.equal(lag.commitOf(rev(6), 20), 17);
});

test("an event that is here before the estimated commit took no time", () => {
  const lags: number[] = [];
  const lag = new FeedLag((ms) => lags.push(ms));
  lag.arrived(rev(5), 10);
  lag.committed(rev(5), 11, 12);
  assert.deepEqual(lags, [0]);
});

test("what is remembered is bounded, while commits stay away and while they come", () => {
  const lags: number[] = [];
  const lag = new FeedLag((ms) => lags.push(ms));
  for (let i = 1; i <= 3_000; i++) lag.committed(rev(i), i, i);
  assert.equal(lag.commitOf(rev(1), 9), 9, "forgotten");
  assert.equal(lag.commitOf(rev(3_000), 9), 3_000);
  lag.arrived(rev(3_000), 4_000);
  assert.equal(lags.length, 1_024);
  for (let i = 3_001; i <= 6_000; i++) lag.arrived(rev(i), i);
  lag.committed(rev(5_990), 6_000, 6_000);
  assert.equal(lags.length, 1_025);
});

test("a round trip that was short long ago says nothing of today's network", () => {
  const lag = new FeedLag(() => {});
  lag.answered(0, 2);
  for (const [asked, now] of [
    [40_000, 40_020],
    [80_000, 80_020],
  ] as const)
    lag.answered(asked, now);
  lag.committed(rev(5), 80_100, 80_200);
  assert.equal(lag.commitOf(rev(5), 0), 80_190);
});
