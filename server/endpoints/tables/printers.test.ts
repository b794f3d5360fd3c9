/** Table rows of objects in common states. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toRevision } from "../../../storage/kv/store.js";
import { decodeStoredObject } from "../../../storage/objects/decode-object.js";
import { createNaming } from "../../api/naming.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { Cell } from "../../kinds/table-printer.js";
import { createPrinters } from "./printers.js";

const NOW = Date.parse("2026-01-02T00:00:00Z");
const METADATA = { name: "x", creationTimestamp: "2026-01-01T23:00:00Z" };

function tableOf(group: string, resource: string, vendor = "kubernetes") {
  const kind = resource.endsWith("/scale") ? "Scale" : "";
  const served = { group, resource: resource.replace("/scale", ""), kind };
  return createPrinters(createNaming(vendor))(served as ServedResource);
}

function rowOf(group: string, resource: string, value: object) {
  const metadata = { ...METADATA, ...(value as { metadata?: object }).metadata };
  const { metadata: _, ...rest } = value as { metadata?: object };
  const whole = { kind: "K", apiVersion: "v1", metadata, ...rest };
  const key = { path: "x", namespace: "", name: "x" };
  const bytes = Buffer.from(JSON.stringify(whole));
  return tableOf(group, resource).row(
    decodeStoredObject(key, bytes, toRevision(3), undefined),
    NOW,
  );
}

/** Group, resource, the object without its metadata, the cells. */
const ROWS: readonly [group: string, resource: string, value: object, cells: Cell[]][] = [
  ["", "configmaps", { data: { a: 'q"{', b: "" }, binaryData: { c: "AA==" } }, ["x", 3, "60m"]],
  ["", "configmaps", { immutable: true }, ["x", 0, "60m"]],
  ["", "secrets", { data: { a: "AA==" }, type: "Opaque" }, ["x", "Opaque", 1, "60m"]],
  ["", "serviceaccounts", { secrets: [{ name: "a" }] }, ["x", "60m"]],
  ["", "namespaces", { status: { phase: "Active" } }, ["x", "Active", "60m"]],
  [
    "",
    "services",
    {
      spec: {
        type: "LoadBalancer",
        clusterIPs: ["10.0.0.1"],
        ports: [{ port: 80, nodePort: 30080, protocol: "TCP" }],
        selector: { app: "web" },
      },
    },
    ["x", "LoadBalancer", "10.0.0.1", "<pending>", "80:30080/TCP", "60m", "app=web"],
  ],
  [
    "",
    "endpoints",
    {
      subsets: [
        {
          addresses: ["1", "2", "3", "4"].map((last) => ({ ip: `10.0.0.${last}` })),
          ports: [{ port: 80 }],
        },
      ],
    },
    ["x", "10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 1 more...", "60m"],
  ],
  [
    "",
    "nodes",
    {
      metadata: { labels: { "node-role.kubernetes.io/control-plane": "" } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: "Ready", status: "True" }],
        nodeInfo: { kubeletVersion: "v1.36.0", osImage: "Some OS" },
        addresses: [{ type: "InternalIP", address: "10.0.0.9" }],
      },
    },
    [
      "x",
      "Ready,SchedulingDisabled",
      "control-plane",
      "60m",
      "v1.36.0",
      "10.0.0.9",
      "<none>",
      "Some OS",
      "<unknown>",
      "<unknown>",
    ],
  ],
  [
    "",
    "persistentvolumeclaims",
    {
      spec: { volumeName: "v", storageClassName: "fast", volumeMode: "Filesystem" },
      status: { phase: "Bound", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] },
    },
    ["x", "Bound", "v", "1Gi", "RWO", "fast", "<unset>", "60m", "Filesystem"],
  ],
  [
    "",
    "resourcequotas",
    { status: { hard: { "limits.cpu": "2", pods: "5" }, used: { pods: "1" } } },
    ["x", "pods: 1/5", "limits.cpu: 0/2", "60m"],
  ],
  [
    "",
    "events",
    {
      type: "Warning",
      reason: "Failed",
      message: " no ",
      involvedObject: { kind: "Pod", name: "web" },
      source: { component: "kubelet", host: "n1" },
      firstTimestamp: "2026-01-01T23:59:00Z",
      lastTimestamp: "2026-01-01T23:59:30Z",
      count: 3,
    },
    ["30s", "Warning", "Failed", "pod/web", "", "kubelet, n1", "no", "60s", 3, "x"],
  ],
  [
    "apps",
    "deployments",
    {
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "web" } },
        template: {
          spec: {
            containers: [
              { name: "a", image: "i" },
              { name: "b", image: "j" },
            ],
          },
        },
      },
      status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 },
    },
    ["x", "2/3", 3, 1, "60m", "a,b", "i,j", "app=web"],
  ],
  [
    "apps",
    "deployments/scale",
    { spec: { replicas: 3 }, status: { replicas: 2 } },
    ["x", 3, 2, "60m"],
  ],
  [
    "apps",
    "controllerrevisions",
    {
      metadata: {
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", controller: true },
        ],
      },
      revision: 4,
    },
    ["x", "statefulset.apps/db", 4, "60m"],
  ],
  [
    "resource",
    "devicetaintrules",
    {
      spec: {
        taint: { key: "k", value: "v", effect: "NoExecute", timeAdded: "2026-01-01T23:30:00Z" },
      },
    },
    ["x", "k", "v", "NoExecute", "30m", "60m"],
  ],
  [
    "resource",
    "devicetaintrules",
    { spec: { taint: { key: "k", effect: "None" } } },
    ["x", "k", "", "None", "", "60m"],
  ],
  [
    "resource",
    "resourcepoolstatusrequests",
    {
      spec: { driver: "d.example" },
      status: {
        poolCount: 3,
        pools: [
          { totalDevices: 4, availableDevices: 1, allocatedDevices: 2, unavailableDevices: 1 },
          { validationError: "odd" },
        ],
        conditions: [
          { type: "Complete", status: "True", lastTransitionTime: "2026-01-01T23:59:00Z" },
        ],
      },
    },
    ["x", "d.example", "4", "1", "2", "1", "1", 3, "Complete (2/3 pools)", "60s"],
  ],
  [
    "resource",
    "resourcepoolstatusrequests",
    { spec: { driver: "d.example" }, status: { conditions: [{ type: "Failed", status: "True" }] } },
    ["x", "d.example", "-", "-", "-", "-", "-", 0, "Failed", "<none>"],
  ],
  [
    "scheduling",
    "podgroups",
    {
      spec: {
        schedulingPolicy: { gang: { minCount: 2 } },
        podGroupTemplateRef: { workload: { workloadName: "w" } },
      },
      status: { conditions: [{ type: "PodGroupScheduled", status: "False" }] },
    },
    ["x", "Gang", "w", "Unschedulable", "60m"],
  ],
  [
    "scheduling",
    "podgroups",
    {
      spec: { schedulingPolicy: { basic: {} } },
      status: { conditions: [{ type: "DisruptionTarget", status: "True", reason: "Preempted" }] },
    },
    ["x", "Basic", "<none>", "Preempted", "60m"],
  ],
  ["scheduling", "workloads", {}, ["x", "60m"]],
  [
    "certificates",
    "podcertificaterequests",
    {
      spec: {
        podName: "p",
        serviceAccountName: "a",
        nodeName: "n",
        signerName: "s.example/x",
        unverifiedUserAnnotations: { "s.example/k": "v" },
      },
      status: { conditions: [{ type: "Denied", status: "True" }] },
    },
    ["x", "p", "a", "n", "s.example/x", "Denied", "s.example/k=v"],
  ],
  [
    "internal.apiserver",
    "storageversions",
    { status: { storageVersions: [{ apiServerID: "a", encodingVersion: "v1" }] } },
    ["x", "<unset>", "a=v1", "60m"],
  ],
  [
    "storagemigration",
    "storageversionmigrations",
    {
      spec: { resource: { group: "apps", resource: "deployments" } },
      status: {
        conditions: [
          { type: "Running", status: "False" },
          { type: "Succeeded", status: "True" },
        ],
      },
    },
    ["x", "deployments.apps", "Succeeded"],
  ],
  [
    "batch",
    "jobs",
    {
      spec: { completions: 1, template: { spec: { containers: [] } } },
      status: {
        succeeded: 1,
        startTime: "2026-01-01T23:00:00Z",
        completionTime: "2026-01-01T23:00:07Z",
        conditions: [{ type: "Complete", status: "True" }],
      },
    },
    ["x", "Complete", "1/1", "7s", "60m", "", "", "<none>"],
  ],
  [
    "batch",
    "cronjobs",
    { spec: { schedule: "@daily", suspend: false } },
    ["x", "@daily", "<none>", "False", 0, "<none>", "60m", "", "", "<none>"],
  ],
  [
    "autoscaling",
    "horizontalpodautoscalers",
    {
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "web" },
        minReplicas: 1,
        maxReplicas: 4,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { averageUtilization: 80 } } },
        ],
      },
      status: {
        currentReplicas: 2,
        currentMetrics: [{ type: "Resource", resource: { current: { averageUtilization: 30 } } }],
      },
    },
    ["x", "Deployment/web", "cpu: 30%/80%", "1", 4, 2, "60m"],
  ],
  [
    "policy",
    "poddisruptionbudgets",
    { spec: { minAvailable: "50%" } },
    ["x", "50%", "N/A", 0, "60m"],
  ],
  [
    "networking.k8s.io",
    "ingresses",
    {
      spec: { ingressClassName: "n", rules: [{ host: "a" }, { host: "b" }], tls: [{}] },
      status: { loadBalancer: { ingress: [{ hostname: "lb" }] } },
    },
    ["x", "n", "a,b", "lb", "80, 443", "60m"],
  ],
  [
    "discovery.k8s.io",
    "endpointslices",
    { addressType: "IPv4", ports: [{ port: 80 }], endpoints: [{ addresses: ["10.0.0.1"] }] },
    ["x", "IPv4", "80", "10.0.0.1", "60m"],
  ],
  [
    "rbac.authorization.k8s.io",
    "rolebindings",
    {
      roleRef: { kind: "Role", name: "r" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "ServiceAccount", namespace: "n", name: "s" },
      ],
    },
    ["x", "Role/r", "60m", "u", "", "n/s"],
  ],
  [
    "certificates.k8s.io",
    "certificatesigningrequests",
    { spec: { signerName: "s/x", username: "u", expirationSeconds: 3600 } },
    ["x", "60m", "s/x", "u", "60m", "Pending"],
  ],
  [
    "storage.k8s.io",
    "storageclasses",
    {
      metadata: { annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
      provisioner: "p",
    },
    ["x (default)", "p", "Delete", "Immediate", false, "60m"],
  ],
  [
    "flowcontrol.apiserver.k8s.io",
    "flowschemas",
    { spec: { priorityLevelConfiguration: { name: "l" }, matchingPrecedence: 9 } },
    ["x", "l", 9, "<none>", "60m", "?"],
  ],
  ["coordination.k8s.io", "leases", { spec: { holderIdentity: "me" } }, ["x", "me", "60m"]],
  ["apiregistration.k8s.io", "apiservices", {}, ["x", "Local", "Unknown", "60m"]],
  [
    "apiregistration.k8s.io",
    "apiservices",
    {
      spec: { service: { namespace: "n", name: "s" } },
      status: { conditions: [{ type: "Available", status: "False" }] },
    },
    ["x", "n/s", "False", "60m"],
  ],
  ["rbac.authorization.k8s.io", "roles", {}, ["x", "2026-01-01T23:00:00Z"]],
];

