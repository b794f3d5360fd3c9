/** The reviews return the authorizer's decision in the API's form. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { refusal } from "../../api/testing/refusal.js";
import { AbacAuthorizer } from "../../authz/abac.js";
import { alwaysAllow } from "../../authz/always-allow.js";
import { alwaysDeny } from "../../authz/always-deny.js";
import { type Authorizer, UnionAuthorizer } from "../../authz/authorizer.js";
import {
  allow,
  bind,
  clusterRole,
  naming,
  PolicyView,
} from "../../authz/rbac/testing/policy-view.js";
import { createUser } from "../../request/user-info.js";
import { createAuthorizationReviews } from "./reviews.js";

const asker = createUser({ name: "ann", groups: ["readers"] });
const signal = new AbortController().signal;

/** Readers may get; "eve" is denied; everybody may GET /healthz. */
const authorizer: Authorizer = {
  name: "test",
  authorize({ user, info }) {
    if (user.name === "eve") return { decision: "deny", reason: "not eve" };
    const isRead = user.groups.includes("readers") && info.verb === "get";
    const isHealth = !info.isResourceRequest && info.path === "/healthz";
    return isRead || isHealth
      ? { decision: "allow", reason: "may read" }
      : { decision: "no-opinion", reason: "" };
  },
};
const reviews = createAuthorizationReviews({ authorizer });

async function ask(name: string, spec: unknown, namespace = ""): Promise<ApiObject> {
  const kind = "Review";
  const apiVersion = "authorization.k8s.io/v1";
  const object = { kind, apiVersion, metadata: {}, spec } as ApiObject;
  const resource = reviews[`authorization/${name}`];
  assert.ok(resource);
  return await resource.create({ object, namespace, user: asker }, signal);
}

test("S2-SAR-01: a self review is about the asker", async () => {
  const resourceAttributes = { verb: "get", resource: "pods", namespace: "default" };
  const { status } = await ask("selfsubjectaccessreviews", { resourceAttributes });
  assert.deepEqual(status, { allowed: true, reason: "may read" });
  const other = await ask("selfsubjectaccessreviews", {
    resourceAttributes: { ...resourceAttributes, verb: "delete" },
  });
  assert.deepEqual(other.status, { allowed: false });
});

test("S2-SAR-02: a review may be about anybody; a denial is said", async () => {
  const nonResourceAttributes = { path: "/healthz", verb: "get" };
  const bob = await ask("subjectaccessreviews", { user: "bob", nonResourceAttributes });
  assert.deepEqual(bob.status, { allowed: true, reason: "may read" });
  const eve = await ask("subjectaccessreviews", { user: "eve", nonResourceAttributes });
  assert.deepEqual(eve.status, { allowed: false, denied: true, reason: "not eve" });
});

test("S2-SAR-03: a local review stays in its namespace", async () => {
  const resourceAttributes = { verb: "get", resource: "pods", namespace: "other" };
  const spec = { user: "bob", resourceAttributes };
  const error = await refusal((async () => ask("localsubjectaccessreviews", spec, "default"))());
  assert.equal(error.code, 422);
  assert.match(error.message, /must match metadata.namespace/);
});

test("S2-SAR-06: exactly one kind of attributes", async () => {
  const resourceAttributes = { verb: "get" };
  const nonResourceAttributes = { path: "/" };
  for (const spec of [{}, { resourceAttributes, nonResourceAttributes }]) {
    const error = await refusal(ask("selfsubjectaccessreviews", spec));
    assert.equal(error.code, 422);
  }
  const noSubject = await refusal(
    (async () => ask("subjectaccessreviews", { resourceAttributes }))(),
  );
  assert.match(noSubject.message, /at least one of user or group must be specified/);
});

