/** What becomes of a decision: the answer to the client. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceUnavailable } from "../api/status.js";
import type { AuthorizationResult } from "../authz/authorizer.js";
import { openFront } from "./testing/test-front.js";

test("a refusal for want of an answer is an error of the server, an allowed request goes on whatever failed", async () => {
  const error = new Error("the webhook is down");
  const table: [AuthorizationResult, number][] = [
    [{ decision: "allow", reason: "" }, 200],
    [{ decision: "allow", reason: "", error }, 200],
    [{ decision: "deny", reason: "never" }, 403],
    [{ decision: "no-opinion", reason: "" }, 403],
    [{ decision: "deny", reason: "", error }, 500],
    [{ decision: "no-opinion", reason: "", error }, 500],
    [{ decision: "no-opinion", reason: "", error: serviceUnavailable("not read") }, 503],
  ];
  for (const [result, status] of table) {
    await using front = await openFront({
      authorizer: { name: "fixed", authorize: () => result },
      handler: (ctx) => {
        ctx.body = "{}";
      },
    });
    const answer = await front.ask("/api/v1/pods", { identity: null });
    assert.equal(answer.status, status, JSON.stringify(result));
  }
});
