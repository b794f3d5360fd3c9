/**
 * Plugins that most servers run, in the write path: classes, priorities, tolerations, taints,
 * runtimes, certificates and storage; and their selection by flags.
 */
import { plainWrites } from "../registry/testing/plain-writes.js";
import "reflect-metadata";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as x509 from "@peculiar/x509";
import type { JsonObject } from "../api/meta.js";
import { forbidden } from "../api/testing/refusal.js";
import type { Registry } from "../registry/registry.js";
import { noSignal, openRegistryHarness, testUser } from "../registry/testing/registry-harness.js";
import { deleteObject } from "../registry/write/delete.js";
import { AdmissionChain } from "./chain.js";
import { createDefaultPlugins } from "./default-plugins.js";
import { choosePlugins, describePlugins } from "./plugins.js";
import { mergeTolerations } from "./tolerations.js";

const time = { nowMs: Date.parse("2026-01-01T00:00:00Z") };
const harness = await openRegistryHarness();
const { view, naming } = harness.registry;
/** "verb signer" pairs that every user may use. */
const signerRights = new Set<string>();
const plugins = createDefaultPlugins({
  view,
  naming,
  may: async (_user, { verb, name }) => signerRights.has(`${verb} ${name}`),
  unreachableTolerationSeconds: 7,
});
const registry: Registry = {
  ...harness.registry,
  clock: { ...harness.registry.clock, now: () => time.nowMs },
  admission: new AdmissionChain(
    choosePlugins(plugins, { enabled: ["StorageObjectInUseProtection"], disabled: [] }),
  ),
};

const writes = plainWrites(harness, { on: registry });

before(() => create("", "namespaces", { metadata: { name: "default" } }));
after(() => harness[Symbol.asyncDispose]());

async function create(group: string, resource: string, value: JsonObject, changes = {}) {
  time.nowMs += 1000;
  const made = await writes.create(group, resource, value, changes);
  return made as typeof made & { spec: JsonObject; status: JsonObject };
}

async function merge(
  group: string,
  resource: string,
  name: string,
  patch: JsonObject,
  subresource = "",
) {
  const made = await writes.merge(group, resource, name, patch, { subresource });
  return made as typeof made & { spec: JsonObject };
}

async function createPod(name: string, spec: JsonObject = {}) {
  const made = await create("", "pods", {
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  });
  return made.spec;
}

test("the flags choose plugins by name; the order is the chain's, not that of the flags", () => {
  const names = (enabled: string[], disabled: string[]) =>
    choosePlugins(plugins, { enabled, disabled }).map(({ name }) => name);
  const all = describePlugins(plugins).map(({ name }) => name);
  assert.deepEqual(all, [
    "NamespaceLifecycle",
    "LimitRanger",
    "NodeRestriction",
    "TaintNodesByCondition",
    "AlwaysPullImages",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "ExtendedResourceToleration",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction",
    "DefaultIngressClass",
    "DenyServiceExternalIPs",
  ]);
  const off = [
    "AlwaysPullImages",
    "ExtendedResourceToleration",
    "StorageObjectInUseProtection",
    "DenyServiceExternalIPs",
  ];
  const usual = all.filter((name) => !off.includes(name));
  assert.deepEqual(names([], []), usual);
  assert.deepEqual(
    names([], ["Priority"]),
    usual.filter((name) => name !== "Priority"),
  );
  assert.deepEqual(names(off.toReversed(), []), all);
  assert.deepEqual(
    names([], ["ImagePolicyWebhook"]),
    usual,
    "one of kube-apiserver's that there is not",
  );
  assert.throws(() => names(["Nonsense"], []), /--enable-admission-plugins: plugin "Nonsense" is/);
  assert.throws(() => names([], ["PodX"]), /--disable-admission-plugins: plugin "PodX" is/);
  assert.throws(() => names(["Priority"], ["Priority"]), /^RangeError: Priority: in --enable- and/);
});

test("NamespaceLifecycle: the namespaces that everybody counts on are not deleted", async () => {
  await create("", "namespaces", { metadata: { name: "mortal" } });
  const remove = (name: string) => {
    const resource = harness.resource("", "v1", "namespaces");
    const target = { resource, namespace: "", name, options: { isDryRun: true }, user: testUser };
    return deleteObject(registry, target, noSignal);
  };
  await remove("mortal");
  await forbidden(
    remove("default"),
    /^namespaces "default" is forbidden: this namespace may not be deleted$/,
  );
});

