/** What happens behind the end of a response. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RequestContext } from "../request/request-state.js";
import { onResponseEnd } from "./response-end.js";

function answering(payload?: unknown): RequestContext {
  const res = new EventEmitter();
  return { respond: false, res, state: { payload } } as unknown as RequestContext;
}

test("all who wait for the end of a streamed answer share one listener, and are called once, in their order", () => {
  const ctx = answering();
  const called: number[] = [];
  for (let index = 0; index < 20; index++) onResponseEnd(ctx, () => called.push(index));
  assert.equal(ctx.res.listenerCount("close"), 1);
  assert.deepEqual(called, []);
  ctx.res.emit("close");
  ctx.res.emit("close");
  assert.deepEqual(called, [...Array(20).keys()]);
});

test("44: a streamed answer that is over does not outlive collections of the new space", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" | "major" }) => void;
  const oldBytes = () =>
    getHeapSpaceStatistics().find((space) => space.space_name === "old_space")?.space_used_size ??
    Number.NaN;
  const [answers, bytesEach] = [2_000, 4_096];
  const answer = () => {
    const ctx = answering(Array(bytesEach / 8).fill(0));
    onResponseEnd(ctx, () => ctx.state);
    ctx.res.emit("close");
  };
  // What lives as long as the process is in the old space then.
  answer();
  collect({ type: "major" });
  const before = oldBytes();
  for (let index = 0; index < answers; index++) {
    answer();
    if (index % 100 === 99) collect({ type: "minor" });
  }
  collect({ type: "minor" });
  const kept = oldBytes() - before;
  assert.ok(kept < (answers * bytesEach) / 10, `${kept} bytes`);
});
