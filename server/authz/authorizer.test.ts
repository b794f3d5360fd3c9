/** The union of authorizers, its members, and the message of a denial. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser } from "../request/user-info.js";
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  UnionAuthorizer,
} from "./authorizer.js";
import { denial } from "./denial.js";
import { PrivilegedGroupsAuthorizer } from "./privileged-groups.js";

const WAIT = { signal: new AbortController().signal };

function attributes(method: string, url: string, groups: string[] = []): AuthorizationAttributes {
  return { user: createUser({ name: "jane", groups }), info: parseRequestInfo(method, url) };
}

function member(
  decision: AuthorizationResult["decision"],
  reason = "",
  isSlow = false,
): Authorizer {
  const result = { decision, reason };
  return { name: "test", authorize: () => (isSlow ? Promise.resolve(result) : result) };
}

const ask = async (...members: Authorizer[]) =>
  await new UnionAuthorizer(members).authorize(attributes("GET", "/x"), WAIT);

test("S2-AZ-02: the first allow or deny ends the search, at once or after waiting", async () => {
  for (const isSlow of [false, true]) {
    const nobody = member("no-opinion", "", isSlow);
    assert.equal(
      (await ask(nobody, member("allow", "", isSlow), member("deny"))).decision,
      "allow",
    );
    assert.equal((await ask(nobody, member("deny", "", isSlow), member("allow"))).decision, "deny");
  }
});

test("S2-AZ-03: no opinion from all stays no opinion, with all reasons and the first error", async () => {
  const error = new Error("unreadable");
  const broken: Authorizer = {
    name: "broken",
    authorize: () => ({ decision: "no-opinion", reason: "c", error }),
  };
  assert.deepEqual(await ask(member("no-opinion", "a"), member("no-opinion", "b", true), broken), {
    decision: "no-opinion",
    reason: "a\nb\nc",
    error,
  });
  assert.equal((await ask()).decision, "no-opinion");
});

test("S2-AZ-17: members of a privileged group may do everything, others are not its business", () => {
  const authorizer = new PrivilegedGroupsAuthorizer(["system:masters"]);
  const decide = (...groups: string[]) =>
    authorizer.authorize(attributes("DELETE", "/api/v1/nodes", groups)).decision;
  assert.equal(decide("a", "system:masters"), "allow");
  assert.equal(decide("a", "system:mastersX"), "no-opinion");
});

test("S2-AZ-18: a denial says who may not do what where, and why", () => {
  const message = (method: string, url: string, reason = "") => {
    const { status } = denial(attributes(method, url), reason);
    assert.deepEqual([status.code, status.reason], [403, "Forbidden"]);
    return status.message;
  };
  assert.equal(
    message("PATCH", "/apis/apps/v1/namespaces/a/deployments/web/scale", "no policy matched"),
    'deployments.apps "web" is forbidden: User "jane" cannot patch resource "deployments/scale" in API group "apps" in the namespace "a": no policy matched',
  );
  assert.equal(
    message("GET", "/api/v1/nodes"),
    'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope',
  );
  assert.equal(message("GET", "/metrics"), 'forbidden: User "jane" cannot get path "/metrics"');
  assert.equal(
    message("GET", "/<b>&", "a < b"),
    'forbidden: User "jane" cannot get path "/&lt;b&gt;&amp;": a < b',
  );
});
