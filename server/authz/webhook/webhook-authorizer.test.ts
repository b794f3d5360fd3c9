import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { silentLogger } from "../../../storage/base/logger.js";
import { ManualClock } from "../../../storage/base/testing/manual-clock.js";
import { createNaming } from "../../api/naming.js";
import { parseClientConfig } from "../../client/client-config.js";
import { ConfiguredCredentials } from "../../client/credentials.js";
import { HttpsClient } from "../../client/https-client.js";
import { ReviewClient } from "../../client/review-client.js";
import {
  openWebhookStub,
  type WebhookStub,
  withStatus,
} from "../../client/testing/webhook-stub.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { createUser } from "../../request/user-info.js";
import type { AuthorizationAttributes } from "../authorizer.js";
import { countingMetrics } from "../testing/counting-metrics.js";
import type { MatchCondition } from "./match-conditions.js";
import { WebhookAuthorizer, type WebhookAuthorizerOptions } from "./webhook-authorizer.js";

const never = { signal: new AbortController().signal };
// One signal for many concurrent questions; real requests have one each.
setMaxListeners(0, never.signal);
const jane = createUser({
  name: "jane",
  uid: "42",
  groups: ["dev", "system:authenticated"],
  extra: { z: ["1"], a: ["2", "3"] },
});

const attributes = (method: string, url: string, user = jane): AuthorizationAttributes => ({
  user,
  info: parseRequestInfo(method, url),
});
const GET_POD = attributes("GET", "/api/v1/namespaces/prod/pods/web");

async function open(stub: WebhookStub, options: Partial<WebhookAuthorizerOptions> = {}) {
  const naming = options.naming ?? createNaming("kubernetes");
  const config = await parseClientConfig(stub.kubeconfig, { path: "/config", naming });
  const clock = new ManualClock();
  const metrics = countingMetrics();
  const client = new HttpsClient({
    endpoint: config,
    credentials: new ConfiguredCredentials(config.user, clock),
    timeoutMs: 300,
  });
  const onCall = (result: Parameters<typeof metrics.called>[1], ms: number) =>
    metrics.called("authz", result, ms);
  const authorizer = new WebhookAuthorizer({
    name: "authz",
    configurationDigest: "c1",
    reviews: new ReviewClient({ client, clock, onCall, random: () => 0 }),
    version: "v1",
    naming,
    failurePolicy: "NoOpinion",
    conditions: [],
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    clock,
    logger: silentLogger,
    metrics,
    ...options,
  });
  const ask = async (asked: AuthorizationAttributes) => await authorizer.authorize(asked, never);
  return { authorizer, ask, clock, metrics };
}

/** A hand-made condition, because its compiler is tested elsewhere. */
function condition(expression: string, evaluate: (request: never) => unknown): MatchCondition {
  return {
    expression,
    program: {
      evaluateWithin: ({ request }) => ({ value: evaluate(request as never), cost: 1 }),
    },
  };
}

test("S2-AZ-09, S2-AZ-10, S2-AZC-21: the webhook is sent every attribute of a resource request", async () => {
  await using stub = await openWebhookStub();
  const { ask, metrics } = await open(stub);
  await ask(attributes("PATCH", "/apis/apps/v1/namespaces/prod/deployments/web/scale"));
  const [call] = stub.calls;
  assert.deepEqual([call?.method, call?.url, call?.clientName], ["POST", "/review", "apiserver"]);
  assert.deepEqual(call?.body, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      resourceAttributes: {
        namespace: "prod",
        verb: "patch",
        group: "apps",
        version: "v1",
        resource: "deployments",
        subresource: "scale",
        name: "web",
      },
      user: "jane",
      groups: ["dev", "system:authenticated"],
      extra: { a: ["2", "3"], z: ["1"] },
      uid: "42",
    },
    status: { allowed: false },
  });
  assert.equal(metrics.of("called authz success"), 1);
});

test("S2-AZ-09: paths that are no resources are sent with their verb, empty attributes are left out", async () => {
  await using stub = await openWebhookStub();
  const { ask } = await open(stub);
  await ask(attributes("GET", "/healthz", createUser({ name: "x" })));
  await ask(attributes("GET", "/api/v1/nodes", createUser({ name: "x" })));
  assert.deepEqual(
    stub.calls.map(({ body }) => body.spec),
    [
      { nonResourceAttributes: { path: "/healthz", verb: "get" }, user: "x" },
      { resourceAttributes: { verb: "list", version: "v1", resource: "nodes" }, user: "x" },
    ],
  );
});

