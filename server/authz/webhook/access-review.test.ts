import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ReviewError } from "../../client/review-client.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import { parseAccessReviewStatus, toRequestAttributes, toUserAttributes } from "./access-review.js";

test("S2-AZC-12, S2-AZC-22: whatever a webhook answers, only a clear yes allows", () => {
  const value = fc.oneof(fc.boolean(), fc.jsonValue());
  const status = fc.record(
    { allowed: value, denied: value, reason: fc.oneof(fc.string(), fc.jsonValue()) },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(status, fc.dictionary(fc.string(), fc.jsonValue())), (answer) => {
      const { allowed, denied = false, reason = "" } = answer as Record<string, unknown>;
      const isClear = allowed === true && denied === false && typeof reason === "string";
      let decision = "failed";
      try {
        decision = parseAccessReviewStatus(answer).decision;
      } catch (error) {
        assert.ok(error instanceof ReviewError);
      }
      assert.equal(decision === "allow", isClear);
    }),
    { numRuns: 2_000 },
  );
});

test("S2-AZC-23: different questions have different text, equal ones the same", () => {
  const word = fc.stringMatching(/^[a-z0-9"{},:[\]\\]{0,4}$/);
  const asked = fc.record({
    path: fc.constantFrom("pods/a", "pods/a/log", "pods", "nodes/a", "pods?labelSelector=a"),
    name: word,
    uid: word,
    groups: fc.array(word, { maxLength: 3 }),
    extra: fc.dictionary(word, fc.array(word, { maxLength: 2 }), { maxKeys: 3 }),
  });
  const textOf = ({ path, ...user }: { path: string } & Parameters<typeof createUser>[0]) => {
    const info = parseRequestInfo("GET", `/api/v1/namespaces/x/${path}`);
    const userPart = toUserAttributes(createUser(user), "v1");
    return JSON.stringify(toRequestAttributes(info)) + JSON.stringify(userPart);
  };
  fc.assert(
    fc.property(asked, asked, (a, b) => {
      assert.equal(textOf(a) === textOf(b), canonical(a) === canonical(b));
      const reversed = Object.fromEntries(Object.entries(a.extra).reverse());
      assert.equal(textOf({ ...a, extra: reversed }), textOf(a), "order of extra does not count");
    }),
    { numRuns: 2_000 },
  );
});

function canonical(value: { extra: Record<string, string[]> }): string {
  const extra = Object.entries(value.extra).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({ ...value, extra });
}
