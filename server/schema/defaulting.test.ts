import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import { loadFacts } from "../types/load-facts.js";
import { bindRules, createDefaulting, type DefaultingOptions } from "./defaulting.js";
import type { Facts } from "./model.js";

const facts = loadFacts(createNaming("kubernetes"));
const rows = bindRules(facts);

/** The value with the defaults of its type. */
function filled(
  id: string,
  value: JsonObject,
  options: DefaultingOptions = {},
  from: Facts = facts,
) {
  const type = from.model.type(id);
  assert(type?.form === "struct", id);
  const copy = structuredClone(value);
  createDefaulting(from, options)(type)?.(copy);
  return copy;
}

/** The value at a path such as "spec.ports.0.port". */
function at(value: JsonValue | undefined, path: string): JsonValue | undefined {
  if (path === "") return value;
  return path
    .split(".")
    .reduce<JsonValue | undefined>(
      (inner, name) => (inner as JsonObject | undefined)?.[name],
      value,
    );
}

const template = { metadata: { labels: { app: "web" } }, spec: {} };
const limited = (cpu: string) => ({ resources: { limits: { cpu } } });

/** For each rule: a value, and the result at some paths (undefined = unchanged). */
const EXAMPLES: Readonly<
  Record<
    string,
    readonly (readonly [JsonObject, Readonly<Record<string, JsonValue | undefined>>])[]
  >
