import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "../api/status.js";
import type { Metrics } from "../metrics/metrics.js";
import { parseRequestInfo } from "../request/request-info.js";
import type { RequestContext } from "../request/request-state.js";
import { createUser } from "../request/user-info.js";
import { InFlightLimits, type InFlightLimitsOptions, withInFlightLimit } from "./in-flight.js";

const PODS = "/api/v1/namespaces/shop/pods";

test("A23: requests at work are bounded, reading and mutating ones apart, and a seat is free once its request is over", () => {
  const { enter, leave, limits, terminations } = open({ readOnlyMax: 2, mutatingMax: 1 });
  const [first] = [enter("GET", PODS), enter("GET", PODS)];
  refused(() => enter("GET", PODS));
  enter("POST", PODS);
  refused(() => enter("DELETE", `${PODS}/a`));
  assert.deepEqual([limits.readOnly, limits.mutating], [2, 1], "who is refused holds nothing");
  assert.deepEqual(terminations, [429, 429]);

  leave(first);
  enter("GET", PODS);
  assert.equal(limits.readOnly, 2);
});

test("A23: administrators and probes are never refused, watches hold no seat, and 0 is no bound", () => {
  const { enter, limits } = open({ readOnlyMax: 1, mutatingMax: 1 });
  enter("GET", PODS);
  enter("POST", PODS);
  for (let i = 0; i < 3; i++) {
    enter("GET", `${PODS}?watch=true`);
    enter("GET", "/livez");
  }
  assert.equal(limits.readOnly, 1);
  enter("GET", PODS, ["system:masters"]);
  enter("POST", PODS, ["system:masters"]);
  assert.deepEqual([limits.readOnly, limits.mutating], [2, 2], "they are counted all the same");
  refused(() => enter("GET", PODS, ["system:nodes"]));

  const unbounded = open({ readOnlyMax: 0, mutatingMax: 0 });
  for (let i = 0; i < 1000; i++) unbounded.enter(i % 2 === 0 ? "GET" : "POST", PODS);
  assert.deepEqual([unbounded.limits.readOnly, unbounded.limits.mutating], [500, 500]);
});

test("44: in a control plane administrators are refused as well", () => {
  const { enter } = open({ readOnlyMax: 1, mutatingMax: 1, isOfControlPlane: true });
  for (const method of ["GET", "POST"]) {
    enter(method, PODS, ["system:masters"]);
    refused(() => enter(method, PODS, ["system:masters"]));
  }
});

function open(bounds: InFlightLimitsOptions) {
  const limits = new InFlightLimits(bounds);
  const terminations: number[] = [];
  const metrics = {
    countTermination: (_info: object, code: number) => terminations.push(code),
  } as unknown as Metrics;
  const step = withInFlightLimit(limits, metrics);
  return {
    limits,
    terminations,
    enter(method: string, target: string, groups: readonly string[] = ["system:authenticated"]) {
      const info = parseRequestInfo(method, target);
      const ctx = { state: { info, user: createUser({ name: "jane", groups }) } };
      assert.equal(step.check(ctx as unknown as RequestContext), undefined);
      return ctx as unknown as RequestContext;
    },
    leave: (ctx: RequestContext) => step.leave?.(ctx, undefined),
  };
}

function refused(enter: () => unknown): void {
  assert.throws(enter, (error: unknown) => {
    assert.ok(error instanceof StatusError);
    assert.equal(error.status.code, 429);
    assert.equal(error.status.details?.retryAfterSeconds, 1);
    return true;
  });
}
