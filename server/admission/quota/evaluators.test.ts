/** Usage of pods, services, claims and all other objects, by the names in quotas. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "../../api/meta.js";
import { createNaming, DEFAULT_VENDOR } from "../../api/naming.js";
import type { DeviceFacts } from "./device-facts.js";
import { Evaluators } from "./evaluators.js";
import type { QuotaObject, ScopeTerm } from "./quota-object.js";
import { isInScopes } from "./scopes.js";
import { formatUsage } from "./usage.js";

const GPU = "example.com/gpu";

/** The class `gpu` is an extended resource, and claims named `made` were made for this pod. */
const asked = { [GPU]: "2", "deviceclass.resource.kubernetes.io/nic": "1" };
const podOfClaims = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "c", resources: { requests: asked, limits: asked } }] },
};
const devices: DeviceFacts = {
  extendedResourceOf: (className) => (className === "gpu" ? GPU : undefined),
  isExtendedResource: (name) => [GPU, "deviceclass.resource.kubernetes.io/gpu"].includes(name),
  podOf: ({ metadata }) => (metadata.name === "made" ? podOfClaims : undefined),
};
const evaluators = new Evaluators(createNaming(DEFAULT_VENDOR), devices);
/** The fields of an object that the code under test reads. */
const objectOf = (parts: object) => ({ metadata: { name: "x" }, ...parts }) as unknown as ApiObject;

const quotaOf = (spec: QuotaObject["spec"]) => objectOf({ spec }) as QuotaObject;

const NOW_MS = Date.parse("2026-01-01T00:01:00Z");

function evaluatorOf(resource: string, group = "") {
  const evaluator = evaluators.of(group, resource);
  assert.ok(evaluator !== undefined);
  return evaluator;
}

function usageOf(resource: string, object: object, group = ""): Record<string, string> {
  return formatUsage(evaluatorOf(resource, group).usage(objectOf(object), NOW_MS));
}

const container = (requests: object, limits: object = {}, more: object = {}) => ({
  name: "c",
  resources: { requests, limits },
  ...more,
});

test("a pod uses what its containers ask for, in every spelling", () => {
  const asked = {
    cpu: "100m",
    memory: "1Gi",
    "ephemeral-storage": "2Gi",
    "hugepages-2Mi": "4Mi",
    "example.com/gpu": "2",
  };
  const limits = { cpu: "1", memory: "2Gi", "ephemeral-storage": "3Gi", "example.com/gpu": "2" };
  const spec = { containers: [container(asked, limits), container({ cpu: "50m" })] };
  assert.deepEqual(usageOf("pods", { spec }), {
    "count/pods": "1",
    cpu: "150m",
    "ephemeral-storage": "2Gi",
    "hugepages-2Mi": "4Mi",
    "limits.cpu": "1",
    "limits.ephemeral-storage": "3Gi",
    "limits.memory": "2Gi",
    memory: "1Gi",
    pods: "1",
    "requests.cpu": "150m",
    "requests.ephemeral-storage": "2Gi",
    "requests.example.com/gpu": "2",
    "requests.hugepages-2Mi": "4Mi",
    "requests.memory": "1Gi",
  });
});

test("init containers, overhead, the pod's own amounts and a resize under way count", () => {
  const cpu = (object: object) => {
    const { cpu: requested, "limits.cpu": limited } = usageOf("pods", object);
    return [requested, limited];
  };
  const containers = [container({ cpu: "1" }, { cpu: "2" })];
  const initContainers = [container({ cpu: "3" }, { cpu: "3" }, { name: "i" })];
  assert.deepEqual(cpu({ spec: { containers } }), ["1", "2"]);
  assert.deepEqual(cpu({ spec: { containers, initContainers } }), ["3", "3"]);
  assert.deepEqual(cpu({ spec: { containers, overhead: { cpu: "500m" } } }), ["1500m", "2500m"]);
  const unlimited = [container({ cpu: "1" })];
  const withOverhead = { containers: unlimited, overhead: { cpu: "500m" } };
  assert.deepEqual(cpu({ spec: withOverhead }), ["1500m", undefined]);
  const resources = { requests: { cpu: "5" }, limits: { cpu: "6" } };
  assert.deepEqual(cpu({ spec: { containers, resources } }), ["5", "6"]);
  const status = {
    containerStatuses: [
      {
        name: "c",
        allocatedResources: { cpu: "4" },
        resources: { requests: { cpu: "1" }, limits: { cpu: "5" } },
      },
    ],
  };
  assert.deepEqual(cpu({ spec: { containers }, status }), ["4", "5"]);
  const larger = [container({ cpu: "8" }, { cpu: "8" })];
  assert.deepEqual(cpu({ spec: { containers: larger }, status }), ["8", "8"]);
  const conditions = [{ type: "PodResizePending", reason: "Infeasible" }];
  const infeasible = { ...status, conditions };
  assert.deepEqual(cpu({ spec: { containers: larger }, status: infeasible }), ["4", "5"]);
});

