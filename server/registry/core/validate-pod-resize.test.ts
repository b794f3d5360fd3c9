/** What the resize endpoint takes, in release 1.36's answers (R23, R34), and what else of resources is judged (R19). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resize } from "../subresources/pod-parts.js";
import { changeProblems, checkProblems, storedOf, type TestObject } from "../testing/problems.js";

type Parts = Record<string, unknown>;
const main = {
  name: "c",
  image: "i",
  resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "2Gi" } },
};
const pod = (spec: Parts = {}, metadata: Parts = {}): TestObject => ({
  metadata: { name: "x", ...metadata },
  spec: { containers: [main], ...spec },
});
const amounts = (limits: Parts, requests: Parts = main.resources.requests) => ({
  containers: [
    { ...main, resources: { requests, limits: { ...main.resources.limits, ...limits } } },
  ],
});

/** The problems of a resize from one specification to another. */
function resized(before: Parts, sent: Parts, metadata: Parts = {}): string[] {
  const current = storedOf("v1/pods", pod(before, metadata));
  const wanted = storedOf("v1/pods", pod(sent));
  const next = resize.part.merge(wanted, current, {} as never) as unknown as TestObject;
  return changeProblems("v1/pods", pod(before, metadata), next, "resize");
}

test("R23, R34: amounts of containers and of the pod change, down too; all else stays", () => {
  assert.deepEqual(resized({}, amounts({ memory: "1500Mi" })), []);
  assert.deepEqual(resized({}, amounts({ cpu: "8" }, { cpu: "3", memory: "1Gi" })), []);
  assert.deepEqual(resized({}, { containers: [{ ...main, image: "j" }] }), []);
  assert.deepEqual(resized({}, { resources: { limits: { cpu: "3" } } }), []);
  const only = "spec: Forbidden: only cpu and memory resources are mutable";
  const policy = [{ resourceName: "cpu", restartPolicy: "RestartContainer" }];
  assert.deepEqual(resized({}, { containers: [{ ...main, resizePolicy: policy }] }), [only]);
  assert.deepEqual(resized({}, amounts({ "ephemeral-storage": "1Gi" })), [only]);
  const own = { resources: { limits: { cpu: "4" } } };
  assert.deepEqual(resized(own, { resources: { limits: { cpu: "3" } } }), []);
  assert.deepEqual(resized(own, {}), [
    "spec.resources: Forbidden: pod-level resources cannot be removed",
  ]);
  assert.deepEqual(resized(own, { resources: { limits: { cpu: "1" } } }), [
    'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
  ]);
});

test("R34: containers are not added, removed, renamed or left without what they had", () => {
  const two = { containers: [main, { ...main, name: "d" }] };
  assert.deepEqual(resized({}, two), [
    "spec.containers: Forbidden: containers may not be added or removed on resize",
  ]);
  assert.deepEqual(resized(two, { containers: [...two.containers].reverse() }), [
    "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
    "spec.containers[1].name: Forbidden: containers may not be renamed or reordered on resize",
  ]);
  const less = {
    containers: [{ ...main, resources: { ...main.resources, limits: { cpu: "2" } } }],
  };
  assert.deepEqual(resized({}, less), [
    "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
  ]);
  const first = { name: "first", image: "i", resources: { requests: { cpu: "1" } } };
  const more = { ...first, resources: { requests: { cpu: "2" } } };
  assert.deepEqual(resized({ initContainers: [first] }, { initContainers: [more] }), []);
});

test("R34: a quality does not change, and static pods and those of Windows are not resized", () => {
  const equal = {
    containers: [
      {
        ...main,
        resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1", memory: "1Gi" } },
      },
    ],
  };
  assert.deepEqual(resized({}, equal), [
    'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
  ]);
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  assert.deepEqual(resized({ nodeName: "n" }, amounts({ cpu: "3" }), mirror), [
    "[]: Forbidden: static pods cannot be resized",
  ]);
  assert.deepEqual(resized({ os: { name: "windows" } }, amounts({ cpu: "3" })), [
    "[]: Forbidden: windows pods cannot be resized",
  ]);
});

test("R19, R20: what a whole pod asks for, and claims that are used twice", () => {
  const claims = (...used: Parts[]) =>
    pod({
      resourceClaims: [{ name: "a", resourceClaimName: "x" }],
      containers: [{ name: "c", image: "i", resources: { claims: used } }],
    });
  checkProblems("v1/pods", [
    [pod({ resources: { requests: { cpu: "3" } } })],
    [
      pod({ resources: { limits: { "ephemeral-storage": "1Gi" } } }),
      'spec.resources.limits[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
    ],
    [
      pod({ resources: { limits: { cpu: "1" } } }),
      'spec.resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1',
    ],
    [
      pod({ resources: { limits: { cpu: "4" } }, os: { name: "windows" } }),
      "spec.resources: Forbidden: may not be set for a windows pod",
    ],
    [claims({ name: "a", request: "r" }, { name: "a", request: "s" })],
    [
      claims({ name: "a" }, { name: "a", request: "r" }),
      'spec.containers[0].resources.claims[1]: Duplicate value: "a"',
    ],
  ]);
});

test("R22: the values of a new pod's labels are written into the selectors beside their keys", () => {
  const term = (more: Parts) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: "t", labelSelector: { matchLabels: { a: "b" } }, ...more },
        ],
      },
    },
  });
  const labels = { a: "b", x: "1", y: "2" };
  const { spec } = storedOf(
    "v1/pods",
    pod(term({ matchLabelKeys: ["x", "none"], mismatchLabelKeys: ["y"] }), { labels }),
  ) as unknown as {
    spec: { affinity: { podAntiAffinity: Record<string, { labelSelector: Parts }[]> } };
  };
  const [found] =
    spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  assert.deepEqual(found?.labelSelector.matchExpressions, [
    { key: "x", operator: "In", values: ["1"] },
    { key: "y", operator: "NotIn", values: ["2"] },
  ]);
  const at = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]";
  const why = "exists in both matchLabelKeys and labelSelector";
  checkProblems("v1/pods", [
    [pod(term({ matchLabelKeys: ["a"] }), { labels }), `${at}[0]: Invalid value: "a": ${why}`],
    [pod(term({ matchLabelKeys: ["x", "x"] }), { labels }), `${at}[1]: Invalid value: "x": ${why}`],
  ]);
});
