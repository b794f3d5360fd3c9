/** Counts of impersonation, as kube-apiserver 1.36 has them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming } from "../api/naming.js";
import type { MetricFamilies } from "../request/metric-families.js";
import { createUser } from "../request/user-info.js";
import type { Authorizer } from "./authorizer.js";
import { Impersonation } from "./impersonation.js";
import { createImpersonationMetrics } from "./impersonation-metrics.js";

const WAIT = { signal: new AbortController().signal };
const LIST_PODS = {
  ...{ isResourceRequest: true, verb: "list", path: "", group: "", version: "v1" },
  ...{ namespace: "", resource: "pods", subresource: "", name: "" },
};

/** Counts by name and labels. */
function countingFamilies(): { families: MetricFamilies; counts: Record<string, number> } {
  const counts: Record<string, number> = {};
  const add = (key: string) => {
    counts[key] = (counts[key] ?? 0) + 1;
  };
  const families: MetricFamilies = {
    counter: ({ name }) => ({
      add: (_count, ...labels) => add(`${name} ${labels}`),
      cell: () => ({ value: 0 }),
    }),
    histogram: ({ name }) => ({
      cell: (...labels) => ({ observe: () => add(`${name} ${labels}`) }),
    }),
    gauge: () => {},
  };
  return { families, counts };
}

test("A23: attempts to impersonate and the questions of each are counted by mode and decision", async () => {
  const { families, counts } = countingFamilies();
  const authorizer: Authorizer = {
    name: "test",
    authorize: ({ user, info }) =>
      user.name === "admin" || (user.name === "clerk" && info.verb.includes(":"))
        ? { decision: "allow", reason: "" }
        : { decision: "no-opinion", reason: "" },
  };
  const impersonation = new Impersonation({
    authorizer,
    naming: createNaming("kubernetes"),
    isConstrained: true,
    metrics: createImpersonationMetrics(families),
  });
  const become = (name: string, wanted: string) =>
    impersonation.check(
      { user: createUser({ name }), info: LIST_PODS },
      createUser({ name: wanted }),
      WAIT,
    );
  await become("clerk", "jane");
  await become("clerk", "system:serviceaccount:a:b");
  await assert.rejects(become("joe", "jane"));
  const attempts = "apiserver_impersonation_attempts";
  const asked = "apiserver_impersonation_authorization_attempts";
  for (const [key, count] of [
    [`${attempts}_total user-info,allowed`, 1],
    [`${attempts}_total serviceaccount,allowed`, 1],
    [`${attempts}_total ,denied`, 1],
    [`${attempts}_duration_seconds ,denied`, 1],
    [`${asked}_total user-info,allowed`, 2],
    [`${asked}_total user-info,denied`, 2],
    [`${asked}_total serviceaccount,allowed`, 2],
    [`${asked}_total legacy,denied`, 1],
    [`${asked}_duration_seconds legacy,denied`, 1],
  ] as const) {
    assert.equal(counts[key], count, `${key} of ${JSON.stringify(counts, null, 1)}`);
  }
});
