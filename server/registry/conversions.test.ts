/** Conversions lose nothing: a round trip yields the same object, whatever its content. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ApiObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { createConversions } from "./conversions.js";

const conversions = createConversions(createNaming("kubernetes"));
const autoscaler = conversions["autoscaling/v1/horizontalpodautoscalers"];
const event = conversions["events/v1/events"];
assert.ok(autoscaler && event);

const quantity = fc.constantFrom("1", "500m", "2Gi");
const selector = fc.option(fc.constant({ matchLabels: { a: "b" } }), { nil: undefined });
const identifier = fc.record({ name: fc.constantFrom("rps", "queue"), selector }).map(clean);
const averageTarget = quantity.map((averageValue) => ({ type: "AverageValue", averageValue }));
const utilization = fc.nat(100).map((n) => ({ type: "Utilization", averageUtilization: n }));
const valueTarget = quantity.map((value) => ({ type: "Value", value }));
const described = { kind: "Service", name: "s", apiVersion: "v1" };

/** Metrics of every kind; CPU utilization comes last, where it is read from v1. */
const otherMetric = fc.oneof(
  fc.oneof(averageTarget, utilization).map((target) => ({
    type: "Resource",
    resource: { name: "memory", target },
  })),
  averageTarget.map((target) => ({ type: "Resource", resource: { name: "cpu", target } })),
  utilization.map((target) => ({
    type: "ContainerResource",
    containerResource: { name: "cpu", container: "c", target },
  })),
  fc
    .tuple(identifier, averageTarget)
    .map(([metric, target]) => ({ type: "Pods", pods: { metric, target } })),
  fc.tuple(identifier, valueTarget).map(([metric, target]) => ({
    type: "Object",
    object: { describedObject: described, metric, target },
  })),
  fc
    .tuple(identifier, fc.oneof(valueTarget, averageTarget))
    .map(([metric, target]) => ({ type: "External", external: { metric, target } })),
);

function clean<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

test("autoscaling/v1 keeps every metric, the behavior and the status of autoscaling/v2", () => {
  const main = fc.option(
    utilization.map((target) => ({ type: "Resource", resource: { name: "cpu", target } })),
    { nil: undefined },
  );
  const metrics = fc
    .tuple(main, fc.array(otherMetric, { maxLength: 4 }))
    .map(([last, others]) => (last === undefined ? others : [...others, last]))
    .filter((list) => list.length > 0);
  const policies = [{ type: "Pods", value: 4, periodSeconds: 15 }];
  const behavior = fc.option(fc.constant({ scaleUp: { selectPolicy: "Max", policies } }), {
    nil: undefined,
  });
  const currentMetrics = fc.constantFrom(null, [
    {
      type: "Resource",
      resource: { name: "cpu", current: { averageValue: "100m", averageUtilization: 40 } },
    },
  ]);
  const conditions = fc.option(
    fc.constant([{ type: "AbleToScale", status: "True", lastTransitionTime: null }]),
    { nil: undefined },
  );
  const object = fc
    .record({ metrics, behavior, currentMetrics, conditions, annotated: fc.boolean() })
    .map((parts) =>
      clean({
        kind: "HorizontalPodAutoscaler",
        apiVersion: "autoscaling/v2",
        metadata: { name: "h", ...(parts.annotated ? { annotations: { mine: "kept" } } : {}) },
        spec: {
          scaleTargetRef: { kind: "Deployment", name: "web" },
          maxReplicas: 3,
          metrics: parts.metrics,
          behavior: parts.behavior,
        },
        status: {
          currentReplicas: 1,
          desiredReplicas: 2,
          currentMetrics: parts.currentMetrics,
          conditions: parts.conditions,
        },
      }),
    );
  fc.assert(
    fc.property(object, (stored) => {
      const served = autoscaler.fromStored(structuredClone(stored) as unknown as ApiObject);
      assert.equal((served.spec as { metrics?: unknown }).metrics, undefined);
      const back = autoscaler.toStored(clean(served));
      assert.deepEqual(clean(back), stored);
    }),
  );
});

