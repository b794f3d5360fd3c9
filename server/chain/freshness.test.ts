import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../storage/kv/store.js";
import { parseRequestInfo } from "../request/request-info.js";
import { ClientGoneError, type RequestContext } from "../request/request-state.js";
import type { RequestStep } from "../request/step.js";
import { createUser } from "../request/user-info.js";
import { withFreshCredentials, withFreshPolicy } from "./freshness.js";

const PODS = "/api/v1/namespaces/a/pods";
const CLERK = createUser({ name: "clerk" });
const ADMIN = createUser({ name: "admin", groups: ["system:masters"] });

/** Which of the two steps waited, in the order of the chain. */
async function waits(
  method: string,
  url: string,
  user = CLERK,
  headers: Record<string, string> = {},
): Promise<string[]> {
  const waited: string[] = [];
  let step = "";
  const barrier = {
    async fresh() {
      waited.push(step);
      return toRevision(7);
    },
    turnOf: () => undefined,
  };
  const state = {
    info: parseRequestInfo(method, url),
    user,
    isFresh: false,
    receivedAtMs: 0,
    deadlineMs: Number.POSITIVE_INFINITY,
  };
  const ctx = { state, req: { headers } } as unknown as RequestContext;
  const run = async (name: string, { check }: RequestStep) => {
    step = name;
    await check(ctx);
  };
  await run("credentials", withFreshCredentials(barrier));
  await run("policy", withFreshPolicy(barrier));
  assert.equal(state.isFresh, waited.length > 0);
  return waited;
}

const token = { authorization: "Bearer abc" };

test("S2-RBAC-30: reads of now and all writes are decided on a fresh view, waited for once", async () => {
  for (const [method, url] of [
    ["GET", PODS],
    ["GET", `${PODS}/x`],
    ["GET", `${PODS}?watch=1&resourceVersion=5`],
    ["GET", `${PODS}?resourceVersion=`],
    ["POST", PODS],
    ["PATCH", `${PODS}/x`],
    ["DELETE", `${PODS}?resourceVersion=0`],
  ] as const) {
    assert.deepEqual(await waits(method, url), ["policy"], url);
    assert.deepEqual(await waits(method, url, CLERK, token), ["credentials"], url);
  }
});

test("S1-RV-02: a read of any state, and paths that are no resources, are decided on what is there", async () => {
  for (const url of [`${PODS}?resourceVersion=0`, "/livez", "/apis", "/metrics"]) {
    assert.deepEqual(await waits("GET", url, CLERK, token), [], url);
  }
});

test("S2-AZ-17: who may do everything does not wait, unless the question is about somebody else", async () => {
  assert.deepEqual(await waits("POST", PODS, ADMIN), []);
  assert.deepEqual(await waits("GET", PODS, ADMIN), []);
  const as = { "impersonate-user": "clerk" };
  assert.deepEqual(await waits("GET", PODS, ADMIN, as), ["policy"]);
  const review = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  assert.deepEqual(await waits("POST", review, ADMIN), ["policy"]);
});

test("39.8: a request whose client has gone when the view is fresh ends there", async () => {
  const gone = new AbortController();
  const barrier = {
    async fresh() {
      gone.abort(new ClientGoneError());
      return toRevision(7);
    },
    turnOf: () => undefined,
  };
  const state = {
    info: parseRequestInfo("GET", PODS),
    isFresh: false,
    receivedAtMs: 0,
    deadlineMs: Number.POSITIVE_INFINITY,
    signal: gone.signal,
    get isGone() {
      return gone.signal.aborted;
    },
  };
  const ctx = { state, req: { headers: token } } as unknown as RequestContext;
  await assert.rejects(async () => withFreshCredentials(barrier).check(ctx), ClientGoneError);
});
