/** How long a start waits for its store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { storeDeadline } from "./store.js";

test("39.7: a start whose store is too slow says so", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const deadline = storeDeadline();
  t.mock.timers.tick(59_999);
  assert.equal(deadline.aborted, false);
  t.mock.timers.tick(1);
  assert.match(String(deadline.reason), /the store did not answer within 60 s/);
});
