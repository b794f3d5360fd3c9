/**
 * V8 decides by how long the objects of an allocation site lived whether those made later begin in the old space. In a burst the
 * objects of requests live long, while they wait. Those that begin old afterwards keep alive, when they are dead, whatever
 * they refer to, until a collection of the old space: whole requests.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shippedNodeFlags } from "./harness/command.js";
import { startServer } from "./harness/server-process.js";

test("44: no object of a request begins in the old space: V8 decides for no allocation site", async () => {
  await using server = await startServer({
    nodeFlags: [...shippedNodeFlags(), "--trace-pretenuring-statistics"],
  });
  assert.doesNotMatch(server.logs, /=> (?:maybe )?tenure/);
});
