/** NodeRestriction in the write path: the contents that nodes may write (S2-NODE-06). */
// The X.509 library resolves its parts by decorators and needs this import first.
import "reflect-metadata";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as x509 from "@peculiar/x509";
import { applyMergePatch } from "../../api/merge-patch.js";
import type { ApiObject, JsonObject, JsonValue } from "../../api/meta.js";
import { forbidden } from "../../api/testing/refusal.js";
import type { Registry } from "../../registry/registry.js";
import { eviction } from "../../registry/subresources/eviction.js";
import { plainWrites } from "../../registry/testing/plain-writes.js";
import {
  noSignal,
  openRegistryHarness,
  testUser,
  writeOptions,
} from "../../registry/testing/registry-harness.js";
import { runAction } from "../../registry/write/action.js";
import { admitUnstored } from "../../registry/write/admit.js";
import { deleteObject } from "../../registry/write/delete.js";
import { patchObject } from "../../registry/write/update.js";
import { createUser } from "../../request/user-info.js";
import { AdmissionChain } from "../chain.js";
import { NodeRestriction } from "./node-restriction.js";

const harness = await openRegistryHarness();
const { view, naming } = harness.registry;
const audiencesAllowed = new Set<string>();
const plugin = new NodeRestriction({
  view,
  naming,
  mayRequestAudience: async (_user, _account, audience) => audiencesAllowed.has(audience),
});
const registry: Registry = { ...harness.registry, admission: new AdmissionChain([plugin]) };
const nodeUser = (name: string) =>
  createUser({ name: `system:node:${name}`, groups: ["system:nodes"] });
const n1 = nodeUser("n1");
const uids = new Map<string, string>();

const writes = plainWrites(harness, { on: registry });

after(() => harness[Symbol.asyncDispose]());
before(async () => {
  await create("", "namespaces", { metadata: { name: "default" } });
  await create("", "namespaces", { metadata: { name: "kube-node-lease" } });
  for (const name of ["n1", "n2"]) {
    const { metadata } = await create("", "nodes", { metadata: { name } });
    uids.set(name, metadata.uid ?? "");
  }
  for (const [name, node] of [
    ["mine", "n1"],
    ["other", "n2"],
  ] as const) {
    await create("", "pods", pod(name, { nodeName: node }));
  }
});

function pod(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name, ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  };
}

function create(
  group: string,
  resource: string,
  value: JsonObject,
  user = testUser,
  namespace = "default",
) {
  return writes.create(group, resource, value, { user, namespace });
}

function targetOf(group: string, resource: string, name: string, subresource: string, user = n1) {
  const served = harness.resource(group, "v1", resource);
  return {
    resource: served,
    namespace: served.isNamespaced ? "default" : "",
    name,
    subresource,
    options: writeOptions({ user }),
  };
}

async function merge(target: ReturnType<typeof targetOf>, patch: JsonObject) {
  const write = { ...target, patch: (current: JsonValue) => applyMergePatch(current, patch) };
  await patchObject(registry, write, noSignal);
}

async function remove(group: string, resource: string, name: string, user = n1) {
  const target = targetOf(group, resource, name, "");
  const options = { isDryRun: true };
  await deleteObject(registry, { ...target, options, user }, noSignal);
}

test("S2-NODE-06: users that are no nodes are not restricted; a node without a name writes nothing", async () => {
  await merge(targetOf("", "nodes", "n2", "", testUser), { metadata: { labels: { a: "b" } } });
  await forbidden(
    merge(targetOf("", "nodes", "n1", "", nodeUser("")), {}),
    /could not determine node from user "system:node:"/,
  );
});