test("Priority: a pod gets the value of its class, of the default one, or zero", async () => {
  const classes = "scheduling.k8s.io";
  const priorityOf = ({ priorityClassName, priority, preemptionPolicy }: JsonObject) => [
    priorityClassName,
    priority,
    preemptionPolicy,
  ];
  assert.deepEqual(priorityOf(await createPod("none")), [undefined, 0, "PreemptLowerPriority"]);
  const high = { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" };
  await create(classes, "priorityclasses", high);
  const named = { priorityClassName: "high" };
  assert.deepEqual(priorityOf(await createPod("high", named)), ["high", 1000, "Never"]);
  await forbidden(createPod("x", { priorityClassName: "no" }), /no PriorityClass with name no was/);
  await forbidden(createPod("x", { ...named, priority: 5 }), /the integer value of priority \(5\)/);
  await forbidden(
    createPod("x", { ...named, preemptionPolicy: "PreemptLowerPriority" }),
    /the string value of PreemptionPolicy \(PreemptLowerPriority\)/,
  );
  const usual = { metadata: { name: "usual" }, value: 10, globalDefault: true };
  await create(classes, "priorityclasses", usual);
  await merge(classes, "priorityclasses", "usual", { description: "x" });
  assert.deepEqual(priorityOf(await createPod("usual")), ["usual", 10, "PreemptLowerPriority"]);
  await forbidden(
    create(classes, "priorityclasses", { ...usual, metadata: { name: "second" } }),
    /PriorityClass usual is already marked as default/,
  );
  const kept = await merge("", "pods", "high", { spec: { priority: null } });
  assert.equal(kept.spec.priority, 1000, "a client that does not know it does not remove it");
});

test("DefaultTolerationSeconds: pods stay a while, unless they say for how long", async () => {
  const tolerations = (spec: JsonObject) =>
    (spec.tolerations as JsonObject[]).map(
      ({ key, tolerationSeconds }) => `${key} ${tolerationSeconds}`,
    );
  const [notReady, unreachable] = ["not-ready", "unreachable"].map(
    (taint) => `node.kubernetes.io/${taint}`,
  );
  assert.deepEqual(tolerations(await createPod("t1")), [`${notReady} 300`, `${unreachable} 7`]);
  const own = { key: notReady, operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 };
  assert.deepEqual(tolerations(await createPod("t2", { tolerations: [own] } as JsonObject)), [
    `${notReady} 1`,
    `${unreachable} 7`,
  ]);
  const all = { operator: "Exists" };
  assert.deepEqual((await createPod("t3", { tolerations: [all] })).tolerations, [all]);
});

test("DefaultStorageClass, DefaultIngressClass: the newest default for whom names none", async () => {
  const claim = (name: string, spec: JsonObject = {}, annotations = {}) =>
    create("", "persistentvolumeclaims", {
      metadata: { name, annotations },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } }, ...spec },
    });
  assert.equal((await claim("c0")).spec.storageClassName, undefined, "there is no default");
  const mark = (domain: string) => ({ [`${domain}.kubernetes.io/is-default-class`]: "true" });
  for (const name of ["older", "newer", "plain"]) {
    await create("storage.k8s.io", "storageclasses", {
      metadata: { name, annotations: name === "plain" ? {} : mark("storageclass") },
      provisioner: "p",
    });
  }
  assert.equal((await claim("c1")).spec.storageClassName, "newer");
  assert.equal((await claim("c2", { storageClassName: "" })).spec.storageClassName, "");
  const beta = { "volume.beta.kubernetes.io/storage-class": "older" };
  assert.equal((await claim("c3", {}, beta)).spec.storageClassName, undefined);

  await create("networking.k8s.io", "ingressclasses", {
    metadata: { name: "web", annotations: mark("ingressclass") },
    spec: { controller: "example.com/c" },
  });
  const backend = { service: { name: "s", port: { number: 80 } } };
  const ingress = { metadata: { name: "i" }, spec: { defaultBackend: backend } };
  const made = await create("networking.k8s.io", "ingresses", ingress);
  assert.equal(made.spec.ingressClassName, "web");
});