> = {
  "core Pod spec.containers[].resources.requests": [
    [
      {
        spec: {
          containers: [{ resources: { limits: { cpu: "1" }, requests: { memory: "1Gi" } } }],
        },
      },
      { "spec.containers.0.resources.requests": { memory: "1Gi", cpu: "1" } },
    ],
    [
      { spec: { initContainers: [limited("2")], containers: [{ resources: {} }] } },
      {
        "spec.initContainers.0.resources.requests": { cpu: "2" },
        "spec.containers.0.resources.requests": undefined,
      },
    ],
  ],
  "core Pod spec.containers[].ports[].hostPort": [
    [
      { spec: { hostNetwork: true, containers: [{ ports: [{ containerPort: 80 }] }] } },
      { "spec.containers.0.ports.0.hostPort": 80 },
    ],
    [
      { spec: { containers: [{ ports: [{ containerPort: 80 }] }] } },
      { "spec.containers.0.ports.0.hostPort": undefined },
    ],
  ],
  "core Pod spec.resources.limits": [
    [
      {
        spec: {
          resources: { requests: { cpu: "1" } },
          containers: [
            { resources: { limits: { "hugepages-2Mi": "2Mi" } } },
            { resources: { limits: { "hugepages-2Mi": "4Mi" } } },
          ],
        },
      },
      { "spec.resources.limits": { "hugepages-2Mi": "6Mi" } },
    ],
    [
      { spec: { containers: [{ resources: { limits: { "hugepages-2Mi": "2Mi" } } }] } },
      { "spec.resources": undefined },
    ],
  ],
  "core Pod spec.resources.requests": [
    [
      {
        spec: {
          resources: { limits: { cpu: "4", memory: "8Gi", "x.example/y": "1" } },
          initContainers: [
            { restartPolicy: "Always", resources: { requests: { cpu: "100m" } } },
            { resources: { requests: { cpu: "2" } } },
          ],
          containers: [{ resources: { requests: { cpu: "500m" } } }],
        },
      },
      { "spec.resources.requests": { cpu: "2100m", memory: "8Gi" } },
    ],
    [{ spec: { containers: [limited("1")] } }, { "spec.resources": undefined }],
  ],
  "core Container imagePullPolicy": [
    [{ image: "nginx" }, { imagePullPolicy: "Always" }],
    [{ image: "host:5000/nginx" }, { imagePullPolicy: "Always" }],
    [{ image: "nginx:latest" }, { imagePullPolicy: "Always" }],
    [{ image: "Host/nginx" }, { imagePullPolicy: "Always" }],
    [{ image: "[::1]:50/x" }, { imagePullPolicy: "Always" }],
    [{ image: "a__b" }, { imagePullPolicy: "Always" }],
    [{ image: `nginx:latest@sha256:${"0".repeat(64)}` }, { imagePullPolicy: "Always" }],
    [{ image: "nginx", imagePullPolicy: "Never" }, { imagePullPolicy: "Never" }],
  ],
  "core Container imagePullPolicy#2": [
    [{ image: "nginx:1.27" }, { imagePullPolicy: "IfNotPresent" }],
    [{ image: "nginx@sha256:0123" }, { imagePullPolicy: "IfNotPresent" }],
    [{ image: "Nginx" }, { imagePullPolicy: "IfNotPresent" }],
    [{ image: "a___b" }, { imagePullPolicy: "IfNotPresent" }],
    [{ image: "nginx:" }, { imagePullPolicy: "IfNotPresent" }],
    [{ image: `nginx:latest@sha256:0123` }, { imagePullPolicy: "IfNotPresent" }],
    [{}, { imagePullPolicy: "IfNotPresent" }],
  ],
  "core ImageVolumeSource pullPolicy": [
    [{ reference: "models" }, { pullPolicy: "Always" }],
    [{ reference: "models:v1" }, { pullPolicy: "IfNotPresent" }],
  ],
  "core Volume emptyDir": [
    [{ name: "a" }, { emptyDir: {} }],
    [{ name: "a", secret: {} }, { emptyDir: undefined }],
  ],
  "core ResourceList *": [
    [
      { resources: { limits: { cpu: "100u", memory: "1Gi" } } },
      { "resources.limits": { cpu: "1m", memory: "1Gi" } },
    ],
  ],
  "core Namespace metadata.labels[*]": [
    [
      { metadata: { name: "n", labels: { "kubernetes.io/metadata.name": "x", a: "b" } } },
      { "metadata.labels": { "kubernetes.io/metadata.name": "n", a: "b" } },
    ],
    [{ metadata: {} }, { "metadata.labels": undefined }],
  ],
  "core NodeStatus allocatable": [
    [{ capacity: { cpu: "4" } }, { allocatable: { cpu: "4" } }],
    [{}, { allocatable: undefined }],
  ],
  "core LimitRangeItem default": [
    [
      { type: "Container", max: { cpu: "2", memory: "1Gi" }, default: { cpu: "1" } },
      { default: { cpu: "1", memory: "1Gi" } },
    ],
    [{ type: "Container" }, { default: {} }],
    [{ type: "Pod", max: { cpu: "2" } }, { default: undefined }],
  ],
  "core LimitRangeItem defaultRequest": [
    [
      { type: "Container", default: { cpu: "1" }, min: { cpu: "100m", memory: "1Mi" } },
      { defaultRequest: { cpu: "1", memory: "1Mi" } },
    ],
    [{ type: "Pod", min: { cpu: "2" } }, { defaultRequest: undefined }],
  ],
  "core ReplicationController spec.selector": [
    [{ metadata: {}, spec: { template } }, { "spec.selector": { app: "web" } }],
    [{ metadata: {}, spec: { template, selector: { a: "b" } } }, { "spec.selector": { a: "b" } }],
    [{ metadata: {}, spec: {} }, { "spec.selector": undefined }],
  ],
  "core ReplicationController metadata.labels": [
    [{ metadata: {}, spec: { template } }, { "metadata.labels": { app: "web" } }],
    [{ metadata: { labels: { a: "b" } }, spec: { template } }, { "metadata.labels": { a: "b" } }],
  ],
  "core Service spec.sessionAffinityConfig": [
    [
      { spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } } },
      { "spec.sessionAffinity": "None", "spec.sessionAffinityConfig": undefined },
    ],
  ],
  "core Service spec.sessionAffinityConfig.clientIP.timeoutSeconds": [
    [
      { spec: { sessionAffinity: "ClientIP" } },
      { "spec.sessionAffinityConfig.clientIP.timeoutSeconds": 10800 },
    ],
    [
      {
        spec: {
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
        },
      },
      { "spec.sessionAffinityConfig.clientIP.timeoutSeconds": 5 },
    ],
  ],
  "core Service spec.ports[].targetPort": [
    [
      {
        spec: {
          ports: [
            { port: 80, targetPort: 0 },
            { port: 81, targetPort: "" },
          ],
        },
      },
      { "spec.ports.0.targetPort": 80, "spec.ports.1.targetPort": 81 },
    ],
    [
      { spec: { ports: [{ port: 80, targetPort: "http" }] } },
      { "spec.ports.0.targetPort": "http" },
    ],
  ],
  "core Service spec.externalTrafficPolicy": [
    [{ spec: { type: "NodePort" } }, { "spec.externalTrafficPolicy": "Cluster" }],
    [{ spec: { externalIPs: ["192.0.2.1"] } }, { "spec.externalTrafficPolicy": "Cluster" }],
    [{ spec: {} }, { "spec.externalTrafficPolicy": undefined, "spec.type": "ClusterIP" }],
  ],
  "core Service spec.internalTrafficPolicy": [
    [{ spec: {} }, { "spec.internalTrafficPolicy": "Cluster" }],
    [{ spec: { type: "ExternalName" } }, { "spec.internalTrafficPolicy": undefined }],
  ],
  "core Service spec.allocateLoadBalancerNodePorts": [
    [{ spec: { type: "LoadBalancer" } }, { "spec.allocateLoadBalancerNodePorts": true }],
    [{ spec: {} }, { "spec.allocateLoadBalancerNodePorts": undefined }],
  ],
  "core Service status.loadBalancer.ingress[].ipMode": [
    [
      {
        spec: { type: "LoadBalancer" },
        status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }, { hostname: "h" }] } },
      },
      {
        "status.loadBalancer.ingress.0.ipMode": "VIP",
        "status.loadBalancer.ingress.1.ipMode": undefined,
      },
    ],
  ],
  "apps Deployment spec.strategy.rollingUpdate.maxUnavailable": [
    [{ spec: { strategy: {} } }, { "spec.strategy.rollingUpdate.maxUnavailable": "25%" }],
    [{ spec: { strategy: { type: "Recreate" } } }, { "spec.strategy.rollingUpdate": undefined }],
  ],
  "apps Deployment spec.strategy.rollingUpdate.maxSurge": [
    [
      { spec: { strategy: { rollingUpdate: { maxUnavailable: 0 } } } },
      { "spec.strategy.rollingUpdate": { maxUnavailable: 0, maxSurge: "25%" } },
    ],
  ],
  "apps DaemonSet spec.updateStrategy.rollingUpdate.maxUnavailable": [
    [{ spec: { updateStrategy: {} } }, { "spec.updateStrategy.rollingUpdate.maxUnavailable": 1 }],
    [
      { spec: { updateStrategy: { type: "OnDelete" } } },
      { "spec.updateStrategy.rollingUpdate": undefined },
    ],
  ],
  "apps DaemonSet spec.updateStrategy.rollingUpdate.maxSurge": [
    [{ spec: { updateStrategy: {} } }, { "spec.updateStrategy.rollingUpdate.maxSurge": 0 }],
  ],
  "apps StatefulSet spec.updateStrategy.type": [
    [{ spec: { updateStrategy: {} } }, { "spec.updateStrategy.type": "RollingUpdate" }],
    [
      { spec: { updateStrategy: { type: "OnDelete" } } },
      { "spec.updateStrategy": { type: "OnDelete" } },
    ],
  ],
  "apps StatefulSet spec.updateStrategy.rollingUpdate.partition": [
    [{ spec: { updateStrategy: {} } }, { "spec.updateStrategy.rollingUpdate": { partition: 0 } }],
    [
      { spec: { updateStrategy: { type: "RollingUpdate" } } },
      { "spec.updateStrategy.rollingUpdate": undefined },
    ],
  ],
  "apps StatefulSet spec.persistentVolumeClaimRetentionPolicy.whenDeleted": [
    [{ spec: {} }, { "spec.persistentVolumeClaimRetentionPolicy.whenDeleted": "Retain" }],
  ],
  "apps StatefulSet spec.persistentVolumeClaimRetentionPolicy.whenScaled": [
    [
      { spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete" } } },
      {
        "spec.persistentVolumeClaimRetentionPolicy": {
          whenDeleted: "Delete",
          whenScaled: "Retain",
        },
      },
    ],
  ],
  "batch Job spec.completions": [
    [
      { metadata: {}, spec: {} },
      { "spec.completions": 1, "spec.parallelism": 1 },
    ],
    [{ metadata: {}, spec: { parallelism: 2 } }, { "spec.completions": undefined }],
  ],
  "batch Job spec.backoffLimit": [
    [{ metadata: {}, spec: { backoffLimitPerIndex: 1 } }, { "spec.backoffLimit": 2147483647 }],
  ],
  "batch Job spec.backoffLimit#2": [[{ metadata: {}, spec: {} }, { "spec.backoffLimit": 6 }]],
  "batch Job metadata.labels": [
    [{ metadata: {}, spec: { template } }, { "metadata.labels": { app: "web" } }],
  ],
  "batch Job spec.podReplacementPolicy": [
    [{ metadata: {}, spec: { podFailurePolicy: {} } }, { "spec.podReplacementPolicy": "Failed" }],
  ],
  "batch Job spec.podReplacementPolicy#2": [
    [{ metadata: {}, spec: {} }, { "spec.podReplacementPolicy": "TerminatingOrFailed" }],
  ],
  "autoscaling HorizontalPodAutoscaler spec.targetCPUUtilizationPercentage": [
    [{ metadata: {}, spec: {} }, { "spec.targetCPUUtilizationPercentage": 80 }],
    [
      { metadata: { annotations: { "autoscaling.alpha.kubernetes.io/metrics": "[]" } }, spec: {} },
      { "spec.targetCPUUtilizationPercentage": undefined },
    ],
  ],
  "autoscaling HPAScalingRules stabilizationWindowSeconds": [
    [
      { scaleDown: {} },
      {
        "scaleUp.stabilizationWindowSeconds": 0,
        "scaleDown.stabilizationWindowSeconds": undefined,
      },
    ],
  ],
  "autoscaling HPAScalingRules selectPolicy": [
    [{}, { "scaleUp.selectPolicy": "Max", "scaleDown.selectPolicy": "Max" }],
  ],
  "autoscaling HPAScalingRules policies": [
    [
      {},
      {
        "scaleUp.policies": [
          { type: "Pods", value: 4, periodSeconds: 15 },
          { type: "Percent", value: 100, periodSeconds: 15 },
        ],
      },
    ],
  ],
  "autoscaling HPAScalingRules policies#2": [
    [{}, { "scaleDown.policies": [{ type: "Percent", value: 100, periodSeconds: 15 }] }],
  ],
  "networking NetworkPolicy spec.policyTypes": [
    [{ spec: {} }, { "spec.policyTypes": ["Ingress"] }],
    [{ spec: { egress: [{}] } }, { "spec.policyTypes": ["Ingress", "Egress"] }],
    [{ spec: { policyTypes: ["Egress"] } }, { "spec.policyTypes": ["Egress"] }],
  ],
  "networking IngressClass spec.parameters.scope": [
    [{ spec: { parameters: { kind: "K" } } }, { "spec.parameters.scope": "Cluster" }],
    [{ spec: {} }, { "spec.parameters": undefined }],
  ],
  "rbac Subject apiGroup": [
    [{ kind: "User" }, { apiGroup: "rbac.authorization.k8s.io" }],
    [{ kind: "Group" }, { apiGroup: "rbac.authorization.k8s.io" }],
    [{ kind: "ServiceAccount" }, { apiGroup: undefined }],
  ],
  "apiextensions CustomResourceDefinitionSpec names.singular": [
    [{ names: { kind: "CronTab" } }, { "names.singular": "crontab" }],
  ],
  "apiextensions CustomResourceDefinitionSpec names.listKind": [
    [{ names: { kind: "CronTab" } }, { "names.listKind": "CronTabList" }],
    [{ names: {} }, { "names.listKind": undefined }],
  ],
  "apiextensions CustomResourceDefinition status.storedVersions": [
    [
      { spec: { versions: [{ name: "v1" }, { name: "v2", storage: true }] }, status: {} },
      { "status.storedVersions": ["v2"] },
    ],
    [{ spec: {}, status: { storedVersions: ["v1"] } }, { "status.storedVersions": ["v1"] }],
  ],
  "resource ExactDeviceRequest count": [
    [{}, { allocationMode: "ExactCount", count: 1 }],
    [{ allocationMode: "All" }, { count: undefined }],
  ],
  "resource DeviceTaint timeAdded": [[{}, { timeAdded: "2026-01-02T03:04:05Z" }]],
};