test("a pod that has ended, or should have, only has its place in count/pods", () => {
  const spec = { containers: [container({ cpu: "1" })] };
  const over = { "count/pods": "1" };
  for (const phase of ["Succeeded", "Failed"]) {
    assert.deepEqual(usageOf("pods", { spec, status: { phase } }), over);
  }
  const deletedAt = (deletionTimestamp: string) => ({
    spec,
    metadata: { name: "x", deletionTimestamp, deletionGracePeriodSeconds: 10 },
  });
  assert.deepEqual(usageOf("pods", deletedAt("2026-01-01T00:00:49Z")), over);
  assert.equal(usageOf("pods", deletedAt("2026-01-01T00:00:51Z")).pods, "1");
});

test("a container must say what a quota bounds of cpu and memory, unless the pod does", () => {
  const { problem } = evaluatorOf("pods");
  const bounded = ["pods", "limits.cpu", "requests.memory", "limits.ephemeral-storage"];
  const of = (spec: object) => problem?.(objectOf({ spec }), bounded);
  const named = (name: string, requests: object, limits: object) => ({
    ...container(requests, limits),
    name,
  });
  assert.equal(
    of({
      containers: [named("b", {}, {}), named("a", { memory: "1" }, {})],
      initContainers: [named("i", { memory: "1" }, { cpu: "1" })],
    }),
    "must specify limits.cpu for: a,b; requests.memory for: b",
  );
  assert.equal(of({ containers: [named("a", { memory: "1" }, { cpu: "1" })] }), undefined);
  const resources = { requests: { cpu: "1" } };
  assert.equal(of({ containers: [named("a", {}, {})], resources }), undefined);
});

test("services count their node ports and load balancers by what they are meant to get", () => {
  const of = (spec: object) => {
    const usage = usageOf("services", { spec });
    assert.equal(usage.services, "1");
    assert.equal(usage["count/services"], "1");
    return [usage["services.nodeports"], usage["services.loadbalancers"]];
  };
  const ports = [{ port: 1 }, { port: 2, nodePort: 30_001 }];
  assert.deepEqual(of({ type: "ClusterIP", ports }), ["0", "0"]);
  assert.deepEqual(of({ type: "NodePort", ports }), ["2", "0"]);
  assert.deepEqual(of({ type: "LoadBalancer", ports }), ["2", "1"]);
  const allocateLoadBalancerNodePorts = false;
  assert.deepEqual(of({ type: "LoadBalancer", ports, allocateLoadBalancerNodePorts }), ["1", "1"]);
});

test("claims count altogether and per class, in whole bytes, with what a resize has given", () => {
  const requests = { storage: "1500m" };
  const gold = "gold.storageclass.storage.k8s.io/";
  assert.deepEqual(
    usageOf("persistentvolumeclaims", {
      spec: { storageClassName: "gold", resources: { requests } },
    }),
    {
      "count/persistentvolumeclaims": "1",
      [`${gold}persistentvolumeclaims`]: "1",
      [`${gold}requests.storage`]: "2",
      persistentvolumeclaims: "1",
      "requests.storage": "2",
    },
  );
  const status = { allocatedResources: { storage: "3Gi" } };
  const spec = { resources: { requests: { storage: "2Gi" } } };
  assert.equal(usageOf("persistentvolumeclaims", { spec, status })["requests.storage"], "3Gi");
  const { uses } = evaluatorOf("persistentvolumeclaims");
  assert.ok(uses("silver.storageclass.storage.k8s.io/requests.storage"));
  assert.ok(!uses("requests.cpu"));
});