test("TaintNodesByCondition: a new node is not ready, whatever it says", async () => {
  const made = await create("", "nodes", { metadata: { name: "n1" } });
  const taint = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
  assert.deepEqual(made.spec.taints, [taint]);
  const again = await create("", "nodes", { metadata: { name: "n2" }, spec: { taints: [taint] } });
  assert.deepEqual(again.spec.taints, [taint]);
});

test("RuntimeClass: overhead, node selector and tolerations come from the runtime", async () => {
  await create("node.k8s.io", "runtimeclasses", {
    metadata: { name: "vm" },
    handler: "vm",
    overhead: { podFixed: { cpu: "100m" } },
    scheduling: { nodeSelector: { kvm: "yes" }, tolerations: [{ key: "vm", operator: "Exists" }] },
  });
  const spec = await createPod("vm", { runtimeClassName: "vm", nodeSelector: { a: "b" } });
  assert.deepEqual(spec.overhead, { cpu: "100m" });
  assert.deepEqual(spec.nodeSelector, { a: "b", kvm: "yes" });
  assert.deepEqual((spec.tolerations as JsonObject[])[2], { key: "vm", operator: "Exists" });
  await forbidden(createPod("x", { runtimeClassName: "no" }), /RuntimeClass "no" not found/);
  await forbidden(
    createPod("x", { runtimeClassName: "vm", nodeSelector: { kvm: "no" } }),
    /conflict: runtimeClass.scheduling.nodeSelector\[kvm\] = yes; pod.spec.nodeSelector\[kvm\] = no/,
  );
  await forbidden(
    createPod("x", { runtimeClassName: "vm", overhead: { cpu: "1" } }),
    /Pod's Overhead doesn't match/,
  );
  await forbidden(createPod("x", { overhead: { cpu: "1" } }), /Overhead set without corresponding/);
});

test("tolerations are merged so that none says what another one says already", () => {
  const exists = { key: "a", operator: "Exists" };
  const equal = { key: "a", operator: "Equal", value: "x" };
  assert.deepEqual(mergeTolerations([exists], [equal]), [exists]);
  assert.deepEqual(mergeTolerations([equal], [exists]), [exists]);
  assert.deepEqual(mergeTolerations([equal], [equal]), [equal]);
  assert.deepEqual(mergeTolerations([], [{ operator: "Exists" }, exists]), [
    { operator: "Exists" },
  ]);
  const brief = { ...exists, effect: "NoExecute", tolerationSeconds: 1 };
  const long = { ...brief, tolerationSeconds: 2 };
  assert.deepEqual(mergeTolerations([brief], [long]), [long]);
});

test("certificates: decisions take a right on the signer; nobody becomes a master by one", async () => {
  const group = "certificates.k8s.io";
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  const requestOf = async (subject: string) => {
    const made = await x509.Pkcs10CertificateRequestGenerator.create({
      name: subject,
      keys,
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    });
    return Buffer.from(made.toString("pem")).toString("base64");
  };
  const ask = async (name: string, subject: string, signerName: string) =>
    create(group, "certificatesigningrequests", {
      metadata: { name },
      spec: { request: await requestOf(subject), signerName, usages: ["client auth"] },
    });
  const client = "kubernetes.io/kube-apiserver-client";
  await forbidden(
    ask("master", "CN=a,O=x+O=system:masters", client),
    /use of kubernetes.io\/kube-apiserver-client signer with system:masters group is not allowed/,
  );
  await ask("plain", "CN=a,O=x", client);
  await ask("other", "CN=a,O=system:masters", "example.com/signer");

  const approved = { type: "Approved", status: "True", reason: "r", message: "m" };
  const approve = (name: string) =>
    merge(
      group,
      "certificatesigningrequests",
      name,
      { status: { conditions: [approved] } },
      "approval",
    );
  await forbidden(
    approve("other"),
    /user not permitted to approve requests with signerName "example.com\/signer"/,
  );
  signerRights.add("approve example.com/*");
  await approve("other");
  const sign = (name: string, status: JsonObject) =>
    merge(group, "certificatesigningrequests", name, { status }, "status");
  const failed = { ...approved, type: "Failed" };
  await forbidden(
    sign("other", { conditions: [approved, failed] }),
    /user not permitted to sign requests with signerName "example.com\/signer"/,
  );
  signerRights.add("sign example.com/signer");
  await sign("other", { conditions: [approved, failed] });
  await merge(
    group,
    "certificatesigningrequests",
    "plain",
    { metadata: { labels: { a: "b" } } },
    "status",
  );
});

