/** Decisions on what has to be read first. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "../api/status.js";
import { decideWhenRead, Unread } from "./unread.js";

test("39.3: what changes whenever it has been read is no refusal, but an error with which the client asks again", async () => {
  let read = 0;
  const result = await decideWhenRead("rbac", () => {
    throw new Unread([() => void read++]);
  });
  assert.equal(read, 20);
  assert.equal(result.decision, "no-opinion");
  assert.ok(result.error instanceof StatusError);
  assert.equal(result.error.code, 503);
});
