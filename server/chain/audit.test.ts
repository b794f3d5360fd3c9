import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import { notFound } from "../api/status.js";
import type { AuditedRequest } from "../audit/audit-event.js";
import { ruleFor } from "../audit/evaluate-policy.js";
import { parseAuditPolicy } from "../audit/policy.js";
import type { Authenticator } from "../authn/authenticator.js";
import type { RequestContext } from "../request/request-state.js";
import { createUser, MASTERS_GROUP } from "../request/user-info.js";
import { RequestTrace } from "../tracing/request-trace.js";
import { createAuditSteps } from "./audit.js";
import { durationText, latencyNotes } from "./latency-notes.js";
import { openFront } from "./testing/test-front.js";

const naming = createNaming(DEFAULT_VENDOR);
const PODS = "/api/v1/namespaces/default/pods";
const policy = parseAuditPolicy(
  `apiVersion: audit.${naming.groupDomain}/v1\nkind: Policy\nrules: [{level: RequestResponse}]`,
  naming,
);

/** Keeps the records. @param isRecorded the result of recording */
function openRecorder(isRecorded = true, isStrict = false) {
  const recorded: {
    readonly stage: string;
    readonly request: AuditedRequest;
    readonly response: string | undefined;
  }[] = [];
  const state = { rules: 0, rejected: 0 };
  const steps = createAuditSteps({
    naming,
    isStrict,
    ruleFor(user, info) {
      state.rules++;
      return ruleFor(policy, user, info);
    },
    record(_rule, stage, request, capture) {
      recorded.push({ stage, request, response: capture?.response?.().toString() });
      return isStrict ? Promise.resolve(isRecorded) : undefined;
    },
    noteRejected: () => state.rejected++,
  });
  return { steps, recorded, state };
}

test("S2-REQ-09: a defect that ends a request is recorded as such, with what the client was told", async () => {
  const { steps, recorded } = openRecorder();
  await using front = await openFront({
    audit: steps,
    handler: () => {
      throw new TypeError("secret detail");
    },
  });

  const { status } = await front.ask(PODS);

  assert.equal(status, 500);
  assert.deepEqual(
    recorded.map(({ stage }) => stage),
    ["RequestReceived", "Panic"],
  );
  const { code, outcome } = recorded[1]?.request ?? {};
  assert.deepEqual([code, outcome?.status, outcome?.reason], [500, "Failure", "InternalError"]);
  assert.doesNotMatch(String(outcome?.message), /secret/);
});

test("A22: a request is judged by the policy once, also when nobody vouches for its sender", async () => {
  const { steps, recorded, state } = openRecorder();
  await using front = await openFront({ audit: steps });

  (await front.ask(PODS)).status;
  assert.equal(state.rules, 1);
  const refused = await front.ask(PODS, { headers: { authorization: "Bearer x" }, identity: null });

  assert.deepEqual([refused.status, state.rules], [401, 2]);
  assert.deepEqual(
    recorded.map(({ stage, request }) => [stage, request.user?.name]),
    [
      ["RequestReceived", "test-admin"],
      ["ResponseComplete", "test-admin"],
      // A refusal of a stranger is over when it begins.
      ["ResponseStarted", undefined],
    ],
  );
  const { reason, code } = JSON.parse(recorded.at(-1)?.response ?? "{}") as Record<string, unknown>;
  assert.deepEqual([reason, code], ["Unauthorized", 401], "the answer is recorded as any other is");
});

test("A22: a watch, which is to last, is not annotated as slow", async () => {
  const { steps, recorded } = openRecorder();
  const slow = (ctx: RequestContext) => {
    Object.assign(ctx.state, { receivedAtMs: performance.now() - 2_000 });
    ctx.body = "{}";
  };
  await using front = await openFront({ audit: steps, handler: slow });

  for (const query of ["", "?watch=1"]) await front.ask(PODS + query);

  const total = `apiserver.latency.${naming.groupDomain}/total`;
  const ends = recorded.filter(({ stage }) => stage === "ResponseComplete");
  assert.deepEqual(
    ends.map(({ request }) => request.annotations?.has(total)),
    [true, false],
  );
});

