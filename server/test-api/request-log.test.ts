import assert from "node:assert/strict";
import { test } from "node:test";
import type { RecordedRequest } from "./recorded-request.js";
import { RequestLog } from "./request-log.js";

function request(parts: Partial<RecordedRequest>): Omit<RecordedRequest, "number"> {
  const none = { group: "", version: "v1", resource: "pods", subresource: "", namespace: "" };
  const more = { name: "", path: "", userAgent: "", status: 200, changed: false };
  return { ...none, ...more, atMs: 0, verb: "get", user: "a", ...parts };
}

test("People 5: the newest requests are remembered, in their order, and can be asked for by user, verb and time", () => {
  const log = new RequestLog(3);
  const numbers = (filter = {}) => log.find(filter).map(({ number }) => number);
  log.add(request({ user: "a", verb: "get", atMs: 10 }));
  log.add(request({ user: "b", verb: "update", atMs: 20 }));
  assert.deepEqual(numbers(), [1, 2]);
  log.add(request({ user: "b", verb: "get", atMs: 30 }));
  log.add(request({ user: "a", verb: "get", atMs: 40 }));
  log.add(request({ user: "b", verb: "get", atMs: 50 }));
  assert.deepEqual(numbers(), [3, 4, 5]);
  assert.deepEqual(numbers({ user: "b" }), [3, 5]);
  assert.deepEqual(numbers({ verb: "update" }), []);
  assert.deepEqual(numbers({ after: 4 }), [5]);
  assert.deepEqual(numbers({ sinceMs: 40, user: "a" }), [4]);
});
