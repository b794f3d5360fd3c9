/** Watches are told about a shutdown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { type Tick, WatchTicker } from "./watch-ticker.js";

test("S1-WATCH-27: a watch that is opened while the server goes down is ended as well", async () => {
  const ticker = new WatchTicker(new ManualClock());
  const ended: string[] = [];
  const open = (name: string) => {
    const end = () => {
      ended.push(name);
    };
    ticker.add({ resource: {} as Tick["resource"], tick() {}, endHere() {}, finish() {}, end });
  };
  open("before");
  ticker.endAll();
  assert.deepEqual(ended, ["before"]);
  open("after");
  // The earlier watch has begun its answer.
  assert.deepEqual(ended, ["before"]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(ended, ["before", "after"]);
  assert.equal(ticker.size, 0);
});
