/**
 * An empty text is a value where a field is a pointer, addresses are judged anew where no older object may keep them,
 * and settings of a namespace go with no namespace of the node: in pairs, with the answers of release 1.36.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeProblems, problemsOf, storedOf, type TestObject } from "../testing/problems.js";

const main = { name: "main", image: "example.test/image:1" };
type Parts = Record<string, unknown>;
const ofPod = (spec: Parts) => problemsOf("v1/pods", { spec: { containers: [main], ...spec } });
const labels = { a: "b" };
const template = { metadata: { labels }, spec: { containers: [main] } };
const selector = { matchLabels: labels };

test("R20: an empty restart policy and preemption are refused, not left out", () => {
  const one = { ...main, name: "one", restartPolicy: "" };
  assert.deepEqual(ofPod({ initContainers: [one] }), [
    'spec.initContainers[0].restartPolicy: Unsupported value: "": supported values: "Always", "Never", "OnFailure"',
  ]);
  assert.ok(
    ofPod({ ephemeralContainers: [one] }).includes(
      "spec.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container",
    ),
  );
  assert.deepEqual(ofPod({ preemptionPolicy: "" }), ["spec.preemptionPolicy: Required value"]);
  const aClass = { value: 1, preemptionPolicy: "" };
  assert.deepEqual(problemsOf("scheduling.k8s.io/v1/priorityclasses", aClass), [
    "preemptionPolicy: Required value",
  ]);
});

test("R37, R44: an empty amount or policy is no default", () => {
  const percent =
    "Invalid value: \"\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
  const deployment = (rollingUpdate: Parts) =>
    problemsOf("apps/v1/deployments", {
      spec: { selector, template, strategy: { type: "RollingUpdate", rollingUpdate } },
    });
  assert.deepEqual(deployment({ maxSurge: "" }), [
    `spec.strategy.rollingUpdate.maxSurge: ${percent}`,
  ]);
  assert.deepEqual(deployment({ maxSurge: null }), []);
  const job = { template: { spec: { containers: [main], restartPolicy: "Never" } } };
  assert.deepEqual(problemsOf("batch/v1/jobs", { spec: { ...job, podReplacementPolicy: "" } }), [
    'spec.podReplacementPolicy: Unsupported value: "": supported values: "Failed", "TerminatingOrFailed"',
  ]);
  const path = { path: "/", backend: { service: { name: "x", port: { number: 80 } } } };
  const ingress = (pathType: string | null) =>
    problemsOf("networking.k8s.io/v1/ingresses", {
      spec: { rules: [{ http: { paths: [{ ...path, pathType }] } }] },
    });
  assert.match(ingress("")[0] ?? "", /pathType: Unsupported value: "": supported values/);
  assert.match(ingress(null)[0] ?? "", /pathType: Required value/);
});

test("R19: a resource of two slashes is no extended one, either", () => {
  const limits = { "a/b/c": "1" };
  assert.ok(
    ofPod({ containers: [{ ...main, resources: { limits, requests: limits } }] }).includes(
      'spec.containers[0].resources.limits[a/b/c]: Invalid value: "a/b/c": doesn\'t follow extended resource name standard',
    ),
  );
});

test("R16: a setting of the network or of IPC goes with none of the node's", () => {
  const rows: readonly (readonly [name: string, host: string])[] = [
    ["net.ipv4.tcp_syncookies", "hostNetwork"],
    ["net/ipv4/tcp_syncookies", "hostNetwork"],
    ["kernel.shm_rmid_forced", "hostIPC"],
    ["kernel.msgmax", "hostIPC"],
    ["fs.mqueue.msg_max", "hostIPC"],
  ];
  for (const [name, host] of rows) {
    const securityContext = { sysctls: [{ name, value: "1" }] };
    assert.deepEqual(ofPod({ securityContext }), []);
    const other = host === "hostIPC" ? "hostNetwork" : "hostIPC";
    assert.deepEqual(ofPod({ securityContext, [other]: true }), []);
    assert.deepEqual(ofPod({ securityContext, [host]: true }), [
      `spec.securityContext.sysctls[0].name: Invalid value: "${name}": may not be specified when '${host}' is true`,
    ]);
  }
  const securityContext = { sysctls: [{ name: "kernel.shmfoo", value: "1" }] };
  assert.deepEqual(ofPod({ securityContext, hostIPC: true }), []);
});

test("R16: what was stored before that rule stays changeable, with any such setting", () => {
  const spec = (label: string, sysctl: string, isHost = true) => ({
    metadata: { labels: { a: label } },
    spec: {
      containers: [main],
      restartPolicy: "Always",
      hostNetwork: isHost,
      securityContext: { sysctls: [{ name: sysctl, value: "1" }] },
    },
  });
  const before = spec("b", "net.ipv4.tcp_syncookies");
  const after = { ...spec("b", "net.core.somaxconn") };
  const once = (one: ReturnType<typeof spec>) => ({
    ...one,
    spec: { ...one.spec, restartPolicy: "Never" },
  });
  const rows: readonly (readonly [string, (one: ReturnType<typeof spec>) => TestObject])[] = [
    ["apps/v1/deployments", (one) => ({ spec: { selector, template: one } })],
    ["apps/v1/replicasets", (one) => ({ spec: { selector, template: one } })],
    ["apps/v1/daemonsets", (one) => ({ spec: { selector, template: one } })],
    ["apps/v1/statefulsets", (one) => ({ spec: { selector, template: one, serviceName: "x" } })],
    ["v1/replicationcontrollers", (one) => ({ spec: { selector: labels, template: one } })],
    ["v1/podtemplates", (one) => ({ template: one })],
    [
      "batch/v1/cronjobs",
      (one) => ({ spec: { schedule: "@daily", jobTemplate: { spec: { template: once(one) } } } }),
    ],
  ];
  for (const [kind, of] of rows) {
    assert.deepEqual(changeProblems(kind, of(before), of(after)), [], kind);
    const good = spec("b", "net.core.somaxconn", false);
    const refused = changeProblems(kind, of(good), of(after));
    assert.match(refused.join(), /sysctls\[0\].name.*may not be specified/, kind);
    assert.equal(refused.length, 1, kind);
  }
  const pod = { metadata: { labels: { c: "d" } }, spec: before.spec };
  assert.deepEqual(changeProblems("v1/pods", { spec: before.spec }, pod), []);
});

test("R38: a claim template's status is part of what a set may not change", () => {
  const claim = (status: Parts) => ({
    metadata: { name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    status,
  });
  const set = (status: Parts): TestObject => ({
    spec: { selector, template, serviceName: "x", volumeClaimTemplates: [claim(status)] },
  });
  const resource = "apps/v1/statefulsets";
  assert.deepEqual(changeProblems(resource, set({}), set({ phase: "Pending" })), []);
  const [problem = "", ...others] = changeProblems(resource, set({}), set({ phase: "Bound" }));
  assert.match(problem, /^spec: Forbidden: updates to statefulset spec for fields other than/);
  assert.deepEqual(others, []);
});

test("D11: a refused change of a pod is shown with every digit", () => {
  const volume = (generation: number | bigint) => ({
    name: "v",
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { generation },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    },
  });
  const pod = (generation: number | bigint): TestObject => ({
    spec: { containers: [main], volumes: [volume(generation)] },
  });
  const found = changeProblems("v1/pods", pod(1), pod(2n ** 62n + 1n));
  const problem = found.find((one) => one.startsWith("spec: Forbidden: pod updates may not")) ?? "";
  assert.match(problem, /"generation":4611686018427387905/);
});

test("R46: a second source of a volume is named as clients see it", () => {
  const volume = { name: "v", emptyDir: {}, downwardAPI: {}, cephfs: { monitors: ["m"] } };
  const found = ofPod({ volumes: [volume] });
  assert.deepEqual(found.sort(), [
    "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
    "spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
  ]);
});

test("R44: an empty policy of traffic is refused", () => {
  const service = { spec: { type: "ClusterIP", ports: [{ port: 80 }], internalTrafficPolicy: "" } };
  assert.equal((storedOf("v1/services", service).spec as Parts).internalTrafficPolicy, "");
});

test("R42: an empty operation of a rule is none", () => {
  const rule = {
    apiGroups: ["apps"],
    apiVersions: ["v1"],
    resources: ["deployments"],
  };
  const hook = (rules: Parts) => ({
    webhooks: [
      {
        name: "a.b.example",
        clientConfig: { url: "https://hook.example" },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        rules: [{ ...rule, ...rules }],
      },
    ],
  });
  const kind = "admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  assert.deepEqual(problemsOf(kind, hook({ operations: ["CREATE"] })), []);
  assert.deepEqual(problemsOf(kind, hook({ operations: [""] })), [
    'webhooks[0].rules[0].operations[0]: Unsupported value: "": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
  ]);
  // As with kube-apiserver the last resource without a subresource decides.
  const operations = ["CREATE"];
  assert.deepEqual(problemsOf(kind, hook({ operations, resources: ["pods", "*"] })), []);
  assert.equal(problemsOf(kind, hook({ operations, resources: ["*", "pods"] })).length, 1);
});

test("R44: a run time's overhead keeps its amount, a pod's is rounded up", () => {
  const runtime = { handler: "h", overhead: { podFixed: { cpu: "0.0001" } } };
  const { overhead } = storedOf("node.k8s.io/v1/runtimeclasses", runtime) as unknown as {
    overhead: Parts;
  };
  assert.deepEqual(overhead, { podFixed: { cpu: "100u" } });
  const resources = { limits: { cpu: "0.0001" } };
  const { spec } = storedOf("v1/pods", { spec: { containers: [{ ...main, resources }] } });
  const [container] = (spec as { containers: { resources: Parts }[] }).containers;
  assert.deepEqual(container?.resources.limits, { cpu: "1m" });
});

test("R46: beside a selector that cannot be read the template is not looked at", () => {
  const bad = { metadata: { labels: { a: "Bad!" } }, spec: { containers: [] } };
  const spec = { selector: { matchLabels: { a: "Bad!" } }, template: bad };
  const rule = /^spec\.selector(?:\.matchLabels)?: Invalid value/;
  for (const kind of ["deployments", "replicasets", "statefulsets"]) {
    const found = problemsOf(`apps/v1/${kind}`, { spec: { ...spec, serviceName: "x" } });
    assert.equal(found.length, 2, kind);
    for (const one of found) assert.match(one, rule);
  }
  const found = problemsOf("apps/v1/daemonsets", { spec });
  assert.ok(found.includes("spec.template.spec.containers: Required value"));
});