/** The struct in which a rule is tested, if it is not that of its row. */
const EXAMPLE_TYPES: Readonly<Record<string, string>> = {
  "core ResourceList *": "core.v1.Container",
};

const now = () => new Date("2026-01-02T03:04:05.678Z");

for (const row of rows) {
  const { fact } = row;
  const name = `${row.base} ${row.key}`;
  const type = EXAMPLE_TYPES[name] ?? `${fact.file}.${row.types[0]}`;
  test(`S1-DRY-03: default of ${fact.file} ${fact.type}.${fact.field}: ${fact.text}, ${fact.when}`, () => {
    if (row.rule === undefined) {
      checkDataRow(type, fact.field, fact.value ?? null);
      return;
    }
    const examples = EXAMPLES[name];
    assert(examples !== undefined, `${name} has no example`);
    for (const [value, expected] of examples) {
      const result = filled(type, value, { now });
      for (const [path, wanted] of Object.entries(expected)) {
        assert.deepEqual(at(result, path), wanted, `${path} of ${JSON.stringify(result)}`);
      }
      assert.deepEqual(filled(type, result, { now }), result, "defaults are idempotent");
    }
  });
}

/** A value with only the path to the field gets the default there. */
function checkDataRow(type: string, field: string, wanted: JsonValue): void {
  const names = field.split(".");
  const last = names.pop() ?? "";
  let inner: JsonObject = {};
  const leaf = inner;
  for (const name of names.reverse()) {
    const isMap = name.startsWith("nodeAllocatableResourceMappings");
    const items: JsonValue = isMap ? { cpu: inner } : [inner];
    inner = { [name.replace("[]", "")]: name.endsWith("[]") ? items : inner };
  }
  const result = filled(type, inner);
  const path = field.replaceAll("[]", field.startsWith("nodeAllocatable") ? ".cpu" : ".0");
  assert.deepEqual(at(result, path), wanted);
  leaf[last] = "given";
  assert.equal(at(filled(type, inner), path), "given");
}

