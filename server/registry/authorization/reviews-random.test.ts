/**
 * S2-SAR-09: for random policies, an access review gives the same decision as the authorizer for the
 * request itself. The request has method and URL, the review has the attributes that a client would
 * write.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ApiObject } from "../../api/meta.js";
import { UnionAuthorizer } from "../../authz/authorizer.js";
import { PrivilegedGroupsAuthorizer } from "../../authz/privileged-groups.js";
import { allow, PolicyView, type TestRole } from "../../authz/rbac/testing/policy-view.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser, type UserInfo } from "../../request/user-info.js";
import { createAuthorizationReviews } from "./reviews.js";

const signal = new AbortController().signal;
const RUNS = 400;

const verbs = fc.constantFrom("get", "list", "watch", "create", "update", "delete", "*");
const resources = fc.constantFrom("pods", "pods/log", "*/log", "*", "apps:deployments", "*:*");
const role = (namespace: string, name: string): fc.Arbitrary<TestRole> =>
  fc
    .array(fc.tuple(verbs, resources, fc.constantFrom(undefined, "a")), { maxLength: 3 })
    .map((rules) => ({
      namespace,
      name,
      rules: [
        ...rules.map(([verb, resource, names]) => allow(verb, resource, names)),
        ...(rules.length > 1 ? [{ verbs: ["get"], nonResourceURLs: ["/metrics*"] }] : []),
      ],
    }));
const subjects = fc.array(
  fc.constantFrom(
    { kind: "User", name: "jane" },
    { kind: "Group", name: "ops" },
    { kind: "ServiceAccount", name: "robot", namespace: "one" },
  ),
  { minLength: 1, maxLength: 2 },
);
const users = fc
  .tuple(
    fc.constantFrom("jane", "joe", "system:serviceaccount:one:robot"),
    fc.subarray(["ops", "system:masters"], { maxLength: 1 }),
  )
  .map(([name, groups]) => createUser({ name, groups }));
const requests = fc.tuple(
  fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
  fc.constantFrom(
    "/api/v1/namespaces/one/pods",
    "/api/v1/namespaces/one/pods?watch=1",
    "/api/v1/namespaces/one/pods?fieldSelector=metadata.name%3Da",
    "/api/v1/namespaces/one/pods/a",
    "/api/v1/namespaces/two/pods/a/log",
    "/apis/apps/v1/namespaces/one/deployments/b",
    "/apis/apps/v1/deployments?labelSelector=x%3Dy",
    "/api/v1/pods",
    "/metrics",
    "/metrics/slis",
    "/healthz",
  ),
);

test("S2-SAR-09: a review equals what the request itself is told", async () => {
  const policies = fc.record({
    clusterRole: role("", "r"),
    role: role("one", "r"),
    everywhere: fc.option(subjects),
    inOne: fc.option(subjects),
    user: users,
    asked: fc.array(requests, { minLength: 10, maxLength: 10 }),
  });
  let allowed = 0;
  await fc.assert(
    fc.asyncProperty(policies, async (policy) => {
      const view = new PolicyView();
      view.putRole(policy.clusterRole);
      view.putRole(policy.role);
      const bound = { name: "b", role: { kind: "ClusterRole", name: "r" } } as const;
      if (policy.everywhere) {
        view.putBinding({ ...bound, namespace: "", subjects: policy.everywhere });
      }
      if (policy.inOne) {
        const local = { kind: "Role", name: "r" } as const;
        view.putBinding({ ...bound, role: local, namespace: "one", subjects: policy.inOne });
      }
      const privileged = new PrivilegedGroupsAuthorizer(["system:masters"]);
      const authorizer = new UnionAuthorizer([privileged, view.authorizer]);
      const reviews = createAuthorizationReviews({ authorizer });
      const review = async (name: string, spec: object, user: UserInfo) => {
        const object = { kind: "R", apiVersion: "a/v1", metadata: {}, spec } as ApiObject;
        const answer = await reviews[`authorization/${name}`]?.create(
          { object, namespace: "", user },
          signal,
        );
        return answer?.status as { allowed: boolean; reason?: string };
      };
      for (const [method, url] of policy.asked) {
        const { user } = policy;
        const info = parseRequestInfo(method, url);
        const { decision, reason } = await authorizer.authorize({ user, info }, { signal });
        const expected = { allowed: decision === "allow", ...(reason !== "" && { reason }) };
        const spec = attributesOf(info);
        assert.deepEqual(await review("selfsubjectaccessreviews", spec, user), expected);
        const asked = { ...spec, user: user.name, groups: user.groups };
        const chief = createUser({ name: "chief" });
        assert.deepEqual(await review("subjectaccessreviews", asked, chief), expected);
        if (expected.allowed) allowed++;
      }
    }),
    { numRuns: RUNS },
  );
  assert.ok(allowed > RUNS && allowed < RUNS * 9, `${allowed} were allowed`);
});

/** The attributes that a client would write for a request. */
function attributesOf(info: ReturnType<typeof parseRequestInfo>): object {
  const { verb, path, group, version, namespace, resource, subresource, name } = info;
  return info.isResourceRequest
    ? {
        resourceAttributes: { verb, group, version, namespace, resource, subresource, name },
      }
    : { nonResourceAttributes: { verb, path } };
}
