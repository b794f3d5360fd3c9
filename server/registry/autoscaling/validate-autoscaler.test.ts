/** Rules for autoscalers: what is accepted, what is refused and how. */
import { test } from "node:test";
import { checkChanges, checkProblems, type TestObject } from "../testing/problems.js";

const target = { kind: "Deployment", name: "web", apiVersion: "apps/v1" };
const scaled = (parts: object): TestObject => ({
  spec: { scaleTargetRef: target, maxReplicas: 3, ...parts },
});
const measured = (metric: object): TestObject => scaled({ metrics: [metric] });
const cpu = (parts: object) => ({ type: "Resource", resource: { name: "cpu", target: parts } });
const to = (parts: object) => ({ type: "Value", ...parts });
const between = (minReplicas: number): TestObject => scaled({ minReplicas, maxReplicas: 9 });

test("autoscalers are accepted or refused by their rules, field by field", () => {
  checkProblems("autoscaling/v2/horizontalpodautoscalers", [
    [scaled({})],
    [scaled({ metrics: [cpu({ type: "Utilization", averageUtilization: 80 })] })],
    [scaled({ behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } })],
    [
      scaled({ maxReplicas: 0 }),
      "spec.maxReplicas: Required value: must be set and greater than 0",
      "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
    ],
    [
      scaled({ minReplicas: 4 }),
      "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
    ],
    [
      scaled({ minReplicas: 0 }),
      "spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
      "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ],
    [
      scaled({ metrics: [{ type: "Resource" }] }),
      "spec.metrics[0].resource: Required value: must populate information for the given metric source",
    ],
    [
      scaled({ metrics: [cpu({ type: "Utilization" })] }),
      "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a target utilization",
    ],
    [
      scaled({
        behavior: { scaleUp: { policies: [{ type: "Pods", value: 0, periodSeconds: 2000 }] } },
      }),
      "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
      "spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 2000: must be less than or equal to 1800",
    ],
    [
      scaled({ minReplicas: -1 }),
      "spec.minReplicas: Invalid value: -1: must be greater than or equal to 1",
    ],
    [
      scaled({ scaleTargetRef: { kind: "a/b", name: "" } }),
      "spec.scaleTargetRef.kind: Invalid value: \"a/b\": may not contain '/'",
      "spec.scaleTargetRef.name: Required value",
      'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ],
    [
      measured({ type: "Disk" }),
      'spec.metrics[0].type: Unsupported value: "Disk": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      'spec.metrics[0].type: Unsupported value: "Disk": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      measured({}),
      "spec.metrics[0].type: Required value: must specify a metric source type",
      'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      'spec.metrics[0].type: Unsupported value: "": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    ],
    [
      measured({ type: "Resource", resource: { target: { averageUtilization: 50 } } }),
      "spec.metrics[0].resource.name: Required value: must specify a resource name",
      "spec.metrics[0].resource.target.type: Required value: must specify a metric target type",
      'spec.metrics[0].resource.target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
    ],
    [
      measured({
        type: "External",
        external: { metric: { name: "" }, target: to({ value: "1" }) },
      }),
      "spec.metrics[0].external.metric.name: Required value: must specify a metric name",
    ],
    [
      measured({ type: "Pods", pods: { metric: { name: "a/b" }, target: to({}) } }),
      "spec.metrics[0].pods.metric.name: Invalid value: \"a/b\": may not contain '/'",
      "spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue",
    ],
    [
      measured({
        type: "Pods",
        pods: { metric: { name: "m" }, target: to({ averageValue: "0" }) },
      }),
      'spec.metrics[0].pods.target.averageValue: Invalid value: "0": must be positive',
    ],
    [
      measured({
        type: "Object",
        object: {
          describedObject: { kind: "K", name: "n" },
          metric: { name: "m" },
          target: to({}),
        },
      }),
      "spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue",
    ],
    [
      measured({
        type: "External",
        external: { metric: { name: "m" }, target: to({ value: "1", averageValue: "2" }) },
      }),
      "spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target",
    ],
    [
      measured({
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 0 } },
      }),
      "spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
    ],
    [
      measured({
        type: "Resource",
        resource: {
          name: "cpu",
          target: { type: "Utilization", averageUtilization: 50, averageValue: "1" },
        },
        pods: { metric: { name: "m" }, target: to({ averageValue: "1" }) },
      }),
      "spec.metrics[0].pods: Forbidden: must populate the given metric source only",
    ],
    [
      measured({
        type: "ContainerResource",
        containerResource: {
          name: "cpu",
          container: "",
          target: { type: "Other", averageUtilization: 50 },
        },
      }),
      "spec.metrics[0].containerResource.container: Required value: must specify a container",
      'spec.metrics[0].containerResource.target.type: Invalid value: "Other": must be either Utilization, Value, or AverageValue',
    ],
    [
      scaled({
        behavior: {
          scaleDown: {
            selectPolicy: "Some",
            stabilizationWindowSeconds: 3601,
            policies: [{ type: "Pods", value: 1, periodSeconds: 0 }],
          },
        },
      }),
      "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600",
      'spec.behavior.scaleDown.selectPolicy: Unsupported value: "Some": supported values: "Disabled", "Max", "Min"',
      "spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero",
    ],
    [
      scaled({ behavior: { scaleUp: { stabilizationWindowSeconds: -1, policies: [] } } }),
      "spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero",
      "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
    ],
    [
      scaled({
        behavior: { scaleUp: { policies: [{ type: "Nodes", value: 1, periodSeconds: 15 }] } },
      }),
      'spec.behavior.scaleUp.policies[0].type: Unsupported value: "Nodes": supported values: "Percent", "Pods"',
    ],
  ]);
});

