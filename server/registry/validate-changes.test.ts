/** What may become of an object of the other groups, group by group: before, after, the refusals. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { changeProblems, type TestObject } from "./testing/problems.js";

type Change = readonly [before: TestObject, after: TestObject, ...problems: string[]];

function check(resource: string, changes: readonly Change[]): void {
  for (const [before, after, ...expected] of changes) {
    const shown = `${resource} ${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
    assert.deepEqual(changeProblems(resource, before, after), expected, shown.slice(0, 800));
  }
}

function same(resource: string, object: TestObject): void {
  check(resource, [[object, object]]);
}

const backend = { service: { name: "web", port: { number: 80 } } };
const ingress = { spec: { defaultBackend: backend } };

test("networking: classes, addresses and blocks keep what others rely on", () => {
  check("networking.k8s.io/v1/ingresses", [
    [ingress, { spec: { defaultBackend: backend, ingressClassName: "b" } }],
    // Set on both sides only a new one is refused: what was written by older clients may stay.
    [
      ingress,
      {
        metadata: { annotations: { "kubernetes.io/ingress.class": "a" } },
        spec: { ...ingress.spec, ingressClassName: "a" },
      },
    ],
    [
      ingress,
      { spec: {} },
      "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified",
    ],
  ]);
  check("networking.k8s.io/v1/networkpolicies", [
    [{ spec: { podSelector: {} } }, { spec: { podSelector: { matchLabels: { a: "b" } } } }],
    [
      { spec: { podSelector: {} } },
      { spec: { podSelector: {}, ingress: [{ from: [{}] }] } },
      "spec.ingress[0].from[0]: Required value: must specify a peer",
    ],
  ]);
  const parent = (name: string) => ({
    metadata: { name: "10.0.0.1" },
    spec: { parentRef: { resource: "services", namespace: "default", name } },
  });
  check("networking.k8s.io/v1/ipaddresses", [
    [parent("a"), parent("a")],
    [
      parent("a"),
      parent("b"),
      'spec.parentRef: Invalid value: {"resource":"services","namespace":"default","name":"b"}: field is immutable',
    ],
  ]);
  const blocks = (...cidrs: readonly string[]) => ({ spec: { cidrs } });
  check("networking.k8s.io/v1/servicecidrs", [
    [blocks("10.0.0.0/24"), blocks("10.0.0.0/24", "fd00::/112")],
    [
      blocks("10.0.0.0/24"),
      blocks("10.1.0.0/24"),
      'spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable',
    ],
    [
      blocks("10.0.0.0/24", "fd00::/112"),
      blocks("10.0.0.0/24"),
      'spec.cidrs[0]: Invalid value: "10.0.0.0/24": field is immutable',
    ],
  ]);
});

test("rbac: rules and subjects change, the role of a binding does not", () => {
  const group = "rbac.authorization.k8s.io";
  const rules = (verb: string) => ({
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: [verb] }],
  });
  check(`${group}/v1/clusterroles`, [[rules("get"), rules("list")]]);
  const binding = (kind: string, subject: string) => ({
    roleRef: { apiGroup: group, kind, name: "view" },
    subjects: [{ kind: "User", name: subject, apiGroup: group }],
  });
  check(`${group}/v1/rolebindings`, [
    [binding("Role", "ann"), binding("Role", "bob")],
    [
      binding("Role", "ann"),
      binding("ClusterRole", "ann"),
      `roleRef: Invalid value: {"apiGroup":"${group}","kind":"ClusterRole","name":"view"}: cannot change roleRef`,
    ],
  ]);
});

test("policy, autoscaling, coordination: everything may change to what is right", () => {
  check("policy/v1/poddisruptionbudgets", [
    [{ spec: { minAvailable: 1 } }, { spec: { maxUnavailable: "10%" } }],
    [
      { spec: { minAvailable: 1 } },
      { spec: { minAvailable: -1 } },
      "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0",
    ],
  ]);
  const scaled = (minReplicas: number) => ({
    spec: { scaleTargetRef: { kind: "Deployment", name: "a" }, minReplicas, maxReplicas: 9 },
  });
  check("autoscaling/v2/horizontalpodautoscalers", [
    [scaled(1), scaled(2)],
    [
      scaled(1),
      scaled(10),
      "spec.maxReplicas: Invalid value: 9: must be greater than or equal to `minReplicas`",
    ],
  ]);
  check("coordination.k8s.io/v1/leases", [
    [{ spec: { holderIdentity: "a" } }, { spec: { holderIdentity: "b", leaseTransitions: 1 } }],
    [
      { spec: {} },
      { spec: { leaseTransitions: -1 } },
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ],
  ]);
  const candidate = (leaseName: string) => ({
    spec: { leaseName, binaryVersion: "1.2.3", emulationVersion: "1.2.0", strategy: "a.b/c" },
  });
  check("coordination.k8s.io/v1beta1/leasecandidates", [
    [candidate("a"), candidate("b"), 'spec.leaseName: Invalid value: "b": field is immutable'],
  ]);
});

test("scheduling and node: priorities and handlers are fixed", () => {
  check("scheduling.k8s.io/v1/priorityclasses", [
    [{ value: 1 }, { value: 1, description: "new", globalDefault: true }],
    [{ value: 1 }, { value: 2 }, "value: Forbidden: may not be changed in an update."],
    [
      { value: 1 },
      { value: 1, preemptionPolicy: "Never" },
      'preemptionPolicy: Invalid value: "Never": field is immutable',
    ],
  ]);
  check("node.k8s.io/v1/runtimeclasses", [
    [{ handler: "a" }, { handler: "a", overhead: { podFixed: { cpu: "1" } } }],
    [{ handler: "a" }, { handler: "b" }, 'handler: Invalid value: "b": field is immutable'],
  ]);
});

test("storage: what volumes were made by stays", () => {
  const group = "storage.k8s.io/v1";
  const type = (parts: object): TestObject => ({ provisioner: "a.b/c", ...parts });
  check(`${group}/storageclasses`, [
    [type({}), type({ allowVolumeExpansion: true, mountOptions: ["ro"] })],
    [
      type({}),
      type({ reclaimPolicy: "Retain" }),
      "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
    ],
  ]);
  check(`${group}/csidrivers`, [
    [{ spec: { podInfoOnMount: false } }, { spec: { podInfoOnMount: true } }],
    [
      { spec: { attachRequired: true } },
      { spec: { attachRequired: false } },
      "spec.attachRequired: Invalid value: false: field is immutable",
    ],
    [
      { spec: { volumeLifecycleModes: ["Persistent"] } },
      { spec: { volumeLifecycleModes: ["Ephemeral"] } },
      'spec.volumeLifecycleModes: Invalid value: ["Ephemeral"]: field is immutable',
    ],
  ]);
  const attachment = (nodeName: string) => ({
    spec: { attacher: "a.b", nodeName, source: { persistentVolumeName: "p" } },
  });
  check(`${group}/volumeattachments`, [
    [
      attachment("n"),
      attachment("m"),
      'spec: Invalid value: {"attacher":"a.b","nodeName":"m","source":{"persistentVolumeName":"p"}}: field is immutable',
    ],
  ]);
  const attributes = (driverName: string, value: string) => ({ driverName, parameters: { value } });
  check(`${group}/volumeattributesclasses`, [
    [
      attributes("a.b", "1"),
      attributes("a.c", "2"),
      'driverName: Invalid value: "a.c": field is immutable',
      'parameters: Invalid value: {"value":"2"}: field is immutable',
    ],
  ]);
  check(`${group}/csistoragecapacities`, [
    [
      { storageClassName: "fast", capacity: "1Gi" },
      { storageClassName: "fast", capacity: "2Gi" },
    ],
    [
      { storageClassName: "fast" },
      { storageClassName: "slow", nodeTopology: {} },
      'storageClassName: Invalid value: "slow": field is immutable',
      "nodeTopology: Invalid value: {}: field is immutable",
    ],
  ]);
});

test("discovery and events: kinds of addresses stay, what happened again is counted", () => {
  const slice = (addressType: string, address: string) => ({
    addressType,
    endpoints: [{ addresses: [address] }],
  });
  check("discovery.k8s.io/v1/endpointslices", [
    [slice("IPv4", "192.0.2.1"), slice("IPv4", "192.0.2.2")],
    [
      slice("IPv4", "192.0.2.1"),
      slice("IPv6", "2001:db8::1"),
      'addressType: Invalid value: "IPv6": field is immutable',
    ],
  ]);
  const happened = (count: number) => ({
    involvedObject: { kind: "Pod", name: "p", namespace: "default" },
    count,
  });
  check("v1/events", [[happened(1), happened(2)]]);
});

test("certificates: a request is what it was, whatever an update says", () => {
  const request = readFileSync(
    new URL("../../../e2e/fixtures/request.csr.pem", import.meta.url),
  ).toString("base64");
  const asked = (signerName: string) => ({
    spec: { request, signerName, usages: ["client auth"] },
  });
  check("certificates.k8s.io/v1/certificatesigningrequests", [[asked("a.b/c"), asked("a.b/d")]]);
  const decided = (...types: readonly string[]): TestObject => ({
    ...asked("a.b/c"),
    status: { conditions: types.map((type) => ({ type, status: "True", reason: "r" })) },
  });
  assert.deepEqual(
    changeProblems(
      "certificates.k8s.io/v1/certificatesigningrequests",
      decided("Approved"),
      decided("Failed", "Failed"),
      "status",
    ),
    ['status.conditions[2].type: Duplicate value: "Failed"'],
  );
});

test("admissionregistration, apiextensions, apiregistration: identities stay", () => {
  const hooks = (timeoutSeconds: number) => ({
    webhooks: [
      {
        name: "a.example.com",
        clientConfig: { url: "https://h.example.com/a" },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        timeoutSeconds,
      },
    ],
  });
  check("admissionregistration.k8s.io/v1/validatingwebhookconfigurations", [
    [hooks(1), hooks(2)],
    [
      hooks(1),
      hooks(0),
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
    ],
  ]);
  const version = { served: true, schema: { openAPIV3Schema: { type: "object" } } };
  const definition = (spec: object, names: object = {}): TestObject => ({
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing", ...names },
      versions: [{ ...version, name: "v1", storage: true }],
      ...spec,
    },
  });
  check("apiextensions.k8s.io/v1/customresourcedefinitions", [
    [definition({}), definition({}, { shortNames: ["th"] })],
    [
      definition({}),
      definition({ scope: "Cluster" }),
      'spec.scope: Invalid value: "Cluster": field is immutable',
    ],
    [
      definition({}),
      definition({ versions: [{ ...version, name: "v2", storage: true }] }),
      'status.storedVersions[0]: Invalid value: "v1": must appear in spec.versions',
    ],
  ]);
  same("apiregistration.k8s.io/v1/apiservices", {
    metadata: { name: "v1." },
    spec: { version: "v1", groupPriorityMinimum: 1, versionPriority: 1 },
  });
});