test("S2-SAR-08: a self review answers in every mode", async () => {
  const view = new PolicyView();
  view.putRole(clusterRole("r", allow("get", "pods")));
  view.putBinding(bind("", "b", "ClusterRole/r", "User:ann"));
  const policy = JSON.stringify({
    apiVersion: "abac.authorization.kubernetes.io/v1beta1",
    kind: "Policy",
    spec: { user: "ann", namespace: "*", apiGroup: "*", resource: "pods", readonly: true },
  });
  const modes: readonly (readonly [Authorizer, boolean])[] = [
    [alwaysAllow, true],
    [alwaysDeny, false],
    [new AbacAuthorizer(naming, "policy.jsonl", policy), true],
    [view.authorizer, true],
    [new UnionAuthorizer([]), false],
  ];
  for (const [mode, allowed] of modes) {
    const resource = createAuthorizationReviews({ authorizer: mode })[
      "authorization/selfsubjectaccessreviews"
    ];
    const spec = { resourceAttributes: { verb: "get", resource: "pods", namespace: "default" } };
    const object = { kind: "R", apiVersion: "a/v1", metadata: {}, spec } as ApiObject;
    const answer = await resource?.create({ object, namespace: "", user: asker }, signal);
    const status = answer?.status as { allowed: boolean } | undefined;
    assert.equal(status?.allowed, allowed, mode.name);
  }
});

test("S2-SAR-06: selectors reach the authorizer as those of the request would", async () => {
  const seen: (readonly (string | undefined)[])[] = [];
  const listening = createAuthorizationReviews({
    authorizer: {
      name: "listening",
      authorize({ info }) {
        seen.push([info.query?.get("fieldSelector"), info.query?.get("labelSelector")]);
        return { decision: "no-opinion", reason: "" };
      },
    },
  });
  const table: readonly (readonly [object, string | undefined, string | undefined])[] = [
    [{}, undefined, undefined],
    [{ fieldSelector: { rawSelector: "a=b,c!=d" } }, "a=b,c!=d", undefined],
    [
      {
        fieldSelector: {
          requirements: [
            { key: "a", operator: "In", values: ["x,y"] },
            { key: "b", operator: "NotIn", values: ["1"] },
            // No request can express these.
            { key: "b", operator: "NotIn", values: ["1", "2"] },
            { key: "c", operator: "In", values: ["1", "2"] },
            { key: "d", operator: "Exists" },
          ],
        },
        labelSelector: {
          requirements: [
            { key: "a", operator: "In", values: ["1", "2"] },
            { key: "b", operator: "NotIn", values: ["3"] },
            { key: "c", operator: "Exists" },
            { key: "d", operator: "DoesNotExist" },
            { key: "e", operator: "Later", values: ["1"] },
          ],
        },
      },
      "a=x\\,y,b!=1",
      "a in (1,2),b notin (3),c,!d",
    ],
  ];
  for (const [selectors, fields, labels] of table) {
    const spec = { resourceAttributes: { verb: "list", resource: "pods", ...selectors } };
    const object = { kind: "R", apiVersion: "a/v1", metadata: {}, spec } as ApiObject;
    const resource = listening["authorization/selfsubjectaccessreviews"];
    await resource?.create({ object, namespace: "", user: asker }, signal);
    assert.deepEqual(seen.pop(), [fields, labels]);
  }
});

test("S2-SAR-07: what of a selector is ignored is told, and does not hinder the answer", async () => {
  const evaluationErrorOf = async (selectors: object) => {
    const resourceAttributes = { verb: "get", resource: "pods", ...selectors };
    const { status } = await ask("selfsubjectaccessreviews", { resourceAttributes });
    const { allowed, evaluationError } = status as { allowed: boolean; evaluationError?: string };
    assert.equal(allowed, true);
    return evaluationError;
  };
  const later = { key: "a", operator: "Later", values: ["1"] };
  const path = "spec.resourceAttributes";
  assert.equal(await evaluationErrorOf({ fieldSelector: { rawSelector: "a=b" } }), undefined);
  assert.equal(
    await evaluationErrorOf({
      fieldSelector: { rawSelector: "key in value" },
      labelSelector: { rawSelector: "&" },
    }),
    `${path}.fieldSelector ignored due to parse error; ${path}.labelSelector ignored due to parse error`,
  );
  const known = { key: "a", operator: "In", values: ["1"] };
  assert.equal(
    await evaluationErrorOf({ labelSelector: { requirements: [later, known] } }),
    `${path}.labelSelector partially ignored due to parse error`,
  );
  assert.equal(
    await evaluationErrorOf({ fieldSelector: { requirements: [later] } }),
    `${path}.fieldSelector ignored due to parse error`,
  );
});