test("autoscalers of the old version are held to the same rules", () => {
  checkProblems("autoscaling/v1/horizontalpodautoscalers", [
    [scaled({ targetCPUUtilizationPercentage: 50 })],
    [
      scaled({ minReplicas: 5 }),
      "spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
    ],
  ]);
});

test("an autoscaler may change to what is right", () => {
  checkChanges("autoscaling/v2/horizontalpodautoscalers", [
    [between(1), between(2)],
    [
      between(1),
      between(10),
      "spec.maxReplicas: Invalid value: 9: must be greater than or equal to `minReplicas`",
    ],
  ]);
});

test("R9, R14, R41: bounds, policies, tolerances and references of an autoscaler, in pairs", () => {
  const down = (scaleDown: object) => scaled({ behavior: { scaleDown } });
  const at = "spec.behavior.scaleDown";
  const policy = { type: "Pods", value: 1, periodSeconds: 1800 };
  const describes = (apiVersion: string) =>
    measured({
      type: "Object",
      object: {
        describedObject: { kind: "Service", name: "s", apiVersion },
        metric: { name: "rps", selector: { matchLabels: { "-": "-" } } },
        target: to({ value: "1" }),
      },
    });
  checkProblems("autoscaling/v2/horizontalpodautoscalers", [
    [down({ policies: [policy] })],
    [down({ policies: [] }), `${at}.policies: Required value: must specify at least one Policy`],
    [down({ tolerance: "0" })],
    [
      down({ tolerance: "-1" }),
      `${at}.tolerance: Invalid value: "-1": must be greater than or equal to 0`,
    ],
    [down({ stabilizationWindowSeconds: 3600 })],
    [
      down({ stabilizationWindowSeconds: -1 }),
      `${at}.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero`,
    ],
    [
      scaled({ maxReplicas: -1, minReplicas: 1 }),
      "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
      "spec.maxReplicas: Invalid value: -1: must be greater than or equal to `minReplicas`",
    ],
    [scaled({ scaleTargetRef: { kind: "ReplicationController", name: "a", apiVersion: "v1" } })],
    [
      scaled({ scaleTargetRef: { kind: "Deployment", name: "a" } }),
      'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ],
    [
      scaled({ scaleTargetRef: { kind: "Deployment", name: "a", apiVersion: "a/b/c" } }),
      'spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
    [describes("v1")],
    [
      describes("a/b/c"),
      'spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
  ]);
});
