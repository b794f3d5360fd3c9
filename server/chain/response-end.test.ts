/** What happens behind the end of a response. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { RequestContext } from "../request/request-state.js";
import { onResponseEnd } from "./response-end.js";

test("all who wait for the end of a streamed answer share one listener, and are called once, in their order", () => {
  const res = new EventEmitter();
  const ctx = { respond: false, res, state: {} } as unknown as RequestContext;
  const called: number[] = [];
  for (let index = 0; index < 20; index++) onResponseEnd(ctx, () => called.push(index));
  assert.equal(res.listenerCount("close"), 1);
  assert.deepEqual(called, []);
  res.emit("close");
  res.emit("close");
  assert.deepEqual(called, [...Array(20).keys()]);
});