test("autoscaling/v1's own field is a processor metric of autoscaling/v2", () => {
  const stored = autoscaler.toStored({
    kind: "HorizontalPodAutoscaler",
    apiVersion: "autoscaling/v1",
    metadata: { name: "h", annotations: { "autoscaling.alpha.kubernetes.io/metrics": "not json" } },
    spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 55 },
    status: { currentCPUUtilizationPercentage: 40 },
  });
  const target = { type: "Utilization", averageUtilization: 55 };
  assert.deepEqual(stored.spec, {
    maxReplicas: 3,
    metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
  });
  const current = { averageUtilization: 40 };
  assert.deepEqual(stored.status, {
    currentMetrics: [{ type: "Resource", resource: { name: "cpu", current } }],
  });
  assert.equal(stored.metadata.annotations, undefined);
});

test("both forms of an Event hold the same", () => {
  const served: ApiObject = {
    kind: "Event",
    apiVersion: "events.k8s.io/v1",
    metadata: { name: "e" },
    eventTime: "2026-01-01T00:00:00.000000Z",
    series: { count: 2, lastObservedTime: "2026-01-01T00:00:00.000000Z" },
    reportingController: "x/y",
    reportingInstance: "i",
    action: "a",
    reason: "r",
    regarding: { kind: "Pod", name: "p" },
    related: { kind: "Node", name: "n" },
    note: "hello",
    type: "Normal",
    deprecatedSource: { component: "c" },
    deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
    deprecatedLastTimestamp: "2026-01-01T00:00:00Z",
    deprecatedCount: 3,
  };
  const stored = event.toStored(served);
  assert.deepEqual(stored.involvedObject, { kind: "Pod", name: "p" });
  assert.equal(stored.message, "hello");
  assert.equal(stored.reportingComponent, "x/y");
  assert.equal(stored.note, undefined);
  assert.deepEqual(event.fromStored(stored), served);
});

test("R1: annotations of autoscaling/v1 that say nothing are dropped, and 80 % is the target of no metric", () => {
  const annotated = (text: string) => ({
    kind: "HorizontalPodAutoscaler",
    apiVersion: "autoscaling/v1",
    metadata: { name: "h", annotations: { "autoscaling.alpha.kubernetes.io/metrics": text } },
    spec: { maxReplicas: 3 },
  });
  const target = { type: "Utilization", averageUtilization: 80 };
  for (const text of ["[]", "{", '"x"']) {
    const { spec, metadata } = autoscaler.toStored(annotated(text));
    assert.equal(metadata.annotations, undefined);
    const metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
    assert.deepEqual(spec, { maxReplicas: 3, metrics });
  }
});

test("R1: the behavior in its annotation has capital letters and all members, and is read in any case", () => {
  const name = "autoscaling.alpha.kubernetes.io/behavior";
  const policies = [{ type: "Pods", value: 4, periodSeconds: 15 }];
  const behavior = { scaleDown: { selectPolicy: "Max", policies } };
  const stored = { metadata: { name: "h" }, spec: { maxReplicas: 3, behavior } };
  const served = autoscaler.fromStored(stored as unknown as ApiObject);
  assert.equal(
    served.metadata.annotations?.[name],
    '{"ScaleUp":null,"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15}],"Tolerance":null}}',
  );
  const back = autoscaler.toStored(served);
  assert.deepEqual((back.spec as { behavior?: unknown }).behavior, behavior);

  // What it leaves out has no default there, and is refused.
  const annotations = { [name]: '{"ScaleUp":{"StabilizationWindowSeconds":5}}' };
  const sent = { metadata: { name: "h", annotations }, spec: { maxReplicas: 3 } };
  const { spec } = autoscaler.toStored(sent as unknown as ApiObject);
  const scaleUp = { stabilizationWindowSeconds: 5, policies: [] };
  assert.deepEqual((spec as { behavior?: unknown }).behavior, { scaleUp });
});