test("everything else counts one by one; some have an older name besides", () => {
  assert.deepEqual(usageOf("configmaps", {}), { configmaps: "1", "count/configmaps": "1" });
  assert.deepEqual(usageOf("deployments", {}, "apps"), { "count/deployments.apps": "1" });
  assert.deepEqual(usageOf("serviceaccounts", {}), { "count/serviceaccounts": "1" });
  for (const resource of ["secrets", "replicationcontrollers", "resourcequotas"]) {
    assert.equal(usageOf(resource, {})[resource], "1");
  }
  assert.equal(evaluators.of("", "events"), undefined);
  assert.equal(evaluators.of("authorization.k8s.io", "localsubjectaccessreviews"), undefined);
});

test("only writes that can raise usage are charged", () => {
  const charges = (resource: string, operation: "CREATE" | "UPDATE", subresource = "") =>
    evaluatorOf(resource).charges(operation, subresource);
  assert.deepEqual(
    [
      charges("pods", "CREATE"),
      charges("pods", "UPDATE", "resize"),
      charges("services", "UPDATE"),
      charges("persistentvolumeclaims", "UPDATE"),
      charges("persistentvolumeclaims", "UPDATE", "status"),
      charges("configmaps", "CREATE"),
    ],
    [true, true, true, true, true, true],
  );
  assert.deepEqual(
    [
      charges("pods", "UPDATE", "status"),
      charges("pods", "CREATE", "binding"),
      charges("services", "UPDATE", "status"),
      charges("configmaps", "UPDATE"),
      charges("serviceaccounts", "CREATE", "token"),
    ],
    [false, false, false, false, false],
  );
});

test("R2: an update of a pod counts when it moves the pod into another scope", () => {
  const pod = (spec: object) => objectOf({ spec: { containers: [], ...spec } });
  const changes = (before: object, after: object) =>
    evaluatorOf("pods").chargesChange?.(pod(after), pod(before));
  assert.ok(evaluatorOf("pods").charges("UPDATE", ""));
  assert.ok(changes({}, { activeDeadlineSeconds: 50 }));
  assert.ok(!changes({ activeDeadlineSeconds: 50 }, { activeDeadlineSeconds: 40 }));
  assert.ok(!changes({}, { tolerations: [{ key: "a" }] }));
});

test("scopes choose among pods", () => {
  const pod = (spec: object) => objectOf({ spec: { containers: [], ...spec } });
  const isIn = (object: ApiObject, ...terms: readonly (string | ScopeTerm)[]) => {
    const scopes = terms.filter((term) => typeof term === "string");
    const matchExpressions = terms.filter((term) => typeof term !== "string");
    const quota = quotaOf({ scopes, scopeSelector: { matchExpressions } });
    return isInScopes(quota, evaluatorOf("pods"), object);
  };
  const plain = pod({});
  const ending = pod({ activeDeadlineSeconds: 0 });
  const asking = pod({ containers: [container({ memory: "1" })] });
  assert.ok(isIn(plain));
  assert.deepEqual([isIn(plain, "Terminating"), isIn(ending, "Terminating")], [false, true]);
  assert.deepEqual([isIn(plain, "NotTerminating"), isIn(ending, "NotTerminating")], [true, false]);
  assert.deepEqual([isIn(plain, "BestEffort"), isIn(asking, "BestEffort")], [true, false]);
  assert.deepEqual([isIn(plain, "NotBestEffort"), isIn(asking, "NotBestEffort")], [false, true]);
  assert.ok(!isIn(ending, "Terminating", "NotBestEffort"), "all of them");

  const urgent = pod({ priorityClassName: "high" });
  const classTerm = (operator: string, ...values: string[]): ScopeTerm => {
    return { scopeName: "PriorityClass", operator, values };
  };
  const classes = [
    classTerm("Exists"),
    classTerm("DoesNotExist"),
    classTerm("In", "high"),
    classTerm("In", "low"),
    classTerm("NotIn", "high"),
    classTerm("NotIn", "low"),
  ];
  assert.deepEqual(
    classes.map((term) => [isIn(urgent, term), isIn(plain, term)]),
    [
      [true, false],
      [false, true],
      [true, false],
      [false, false],
      [false, true],
      [true, true],
    ],
  );

  const near = { topologyKey: "zone" };
  const far = { ...near, namespaces: ["other"] };
  const required = (term: object) => ({ requiredDuringSchedulingIgnoredDuringExecution: [term] });
  const preferred = (podAffinityTerm: object) => ({
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm }],
  });
  const looks = (affinity: object) => isIn(pod({ affinity }), "CrossNamespacePodAffinity");
  assert.ok(!looks({ podAffinity: required(near) }));
  assert.ok(looks({ podAffinity: required(far) }));
  assert.ok(looks({ podAntiAffinity: preferred({ ...near, namespaceSelector: {} }) }));
});