test("S2-NODE-06, CVE-2025-5187: a node writes its own Node only, without taints, owners and forbidden labels", async () => {
  const own = targetOf("", "nodes", "n1", "");
  const status = targetOf("", "nodes", "n1", "status");
  await merge(own, { metadata: { labels: { "kubernetes.io/hostname": "h", custom: "x" } } });
  await merge(own, { metadata: { labels: { "node.kubernetes.io/x": "y" } } });
  await merge(status, { status: { phase: "Running" } });
  await create("", "nodes", { metadata: { name: "n3" } }, nodeUser("n3"));
  const labels = (label: string) => ({ metadata: { labels: { [label]: "x" } } });
  for (const label of [
    "node-restriction.kubernetes.io/a",
    "x.node-restriction.kubernetes.io/a",
    "kubernetes.io/role",
    "node-role.kubernetes.io/admin",
    "k8s.io/a",
  ]) {
    const text = label.replaceAll(".", "\\.");
    await forbidden(
      merge(own, labels(label)),
      new RegExp(`is not allowed to modify labels: ${text}$`),
    );
    await forbidden(
      create("", "nodes", { metadata: { name: "n4", labels: { [label]: "x" } } }, nodeUser("n4")),
      /node "n4" is not allowed to set the following labels/,
    );
  }
  const taints = [{ key: "k", effect: "NoSchedule" }];
  for (const target of [own, status]) {
    await forbidden(
      merge(target, { spec: { taints } }),
      /node "n1" is not allowed to modify taints/,
    );
  }
  const owner = { apiVersion: "v1", kind: "Node", name: "x", uid: "u" };
  await forbidden(
    merge(own, { metadata: { ownerReferences: [owner] } }),
    /is not allowed to modify ownerReferences/,
  );
  for (const subresource of ["", "status"]) {
    await forbidden(
      merge(targetOf("", "nodes", "n2", subresource), {}),
      /nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"/,
    );
  }
  await forbidden(create("", "nodes", { metadata: { name: "n5" } }, n1), /to modify node "n5"/);
});

test("A15: a node does not say where its agent's configuration comes from", async () => {
  const own = targetOf("", "nodes", "n1", "");
  const configMap = { name: "c", namespace: "kube-system", kubeletConfigKey: "k" };
  const spec = { configSource: { configMap } };
  for (const target of [own, targetOf("", "nodes", "n1", "status")]) {
    await forbidden(
      merge(target, { spec }),
      /node "n1" is not allowed to update configSource to a new non-nil configSource$/,
    );
  }
  await forbidden(
    create("", "nodes", { metadata: { name: "n6" }, spec }, nodeUser("n6")),
    /node "n6" is not allowed to create pods with a non-nil configSource$/,
  );
});

test("S2-NODE-06, CVE-2025-4563: of pods a node creates those that mirror its own, without references", async () => {
  const owner = {
    apiVersion: "v1",
    kind: "Node",
    name: "n1",
    uid: uids.get("n1") ?? "",
    controller: true,
  };
  const annotations = { "kubernetes.io/config.mirror": "x" };
  const good = { annotations, ownerReferences: [owner] };
  const spec = { nodeName: "n1" };
  const attempt = (what: string, changes: JsonObject, metadata: JsonObject = {}) =>
    create("", "pods", pod(what, { ...spec, ...changes }, { ...good, ...metadata }), n1);
  await attempt("mirror", {});
  const volume = (source: JsonObject) => ({ volumes: [{ name: "v", ...source }] });
  const cases: [changes: JsonObject, metadata: JsonObject, why: RegExp][] = [
    [{}, { annotations: {} }, /does not have "kubernetes.io\/config.mirror" annotation/],
    [{ nodeName: "n2" }, {}, /can only create pods with spec.nodeName set to itself/],
    [{}, { ownerReferences: [] }, /with an owner reference set to itself/],
    [{}, { ownerReferences: [owner, { ...owner, uid: "2", controller: false }] }, /a single owner/],
    [{}, { ownerReferences: [{ ...owner, name: "n2" }] }, /with an owner reference set to itself/],
    [{}, { ownerReferences: [{ ...owner, controller: false }] }, /with a controller owner/],
    [{}, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] }, /blockOwnerDeletion/],
    [{}, { ownerReferences: [{ ...owner, uid: "wrong" }] }, /UID mismatch: expected wrong/],
    [{ serviceAccountName: "robot" }, {}, /reference a service account/],
    [volume({ secret: { secretName: "s" } }), {}, /reference secrets/],
    [volume({ configMap: { name: "s" } }), {}, /reference configmaps/],
    [volume({ persistentVolumeClaim: { claimName: "s" } }), {}, /reference persistentvolumeclaims/],
    [{ resourceClaims: [{ name: "r", resourceClaimName: "r" }] }, {}, /reference resourceclaims/],
  ];
  for (const [changes, metadata, why] of cases) {
    await forbidden(attempt("bad", changes, metadata), why);
  }
  await assert.rejects(attempt("bad", { containers: null }), /spec.containers: Required value/);
});