for (const [group, resource, value, cells] of ROWS) {
  test(`S1-TABLE-07: a row of ${resource} is ${cells.join(" | ")}`, () => {
    assert.deepEqual(rowOf(group, resource, value).cells, cells);
    assert.equal(tableOf(group, resource).columns.length, cells.length);
  });
}

const CONTAINERS = [{ name: "a" }, { name: "b" }];

/** The status of a pod with two containers, and its cells Ready, Status and Restarts. */
const PODS: readonly [what: string, pod: object, cells: string[]][] = [
  ["waits for a node", { status: { phase: "Pending" } }, ["0/2", "Pending", "0"]],
  [
    "runs",
    { status: { phase: "Running", containerStatuses: [running("a"), running("b")] } },
    ["2/2", "Running", "0"],
  ],
  [
    "crashes",
    {
      status: {
        phase: "Running",
        containerStatuses: [
          {
            name: "a",
            restartCount: 4,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { finishedAt: "2026-01-01T23:58:00Z" } },
          },
          running("b"),
        ],
      },
    },
    ["1/2", "CrashLoopBackOff", "4 (2m ago)"],
  ],
  [
    "is initialized",
    {
      spec: { containers: CONTAINERS, initContainers: [{ name: "i" }, { name: "j" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [
          { name: "i", state: { terminated: { exitCode: 0 } } },
          { name: "j", state: { running: {} } },
        ],
      },
    },
    ["0/2", "Init:1/2", "0"],
  ],
  [
    "cannot be initialized",
    {
      spec: { containers: CONTAINERS, initContainers: [{ name: "i" }] },
      status: { initContainerStatuses: [{ name: "i", state: { terminated: { exitCode: 2 } } }] },
    },
    ["0/2", "Init:ExitCode:2", "0"],
  ],
  [
    "has a sidecar",
    {
      spec: { containers: CONTAINERS, initContainers: [{ name: "i", restartPolicy: "Always" }] },
      status: {
        phase: "Running",
        initContainerStatuses: [{ name: "i", started: true, ready: true, restartCount: 1 }],
        containerStatuses: [running("a"), running("b")],
      },
    },
    ["3/3", "Running", "1"],
  ],
  [
    "goes away",
    { metadata: { deletionTimestamp: "2026-01-02T00:00:00Z" }, status: { phase: "Running" } },
    ["0/2", "Terminating", "0"],
  ],
];

function running(name: string) {
  return { name, ready: true, restartCount: 0, state: { running: {} } };
}

for (const [what, pod, cells] of PODS) {
  test(`S1-TABLE-07: a pod that ${what} is shown as ${cells.join(" ")}`, () => {
    const row = rowOf("", "pods", { spec: { containers: CONTAINERS }, ...pod });
    assert.deepEqual(row.cells.slice(1, 4), cells);
    assert.deepEqual(row.cells.slice(4), ["60m", "<none>", "<none>", "<none>", "<none>"]);
  });
}

test("S1-TABLE-07: a pod that has ended says so in a condition of its row", () => {
  const row = rowOf("", "pods", { status: { phase: "Succeeded" } });
  assert.equal(row.conditions?.[0]?.reason, "Succeeded");
});

test("C-01: another vendor's groups have the same columns", () => {
  const ours = tableOf("storage.acme.io", "csinodes", "acme").columns;
  assert.deepEqual(ours, tableOf("storage.k8s.io", "csinodes").columns);
});