test("a claim is in the scope of the classes that it has, had or is to have", () => {
  const evaluator = evaluatorOf("persistentvolumeclaims");
  const isIn = (claim: object, operator: string, ...values: string[]) => {
    const term = { scopeName: "VolumeAttributesClass", operator, values };
    return evaluator.isInScope?.(objectOf(claim), term);
  };
  const moving = {
    spec: { volumeAttributesClassName: "new" },
    status: { currentVolumeAttributesClassName: "old" },
  };
  assert.deepEqual(
    [isIn(moving, "In", "new"), isIn(moving, "In", "old"), isIn(moving, "In", "other")],
    [true, true, false],
  );
  assert.deepEqual(
    [isIn(moving, "Exists"), isIn({}, "Exists"), isIn({}, "NotIn", "x")],
    [true, false, true],
  );
  const configMaps = evaluatorOf("configmaps");
  const quota = quotaOf({ scopes: ["BestEffort"] });
  assert.ok(!isInScopes(quota, configMaps, objectOf({})), "in none");
});

test("A19: a claim of devices uses what it may get at most, by class", () => {
  const group = "resource.k8s.io";
  const requests = [
    { name: "a", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 2 } },
    { name: "b", exactly: { deviceClassName: "nic", allocationMode: "All" } },
    {
      name: "c",
      firstAvailable: [
        { name: "x", deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 },
        { name: "y", deviceClassName: "gpu", allocationMode: "ExactCount", count: 3 },
        { name: "z", deviceClassName: "nic", allocationMode: "ExactCount", count: 1 },
      ],
    },
  ];
  assert.deepEqual(usageOf("resourceclaims", { spec: { devices: { requests } } }, group), {
    "count/resourceclaims.resource.k8s.io": "1",
    "gpu.deviceclass.resource.k8s.io/devices": "5",
    "nic.deviceclass.resource.k8s.io/devices": "33",
    "requests.deviceclass.resource.kubernetes.io/gpu": "5",
    "requests.deviceclass.resource.kubernetes.io/nic": "33",
    "requests.example.com/gpu": "5",
  });
  const evaluator = evaluatorOf("resourceclaims", group);
  assert.ok(evaluator.uses("gpu.deviceclass.resource.k8s.io/devices"));
  assert.equal(evaluator.charges("UPDATE", "status"), false);
});

test("A19: a claim made for a pod uses what its pod is not charged for", () => {
  const group = "resource.k8s.io";
  const wanted = (deviceClassName: string, count: number) => ({
    name: deviceClassName,
    exactly: { deviceClassName, allocationMode: "ExactCount", count },
  });
  const claim = {
    metadata: { name: "made" },
    spec: { devices: { requests: [wanted("gpu", 3), wanted("nic", 1)] } },
  };
  assert.deepEqual(usageOf("resourceclaims", claim, group), {
    "count/resourceclaims.resource.k8s.io": "1",
    "gpu.deviceclass.resource.k8s.io/devices": "3",
    "nic.deviceclass.resource.k8s.io/devices": "1",
    "requests.deviceclass.resource.kubernetes.io/gpu": "3",
    "requests.example.com/gpu": "1",
  });
});

test("A19: quotas of extended resources bound pods, and claims where a class stands behind them", () => {
  const names = [
    "requests.example.com/gpu",
    "requests.example.com/other",
    "requests.deviceclass.resource.kubernetes.io/gpu",
    "requests.deviceclass.resource.kubernetes.io/other",
    "deviceclass.resource.kubernetes.io/gpu",
    "example.com/gpu",
  ];
  const usedBy = (resource: string, group = "") =>
    names.map((name) => evaluatorOf(resource, group).uses(name));
  assert.deepEqual(usedBy("pods"), [true, true, true, true, false, false]);
  assert.deepEqual(usedBy("resourceclaims", "resource.k8s.io"), [
    ...[true, false, true, false, false, false],
  ]);
  const asked = { "deviceclass.resource.kubernetes.io/gpu": "2" };
  const { "requests.deviceclass.resource.kubernetes.io/gpu": used } = usageOf("pods", {
    spec: { containers: [container(asked, asked)] },
  });
  assert.equal(used, "2");
});