test("S2-NODE-06: a node deletes, evicts and reports on pods that are bound to it", async () => {
  await remove("", "pods", "mine");
  await forbidden(
    remove("", "pods", "other"),
    /can only delete pods with spec.nodeName set to itself/,
  );
  await merge(targetOf("", "pods", "mine", "status"), { status: { phase: "Running" } });
  await forbidden(
    merge(targetOf("", "pods", "other", "status"), { status: { phase: "Failed" } }),
    /can only update pod status for pods with spec.nodeName set to itself/,
  );
  await forbidden(
    merge(targetOf("", "pods", "mine", "status"), { metadata: { labels: { a: "b" } } }),
    /cannot update labels through pod status/,
  );
  await forbidden(
    merge(targetOf("", "pods", "mine", "status"), {
      status: { resourceClaimStatuses: [{ name: "r", resourceClaimName: "x" }] },
    }),
    /cannot update resource claim statuses/,
  );
  await forbidden(
    merge(targetOf("", "pods", "mine", ""), { metadata: { labels: { a: "b" } } }),
    /unexpected operation "UPDATE", node "n1" can only create and delete mirror pods/,
  );
  const resource = harness.action("", "v1", "pods", "eviction");
  const evict = (name: string) => {
    const object = { kind: "Eviction", apiVersion: "policy/v1", metadata: { name } };
    const options = writeOptions({ user: n1, isDryRun: true });
    const request = {
      resource,
      object,
      namespace: "default",
      name,
      options,
      subresource: "eviction",
    };
    return runAction(registry, eviction, request, noSignal);
  };
  await evict("mine");
  await forbidden(evict("other"), /node n1 can only evict pods with spec.nodeName set to itself/);
});