test("every rule belongs to a row, and every example to a rule", () => {
  const keys = new Set(rows.filter((row) => row.rule).map((row) => `${row.base} ${row.key}`));
  assert.deepEqual([...keys].sort(), Object.keys(EXAMPLES).sort());
});

test("defaults hold for what the table says is also meant, and for other versions of a type", () => {
  assert.equal(
    at(filled("core.v1.EphemeralContainer", { image: "a" }), "imagePullPolicy"),
    "Always",
  );
  assert.equal(at(filled("core.v1.EphemeralContainer", {}), "terminationMessagePolicy"), "File");
  assert.equal(at(filled("resource.v1.DeviceSubRequest", {}), "count"), 1);
  assert.equal(at(filled("resource.v1beta2.ExactDeviceRequest", {}), "count"), 1);
  const request = { deviceClassName: "gpu" };
  assert.equal(at(filled("resource.v1beta1.DeviceRequest", request), "count"), 1);
  assert.equal(at(filled("resource.v1beta1.DeviceRequest", {}), "count"), undefined);
  const webhook = filled("admissionregistration.v1.MutatingWebhook", { rules: [{}] });
  assert.equal(webhook.failurePolicy, "Fail");
  assert.equal(webhook.reinvocationPolicy, "Never");
  assert.equal(at(webhook, "rules.0.scope"), "*");
});