test("S2-SAR-02, S2-SAR-03, S2-SAR-06: everything that is wrong with a review is told at once", async () => {
  const causesOf = async (name: string, metadata: object, spec: object) => {
    const object = { kind: "Review", apiVersion: "authorization.k8s.io/v1", metadata, spec };
    const resource = reviews[`authorization/${name}`];
    const request = { object: object as ApiObject, namespace: "default", user: asker };
    const { status } = await refusal((async () => resource?.create(request, signal))());
    assert.equal(status.details?.name, undefined);
    return status.details?.causes?.map(({ field, message }) => `${field}: ${message}`);
  };
  const wrong = "Invalid value:";
  assert.deepEqual(await causesOf("subjectaccessreviews", { name: "a" }, {}), [
    `spec.resourceAttributes: ${wrong} null: exactly one of nonResourceAttributes or resourceAttributes must be specified`,
    `spec.user: ${wrong} "": at least one of user or group must be specified`,
    `metadata: ${wrong} {"name":"a"}: must be empty`,
  ]);
  const both = { resourceAttributes: { namespace: "b" }, nonResourceAttributes: { path: "/" } };
  assert.deepEqual(
    await causesOf(
      "localsubjectaccessreviews",
      { namespace: "default", labels: { a: "b" } },
      { user: "x", ...both },
    ),
    [
      `spec.nonResourceAttributes: ${wrong} {"path":"/"}: cannot be specified in combination with resourceAttributes`,
      `metadata: ${wrong} {"namespace":"default","labels":{"a":"b"}}: must be empty except for namespace`,
      `spec.resourceAttributes.namespace: ${wrong} "b": must match metadata.namespace`,
      `spec.nonResourceAttributes: ${wrong} {"path":"/"}: disallowed on this kind of request`,
    ],
  );
  const labelSelector = { requirements: [{ key: "a b", operator: "In", values: ["c d"] }] };
  const causes = await causesOf(
    "selfsubjectaccessreviews",
    {},
    { resourceAttributes: { labelSelector } },
  );
  assert.match(
    causes?.join("\n") ?? "",
    /requirements\[0\]\.key.*\n.*requirements\[0\]\.values\[0\]/,
  );
});

test("S2-SAR-06, S2-AZ-09: who names no version asks about all of them; facts without values are kept", async () => {
  const seen: unknown[] = [];
  const listening = createAuthorizationReviews({
    authorizer: {
      name: "listening",
      authorize({ user, info }) {
        seen.push([user.extra, info.version]);
        return { decision: "no-opinion", reason: "" };
      },
    },
  })["authorization/subjectaccessreviews"];
  for (const version of [undefined, "", "v1"]) {
    const resourceAttributes = { verb: "get", ...(version !== undefined && { version }) };
    const spec = { user: "a", extra: { k: null, l: ["1"] }, resourceAttributes };
    const object = { kind: "R", apiVersion: "a/v1", metadata: {}, spec } as unknown as ApiObject;
    await listening?.create({ object, namespace: "", user: asker }, signal);
  }
  const extra = { k: [], l: ["1"] };
  assert.deepEqual(seen, [
    [extra, "*"],
    [extra, "*"],
    [extra, "v1"],
  ]);
});

test("S2-SAR-06: selectors that say nothing, or say it twice, are 422", async () => {
  const requirements = [{ key: "a", operator: "Exists" }];
  for (const selector of [
    {},
    { rawSelector: "a", requirements },
    { requirements: [{ operator: "Exists" }] },
    { requirements: [{ key: "a", operator: "In" }] },
    { requirements: [{ key: "a", operator: "Exists", values: ["b"] }] },
  ]) {
    for (const name of ["fieldSelector", "labelSelector"]) {
      const resourceAttributes = { verb: "list", [name]: selector };
      const error = await refusal(ask("selfsubjectaccessreviews", { resourceAttributes }));
      assert.equal(error.code, 422);
      assert.match(error.message, new RegExp(`spec.resourceAttributes.${name}`));
    }
  }
});

test("S2-SAR-04: rules are listed as far as they are known", async () => {
  const { status } = await ask("selfsubjectrulesreviews", { namespace: "default" });
  assert.deepEqual(status, {
    resourceRules: [],
    nonResourceRules: [],
    incomplete: true,
    evaluationError: "the authorizer does not list rules",
  });
});