test("S2-AZC-09: v1beta1 spells groups its own way; the vendor's names are used", async () => {
  await using stub = await openWebhookStub();
  const { ask } = await open(stub, { version: "v1beta1", naming: createNaming("acme") });
  assert.equal((await ask(GET_POD)).decision, "allow");
  const body = stub.calls[0]?.body;
  assert.equal(body?.apiVersion, "authorization.acme.io/v1beta1");
  assert.deepEqual(body?.spec.group, ["dev", "system:authenticated"]);
  assert.equal(body?.spec.groups, undefined);
});

test("S2-AZ-19: selectors go along for list, watch and deletecollection, and only narrow", async () => {
  await using stub = await openWebhookStub();
  const { ask } = await open(stub);
  const sent = async (method: string, query: string) => {
    await ask(attributes(method, `/api/v1/namespaces/prod/pods${query}`));
    const sentAttributes = stub.calls.at(-1)?.body.spec.resourceAttributes;
    const { labelSelector, fieldSelector } = (sentAttributes ?? {}) as Record<
      string,
      { requirements: unknown }
    >;
    return [fieldSelector?.requirements, labelSelector?.requirements];
  };
  assert.deepEqual(await sent("GET", "?fieldSelector=spec.nodeName%3Dn1,status.phase!%3DFailed"), [
    [
      { key: "spec.nodeName", operator: "In", values: ["n1"] },
      { key: "status.phase", operator: "NotIn", values: ["Failed"] },
    ],
    undefined,
  ]);
  assert.deepEqual(await sent("DELETE", "?labelSelector=a%3D1,b!%3D2,c+in+(x,y),d,!e,f>5"), [
    undefined,
    [
      { key: "a", operator: "In", values: ["1"] },
      { key: "b", operator: "NotIn", values: ["2"] },
      { key: "c", operator: "In", values: ["x", "y"] },
      { key: "d", operator: "Exists" },
      { key: "e", operator: "DoesNotExist" },
    ],
  ]);
  assert.deepEqual(await sent("GET", "?watch=1&labelSelector=%3D%3D"), [undefined, undefined]);
  await ask(attributes("POST", "/api/v1/namespaces/prod/pods?labelSelector=a%3D1"));
  assert.deepEqual(stub.calls.at(-1)?.body.spec.resourceAttributes, {
    namespace: "prod",
    verb: "create",
    version: "v1",
    resource: "pods",
  });
});

test("S2-AZC-22: allowed allows, denied denies, neither is no opinion; both is a denial", async () => {
  await using stub = await openWebhookStub();
  const { ask, metrics } = await open(stub, { authorizedTtlMs: 0, unauthorizedTtlMs: 0 });
  const cases: readonly (readonly [object, string, string])[] = [
    [{ allowed: true, reason: "friend" }, "allow", "friend"],
    [{ allowed: false, denied: true, reason: "never" }, "deny", "never"],
    [{ denied: true }, "deny", ""],
    [{ allowed: false, reason: "who?" }, "no-opinion", "who?"],
    [{}, "no-opinion", ""],
    [{ allowed: true, denied: true }, "deny", ""],
  ];
  for (const [status, decision, reason] of cases) {
    stub.answer = ({ body }) => withStatus(body, status);
    const result = await ask(GET_POD);
    assert.deepEqual([result.decision, result.reason], [decision, reason]);
    const isContradiction = "allowed" in status && status.allowed === true && "denied" in status;
    assert.equal(result.error !== undefined, isContradiction);
  }
  assert.equal(metrics.of("failed open authz error"), 0);
});