test("S2-REQ-09: the answer to what was to last has a beginning, also when it is a refusal", async () => {
  const { steps, recorded } = openRecorder();
  const handler = () => {
    throw notFound({ group: "", resource: "pods" }, "none");
  };
  await using front = await openFront({ audit: steps, handler });

  for (const path of [`${PODS}/none`, `${PODS}/none/log`]) await front.ask(path);

  assert.deepEqual(
    recorded.map(({ stage, request }) => [stage, stage === "RequestReceived" || request.code]),
    [
      ["RequestReceived", true],
      ["ResponseComplete", 404],
      ["RequestReceived", true],
      ["ResponseStarted", 404],
      ["ResponseComplete", 404],
    ],
  );
});

test("what is to be said of a credential is in the audit events and in the answer", async () => {
  const { steps, recorded } = openRecorder();
  const authenticator: Authenticator = {
    name: "old",
    authenticate({ headers, remarks }) {
      if (headers.authorization === undefined) return undefined;
      remarks?.annotate("authentication.k8s.io/old", "yes");
      remarks?.addWarning("this is old");
      return createUser({ name: "old", groups: [MASTERS_GROUP] });
    },
  };
  await using front = await openFront({ audit: steps, authenticators: [authenticator] });
  const headers = { authorization: "Bearer x" };

  const { headers: answered } = await front.ask(PODS, { headers, identity: null });
  await front.ask(PODS);

  assert.equal(answered.warning, '299 - "this is old"');
  assert.deepEqual(
    recorded.map(({ request }) => [...(request.annotations ?? [])]),
    [[["authentication.k8s.io/old", "yes"]], [["authentication.k8s.io/old", "yes"]], [], []],
  );
});

test("in strict mode a request that cannot be recorded is refused, does nothing, and is counted", async () => {
  const { steps, state } = openRecorder(false, true);
  let handled = 0;
  await using front = await openFront({
    audit: steps,
    handler: (ctx) => {
      handled++;
      ctx.body = {};
    },
  });

  const { status, text } = await front.ask(PODS);

  assert.deepEqual([status, handled, state.rejected], [500, 0, 1]);
  assert.match(text, /failed to store audit event/);
});

test("a slow request says where its time went, and a fast one nothing", () => {
  const trace = new RequestTrace(false);
  const took = (name: string, ms: number, within?: string) => {
    const around = within === undefined ? undefined : trace.begin(within);
    const span = trace.begin(name);
    span.end();
    around?.end();
    const step = trace.steps.at(-1);
    assert.ok(step !== undefined);
    step.endMs = step.startMs + ms;
    if (within === undefined) return;
    const outer = trace.steps.at(-2);
    assert.ok(outer !== undefined);
    outer.endMs = outer.startMs + ms;
  };
  took("authentication", 0.25);
  took("priorityandfairness", 20);
  took("Call mutating webhook", 100);
  took("Call mutating webhook", 50);
  took("Call validating webhook", 200);
  took("Call validating webhook", 150);
  took("etcdserverpb.KV/Txn", 30, "commit");
  const now = performance.now();
  const notes = (totalMs: number) =>
    latencyNotes(naming, { trace, receivedAtMs: now - totalMs }, now);

  assert.equal(notes(500), undefined);
  const prefix = `apiserver.latency.${naming.groupDomain}`;
  assert.deepEqual(notes(501), {
    [`${prefix}/authentication`]: "250µs",
    [`${prefix}/apf-queue-wait`]: "20ms",
    [`${prefix}/mutating-webhook`]: "150ms",
    [`${prefix}/validating-webhook`]: "200ms",
    [`${prefix}/etcd`]: "30ms",
    [`${prefix}/total`]: "501ms",
  });
});

test("durations are written as Go writes them", () => {
  const texts = [0.003056, 0.25, 12.5, 999.999999, 1_250, 62_500, 3_723_004.5].map(durationText);

  assert.deepEqual(texts, [
    ...["3.056µs", "250µs", "12.5ms", "999.999999ms", "1.25s", "1m2.5s", "1h2m3.0045s"],
  ]);
});