test("S2-NODE-06: a node changes of a claim what it did to the volume", async () => {
  await create("", "persistentvolumeclaims", {
    metadata: { name: "claim" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  });
  const target = targetOf("", "persistentvolumeclaims", "claim", "status");
  const condition = { type: "FileSystemResizePending", status: "True" };
  await merge(target, { status: { capacity: { storage: "1Gi" }, conditions: [condition] } });
  for (const patch of [
    { status: { phase: "Lost" } },
    { metadata: { labels: { a: "b" } } },
    { metadata: { finalizers: ["x/y"] } },
  ]) {
    await forbidden(merge(target, patch), /is not allowed to update fields other than/);
  }
  const whole = targetOf("", "persistentvolumeclaims", "claim", "");
  await forbidden(merge(whole, {}), /may only update PVC status/);
});

test("S2-NODE-06: leases, CSINodes and resource slices bear the node's name", async () => {
  const leases = "coordination.k8s.io";
  const lease = (name: string) => ({ metadata: { name } });
  await create(leases, "leases", lease("n1"), n1, "kube-node-lease");
  await forbidden(
    create(leases, "leases", lease("n2"), n1, "kube-node-lease"),
    /can only access node lease with the same name as the requesting node/,
  );
  await forbidden(
    create(leases, "leases", lease("n1"), n1),
    /can only access leases in the "kube-node-lease" system namespace/,
  );
  const csi = (name: string) => ({ metadata: { name }, spec: { drivers: [] } });
  await create("storage.k8s.io", "csinodes", csi("n1"), n1);
  await forbidden(create("storage.k8s.io", "csinodes", csi("n2"), n1), /can only access CSINode/);
  const slice = (name: string, nodeName: string) => ({
    metadata: { name },
    spec: { driver: "d.example", nodeName, pool: { name: "p", resourceSliceCount: 1 } },
  });
  const group = "resource.k8s.io";
  await create(group, "resourceslices", slice("s1", "n1"), n1);
  await forbidden(
    create(group, "resourceslices", slice("s2", "n2"), n1),
    /can only create ResourceSlice with the same NodeName/,
  );
  await create(group, "resourceslices", slice("s2", "n2"));
  await remove(group, "resourceslices", "s1");
  await forbidden(
    remove(group, "resourceslices", "s2"),
    /can only delete ResourceSlice with the same NodeName/,
  );
});

test("S2-NODE-06: tokens are bound to a pod of the node and are for whom the pod mentions", async () => {
  const sources = [{ serviceAccountToken: { path: "t", audience: "vault" } }, {}];
  const volumes = [{ name: "v", projected: { sources: sources.slice(0, 1) } }];
  const spec = { nodeName: "n1", serviceAccountName: "robot", volumes };
  const made = await create("", "pods", pod("tokens", spec));
  const uid = made.metadata.uid ?? "";
  const bound = { apiVersion: "v1", kind: "Pod", name: "tokens", uid };
  const target = {
    ...targetOf("", "serviceaccounts", "robot", "token"),
    namespace: "default",
  };
  const request = (spec: JsonObject) => {
    const object = { kind: "TokenRequest", apiVersion: "v1", metadata: {}, spec };
    return admitUnstored(registry.admission, target, object, noSignal);
  };
  await request({ audiences: ["vault"], boundObjectRef: bound });
  // Fields that a client leaves out arrive as null.
  const own = request({ audiences: null, boundObjectRef: bound });
  await forbidden(own, /audience "" not found in pod spec volume/);
  await forbidden(request({ audiences: ["vault"] }), /token not bound to a pod/);
  await forbidden(
    request({ audiences: ["vault"], boundObjectRef: { ...bound, kind: "Secret" } }),
    /token not bound to a pod/,
  );
  await forbidden(
    request({ audiences: ["vault"], boundObjectRef: { ...bound, uid: "" } }),
    /pod binding without a uid/,
  );
  await forbidden(
    request({ audiences: ["vault"], boundObjectRef: { ...bound, uid: "x" } }),
    /the UID in the bound object reference \(x\) does not match/,
  );
  const other = view.partition("core/pods").get("default/other");
  const otherUid = (JSON.parse(String(other?.bytes)) as ApiObject).metadata.uid ?? "";
  await forbidden(
    request({ audiences: ["vault"], boundObjectRef: { ...bound, name: "other", uid: otherUid } }),
    /bound to a pod scheduled on a different node/,
  );
  await forbidden(request({ audiences: ["a", "b"], boundObjectRef: bound }), /0 or 1 audiences/);
  const elsewhere = { audiences: ["elsewhere"], boundObjectRef: bound };
  await forbidden(request(elsewhere), /audience "elsewhere" not found in pod spec volume/);
  audiencesAllowed.add("elsewhere");
  await request(elsewhere);
});

test("S2-NODE-06: a node asks for certificates in its own name", async () => {
  const keys = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify",
  ]);
  const requestOf = async (name: string) => {
    const made = await x509.Pkcs10CertificateRequestGenerator.create({
      name,
      keys,
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    });
    return Buffer.from(made.toString("pem")).toString("base64");
  };
  const attempt = (name: string, request: string, signer = "kube-apiserver-client-kubelet") =>
    create(
      "certificates.k8s.io",
      "certificatesigningrequests",
      {
        metadata: { name },
        spec: { request, signerName: `kubernetes.io/${signer}`, usages: ["client auth"] },
      },
      n1,
    );
  await attempt("own", await requestOf("CN=system:node:n1,O=system:nodes"));
  const other = await requestOf("CN=system:node:n2,O=system:nodes");
  await forbidden(attempt("csr", other), /can only create a node CSR with CN=system:node:n1/);
  await forbidden(attempt("csr2", other, "kubelet-serving"), /can only create a node CSR/);
});