test("pods in templates get the defaults of a pod's spec, and none that are only for pods", () => {
  const result = filled("apps.v1.Deployment", {
    metadata: {},
    spec: { template: { spec: { containers: [limited("1")] } }, strategy: {} },
  });
  const spec = at(result, "spec.template.spec");
  assert.equal(at(spec, "dnsPolicy"), "ClusterFirst");
  assert.equal(at(spec, "containers.0.terminationMessagePath"), "/dev/termination-log");
  assert.equal(at(spec, "enableServiceLinks"), undefined);
  assert.equal(at(spec, "containers.0.resources.requests"), undefined);
});

test("both names of a pod's service account say the same, and the newer one counts", () => {
  const spec = (value: JsonObject) => filled("core.v1.PodSpec", value);
  const pairs: readonly (readonly [JsonObject, string | undefined])[] = [
    [{ serviceAccountName: "a" }, "a"],
    [{ serviceAccount: "b" }, "b"],
    [{ serviceAccountName: "a", serviceAccount: "b" }, "a"],
    [{}, undefined],
  ];
  for (const [value, name] of pairs) {
    const { serviceAccountName, serviceAccount } = spec(value);
    assert.deepEqual([serviceAccountName, serviceAccount], [name, name]);
  }
  const inTemplate = filled("apps.v1.Deployment", {
    spec: { template: { metadata: {}, spec: { serviceAccountName: "a" } } },
  });
  assert.equal(at(inTemplate, "spec.template.spec.serviceAccount"), "a");
});