test("S2-AZC-04..07, S2-LIM-02: decisions are remembered by kind, for their TTL, and not when told so", async () => {
  let allowed = true;
  await using stub = await openWebhookStub(({ body }) => withStatus(body, { allowed }));
  const { ask, clock, authorizer, metrics } = await open(stub);
  await ask(GET_POD);
  clock.advance(299_999);
  assert.ok(!(authorizer.authorize(GET_POD, never) instanceof Promise), "known: at once");
  assert.equal(stub.calls.length, 1);
  clock.advance(1);
  allowed = false;
  assert.equal((await ask(GET_POD)).decision, "no-opinion");
  clock.advance(29_999);
  await ask(GET_POD);
  assert.equal(stub.calls.length, 2);
  clock.advance(1);
  await ask(GET_POD);
  assert.equal(stub.calls.length, 3);
  assert.deepEqual([metrics.of("hit process"), metrics.of("missed")], [2, 3]);

  const never401 = await open(stub, { unauthorizedTtlMs: 0 });
  await never401.ask(GET_POD);
  await never401.ask(GET_POD);
  assert.equal(stub.calls.length, 5);
  allowed = true;
  await never401.ask(GET_POD);
  await never401.ask(GET_POD);
  assert.equal(stub.calls.length, 6);
});

test("S2-AZC-23: the whole spec is the question: any difference asks again", async () => {
  await using stub = await openWebhookStub();
  const { ask } = await open(stub);
  const questions = [
    GET_POD,
    attributes("GET", "/api/v1/namespaces/prod/pods/web/log"),
    attributes("GET", "/api/v1/namespaces/test/pods/web"),
    attributes("GET", "/api/v1/namespaces/prod/pods?labelSelector=a%3D1"),
    attributes("GET", "/api/v1/namespaces/prod/pods?labelSelector=a%3D2"),
    attributes("GET", "/apis/x/v1/namespaces/prod/pods/web"),
    attributes("GET", "/healthz"),
    ...[
      { ...jane, name: "joe" },
      { ...jane, uid: "43" },
      { ...jane, groups: [] },
      { ...jane, extra: { a: ["2"] } },
    ].map((user) => ({ ...GET_POD, user: createUser(user) })),
  ];
  for (const question of [...questions, ...questions]) await ask(question);
  assert.equal(stub.calls.length, questions.length);
  await ask({ ...GET_POD, user: createUser(jane) });
  assert.equal(stub.calls.length, questions.length, "an equal user is the same question");
});

test("concurrent requests with one question make one call", async () => {
  await using stub = await openWebhookStub();
  const { ask } = await open(stub);
  const results = await Promise.all(Array.from({ length: 50 }, () => ask(GET_POD)));
  assert.ok(results.every(({ decision }) => decision === "allow"));
  assert.equal(stub.calls.length, 1);
});

test("questions that a client made very long are asked and not remembered", async () => {
  await using stub = await openWebhookStub();
  const { ask } = await open(stub);
  const long = attributes("GET", `/api/v1/namespaces/prod/pods/${"x".repeat(10_000)}`);
  await ask(long);
  await ask(long);
  assert.equal(stub.calls.length, 2);
});

test("S2-AZC-08, 11, 12: failures and malformed answers are decided by the policy and never remembered", async () => {
  const failures: readonly (readonly [string, WebhookStub["answer"]])[] = [
    ["error", () => ({ status: 403 })],
    ["error", () => ({ body: "<html>" })],
    ["error", ({ body }) => withStatus(body, { allowed: "true" })],
    ["error", ({ body }) => withStatus(body, { allowed: true, denied: 1 })],
    ["error", ({ body }) => withStatus(body, { allowed: true, reason: {} })],
    ["error", ({ body }) => withStatus({ ...body, kind: "Pod" }, { allowed: true })],
    [
      "error",
      ({ body }) =>
        withStatus({ ...body, apiVersion: "authorization.k8s.io/v1beta1" }, { allowed: true }),
    ],
    ["timeout", () => ({ isSilent: true })],
  ];
  await using stub = await openWebhookStub();
  for (const failurePolicy of ["NoOpinion", "Deny"] as const) {
    const { ask, metrics } = await open(stub, { failurePolicy });
    for (const [failure, answer] of failures) {
      stub.answer = answer;
      const before = metrics.of(`failed open authz ${failure}`);
      const result = await ask(GET_POD);
      assert.equal(result.decision, failurePolicy === "Deny" ? "deny" : "no-opinion");
      assert.notEqual(result.error, undefined);
      const failedOpen = metrics.of(`failed open authz ${failure}`) - before;
      assert.equal(failedOpen, failurePolicy === "Deny" ? 0 : 1);
    }
    stub.answer = ({ body }) => withStatus(body, { allowed: true });
    assert.equal((await ask(GET_POD)).decision, "allow", "asked again at once");
  }
});