test("storage: claims grow where their class allows it, and are protected on demand", async () => {
  for (const [name, allowVolumeExpansion] of [
    ["grows", true],
    ["stays", false],
  ] as const) {
    await create("storage.k8s.io", "storageclasses", {
      metadata: { name },
      provisioner: "p",
      allowVolumeExpansion,
    });
    const made = await create("", "persistentvolumeclaims", {
      metadata: { name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: name,
        volumeName: "v",
        resources: { requests: { storage: "1Gi" } },
      },
    });
    assert.deepEqual(made.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
  }
  const grow = (name: string) =>
    merge("", "persistentvolumeclaims", name, {
      spec: { resources: { requests: { storage: "2Gi" } } },
    });
  const bind = (name: string) =>
    merge("", "persistentvolumeclaims", name, { status: { phase: "Bound" } }, "status");
  for (const name of ["grows", "stays"]) await bind(name);
  await grow("grows");
  await forbidden(grow("stays"), /the storageclass that provisions the pvc must support resize/);
});

test("LimitRanger: containers get what they do not ask for, and stay within bounds", async () => {
  const range = (name: string, ...limits: JsonObject[]) =>
    create("", "limitranges", { metadata: { name }, spec: { limits } });
  await range("defaults", {
    type: "Container",
    default: { memory: "2Gi" },
    defaultRequest: { cpu: "100m", memory: "1Gi" },
    min: { cpu: "50m" },
    max: { memory: "4Gi" },
    maxLimitRequestRatio: { memory: "3" },
  });
  await range("pods", { type: "Pod", max: { memory: "6Gi" } });
  await range("claims", {
    type: "PersistentVolumeClaim",
    min: { storage: "1Gi" },
    max: { storage: "5Gi" },
  });
  const container = (name: string, requests: JsonObject = {}, limits: JsonObject = {}) => ({
    name,
    image: "i",
    resources: { requests, limits },
  });
  const made = await create("", "pods", {
    metadata: { name: "limited" },
    spec: { containers: [container("a"), container("b", { memory: "2Gi" })] },
  });
  const [a, b] = made.spec.containers as JsonObject[];
  const limits = { memory: "2Gi" };
  assert.deepEqual(a?.resources, { limits, requests: { cpu: "100m", memory: "1Gi" } });
  assert.deepEqual(b?.resources, { limits, requests: { cpu: "100m", memory: "2Gi" } });
  assert.equal(made.status.qosClass, "Burstable");
  assert.equal(
    made.metadata.annotations?.["kubernetes.io/limit-ranger"],
    "LimitRanger plugin set: cpu, memory request for container a; memory limit for container a; cpu request for container b; memory limit for container b",
  );

  const bad: [containers: JsonObject[], why: RegExp][] = [
    [
      [container("a", { cpu: "10m" })],
      /minimum cpu usage per Container is 50m, but request is 10m/,
    ],
    [
      [container("a", { memory: "1Gi" }, { memory: "5Gi" })],
      /\[maximum memory usage per Container is 4Gi, but limit is 5Gi, memory max limit to request ratio/,
    ],
    [
      [container("a", { memory: "512Mi" })],
      /memory max limit to request ratio per Container is 3, but provided ratio is 4.000000/,
    ],
    [
      [container("a"), container("b"), container("c"), container("d")],
      /maximum memory usage per Pod is 6Gi, but limit is 8Gi/,
    ],
  ];
  for (const [containers, why] of bad) await forbidden(createPod("x", { containers }), why);
  const whole = { containers: [container("a")], resources: { limits: { memory: "7Gi" } } };
  await forbidden(
    createPod("x", whole),
    /^[^[]*maximum memory usage per Pod is 6Gi, but limit is 7Gi$/,
  );
  // A pod without containers has null there and is refused for that alone.
  const none = { metadata: { name: "none" }, spec: { containers: null } };
  await assert.rejects(create("", "pods", none), /spec.containers: Required value/);

  const claim = (storage: string) =>
    create("", "persistentvolumeclaims", {
      metadata: { name: "sized" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
    });
  await forbidden(
    claim("1Mi"),
    /minimum storage usage per PersistentVolumeClaim is 1Gi, but request/,
  );
  await forbidden(
    claim("6Gi"),
    /maximum storage usage per PersistentVolumeClaim is 5Gi, but request/,
  );
  await claim("2Gi");
});