test("claims within a StatefulSet are whole objects with their own defaults", () => {
  const claims = { volumeClaimTemplates: [{ spec: {}, status: {} }] };
  const result = filled("apps.v1.StatefulSet", { spec: { ...claims, updateStrategy: {} } });
  assert.deepEqual(at(result, "spec.volumeClaimTemplates"), [
    {
      kind: "PersistentVolumeClaim",
      apiVersion: "v1",
      spec: { volumeMode: "Filesystem" },
      status: { phase: "Pending" },
    },
  ]);
});

test("a default whose gate is off is not set", () => {
  const isGateEnabled = (gate: string) => gate !== "PodLevelResources";
  const pod = { spec: { resources: { limits: { cpu: "1" } } } };
  assert.equal(
    at(filled("core.v1.Pod", pod, { isGateEnabled }), "spec.resources.requests"),
    undefined,
  );
  assert.deepEqual(at(filled("core.v1.Pod", pod), "spec.resources.requests"), { cpu: "1" });
});

test("`default=` attributes are set, and zero values that may be left out are not", () => {
  const filledAzure = filled("core.v1.AzureDiskVolumeSource", {});
  assert.deepEqual(filledAzure, {
    cachingMode: "ReadWrite",
    fsType: "ext4",
    readOnly: false,
    kind: "Shared",
  });
  assert.deepEqual(filled("core.v1.LocalObjectReference", {}), {});
});

test("another vendor's names stand in its defaults", () => {
  const acme = loadFacts(createNaming("acme"));
  const namespace = filled("core.v1.Namespace", { metadata: { name: "n" } }, {}, acme);
  assert.deepEqual(at(namespace, "metadata.labels"), { "acme.io/metadata.name": "n" });
  const subject = filled("rbac.v1.Subject", { kind: "User" }, {}, acme);
  assert.equal(subject.apiGroup, "rbac.authorization.acme.io");
});