test("what may pass by itself is tried again before the policy decides", async () => {
  await using stub = await openWebhookStub(() => ({ status: 500 }));
  const { ask, clock } = await open(stub);
  const asked = ask(GET_POD);
  await clock.untilAsleep();
  stub.answer = ({ body }) => withStatus(body, { allowed: true });
  clock.advance(500);
  assert.equal((await asked).decision, "allow");
  assert.equal(stub.calls.length, 2);
});

test("S2-AZC-11: a webhook that is gone is decided by the policy", async () => {
  await using stub = await openWebhookStub();
  const { ask, metrics } = await open(stub, { failurePolicy: "Deny" });
  await stub.stop();
  assert.equal((await ask(GET_POD)).decision, "deny");
  assert.equal(metrics.of("called authz error"), 1);
});

test("a request that is given up ends its call without counting as a failure", async () => {
  await using stub = await openWebhookStub();
  const { authorizer, metrics } = await open(stub);
  const controller = new AbortController();
  const asked = authorizer.authorize(GET_POD, { signal: controller.signal });
  controller.abort(new Error("client left"));
  await assert.rejects(Promise.resolve(asked), { message: "client left" });
  assert.equal(metrics.of("failed open authz error"), 0);
});

test("S2-AZC-17: all conditions true asks, any false skips", async () => {
  await using stub = await openWebhookStub();
  const isTrue = condition("a", () => true);
  const isFalse = condition("b", () => false);
  const asked = await open(stub, { conditions: [isTrue, isTrue] });
  assert.equal((await asked.ask(GET_POD)).decision, "allow");
  const skipped = await open(stub, { conditions: [isTrue, isFalse], failurePolicy: "Deny" });
  assert.deepEqual(await skipped.ask(GET_POD), { decision: "no-opinion", reason: "" });
  assert.equal(stub.calls.length, 1);
  assert.deepEqual(
    [asked.metrics.of("conditions authz match"), skipped.metrics.of("conditions authz excluded")],
    [1, 1],
  );
});

test("S2-AZC-13, S2-AZC-18: an error with none false is decided by the policy, one false skips all the same", async () => {
  await using stub = await openWebhookStub();
  const fails = condition("boom", () => {
    throw new Error("no such key");
  });
  const isFalse = condition("b", () => false);
  for (const failurePolicy of ["NoOpinion", "Deny"] as const) {
    const failing = await open(stub, { conditions: [fails], failurePolicy });
    const result = await failing.ask(GET_POD);
    assert.equal(result.decision, failurePolicy === "Deny" ? "deny" : "no-opinion");
    assert.match(String(result.error), /expression 'boom' resulted in error: no such key/);
    assert.equal(failing.metrics.of("conditions authz error"), 1);

    const skipped = await open(stub, { conditions: [fails, isFalse], failurePolicy });
    assert.deepEqual(await skipped.ask(GET_POD), { decision: "no-opinion", reason: "" });
  }
  const odd = await open(stub, { conditions: [condition("1", () => 1)], failurePolicy: "Deny" });
  assert.equal((await odd.ask(GET_POD)).decision, "deny");
  assert.equal(stub.calls.length, 0);
});

test("S2-AZC-16: conditions see the spec of a v1 review with every text present", async () => {
  await using stub = await openWebhookStub();
  const seen: unknown[] = [];
  const look = condition("look", (request) => seen.push(request) > 0);
  const { ask } = await open(stub, { conditions: [look], version: "v1beta1" });
  await ask(attributes("GET", "/api/v1/nodes?labelSelector=a", createUser({ name: "x" })));
  await ask(attributes("GET", "/healthz", createUser({ name: "x" })));
  const user = { user: "x", groups: [], uid: "", extra: {} };
  assert.deepEqual(seen, [
    {
      ...user,
      resourceAttributes: {
        namespace: "",
        verb: "list",
        group: "",
        version: "v1",
        resource: "nodes",
        subresource: "",
        name: "",
        labelSelector: { requirements: [{ key: "a", operator: "Exists" }] },
      },
    },
    { ...user, nonResourceAttributes: { path: "/healthz", verb: "get" } },
  ]);
});
