/** Permissions of nodes: through their pods, by their name, and those of all nodes (S2-NODE). */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ApiObject, JsonObject } from "../../api/meta.js";
import { plainWrites } from "../../registry/testing/plain-writes.js";
import {
  noSignal,
  openRegistryHarness,
  writeOptions,
} from "../../registry/testing/registry-harness.js";
import { patchObject } from "../../registry/write/update.js";
import { parseRequestInfo } from "../../request/request-info.js";
import { AUTHENTICATED_GROUP, createUser } from "../../request/user-info.js";
import { NodeAuthorizer } from "./node-authorizer.js";

const harness = await openRegistryHarness();
const { registry } = harness;
const { create, remove } = plainWrites(harness);
const NOW = { gracePeriodSeconds: 0 };
const authorizer = new NodeAuthorizer(registry.view, registry.naming);

const nodeUser = (name: string) =>
  createUser({ name: `system:node:${name}`, groups: ["system:nodes", AUTHENTICATED_GROUP] });

function decide(user: ReturnType<typeof createUser>, request: string) {
  const [method = "", url = ""] = request.split(" ");
  const result = authorizer.authorize({ user, info: parseRequestInfo(method, url) });
  assert.ok(!(result instanceof Promise), "what is small is decided at once");
  return result;
}

const may = (node: string, request: string) => decide(nodeUser(node), request).decision === "allow";

const reason = (node: string, request: string) => {
  const { decision, reason: why } = decide(nodeUser(node), request);
  assert.equal(decision, "no-opinion", request);
  return why;
};

async function createPod(name: string, node: string, spec: JsonObject = {}, metadata = {}) {
  await create("", "pods", {
    metadata: { name, ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], nodeName: node, ...spec },
  });
}

before(async () => {
  for (const name of ["default", "other"]) await create("", "namespaces", { metadata: { name } });
});
after(() => harness[Symbol.asyncDispose]());

const GET = (resource: string, name: string, namespace = "default") =>
  `GET /api/v1/namespaces/${namespace}/${resource}/${name}`;

test("S2-NODE-01: user name and group are both needed, and a node has a name", () => {
  const request = GET("services", "s");
  assert.equal(decide(nodeUser("n1"), request).decision, "allow");
  for (const user of [
    createUser({ name: "system:node:n1" }),
    createUser({ name: "n1", groups: ["system:nodes"] }),
    createUser({ name: "system:nodes:n1", groups: ["system:nodes"] }),
  ]) {
    assert.deepEqual(decide(user, request), { decision: "no-opinion", reason: "" });
  }
  assert.match(decide(nodeUser(""), request).reason, /^unknown node for user "system:node:"$/);
  assert.equal(decide(nodeUser("n1"), "GET /metrics").decision, "no-opinion");
});

test("S2-NODE-02: every node reads services and endpoints, its own Node and its own pods", async () => {
  await createPod("mine", "n1");
  for (const request of [
    GET("services", "s"),
    "GET /api/v1/services",
    "GET /api/v1/services?watch=1",
    GET("endpoints", "e"),
    "GET /api/v1/nodes/n1",
    "GET /api/v1/nodes?fieldSelector=metadata.name%3Dn1",
    "GET /api/v1/nodes?fieldSelector=metadata.name%3Dn1&watch=1",
    "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dn1&watch=1",
    "GET /api/v1/pods?fieldSelector=status.phase%21%3DFailed,spec.nodeName%3Dn1",
    GET("pods", "mine"),
    "GET /api/v1/namespaces/default/pods?fieldSelector=metadata.name%3Dmine",
    "GET /apis/storage.k8s.io/v1/csidrivers",
    "GET /apis/node.k8s.io/v1/runtimeclasses?watch=1",
  ]) {
    assert.ok(may("n1", request), request);
  }
  assert.match(reason("n1", "GET /api/v1/nodes"), /cannot read all nodes, only its own/);
  assert.match(reason("n1", "GET /api/v1/nodes/n2"), /cannot read 'n2', only its own/);
  for (const selector of ["spec.nodeName%3Dn2", "spec.nodeName%21%3Dn1", "spec.nodeName", ""]) {
    const request = `GET /api/v1/pods?fieldSelector=${selector}`;
    assert.match(reason("n1", request), /can only list\/watch pods with spec.nodeName/, selector);
  }
  assert.match(reason("n2", GET("pods", "mine")), /no relationship found between node 'n2'/);
  assert.equal(may("n1", "GET /api/v1/endpoints"), false);
  assert.equal(may("n1", `${GET("pods", "mine")}/log`), false);
});

test("S2-NODE-03: secrets, config maps and claims by each way a pod can name them, on its node only", async () => {
  const named = (name: string) => ({ name });
  await createPod("names", "n1", {
    serviceAccountName: "robot",
    imagePullSecrets: [named("pull")],
    initContainers: [
      { name: "i", image: "i", envFrom: [{ secretRef: named("init-env") }] },
      { name: "j", image: "i", envFrom: [{ configMapRef: named("init-config") }] },
    ],
    containers: [
      {
        name: "c",
        image: "i",
        env: [
          { name: "A", valueFrom: { secretKeyRef: { name: "key", key: "k" } } },
          { name: "B", valueFrom: { configMapKeyRef: { name: "config-key", key: "k" } } },
        ],
      },
    ],
    volumes: [
      { name: "a", secret: { secretName: "volume" } },
      { name: "b", configMap: named("config") },
      {
        name: "c",
        projected: {
          sources: [{ secret: named("projected") }, { configMap: named("config-projected") }],
        },
      },
      {
        name: "d",
        csi: { driver: "d.example", nodePublishSecretRef: named("csi") },
      },
      { name: "e", persistentVolumeClaim: { claimName: "claim" } },
      {
        name: "f",
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } },
          },
        },
      },
    ],
    resourceClaims: [{ name: "r", resourceClaimName: "device" }],
  });
  const requests = [
    ...["pull", "init-env", "key", "volume", "projected", "csi"].map((n) => GET("secrets", n)),
    ...["init-config", "config", "config-key", "config-projected"].map((n) => GET("configmaps", n)),
    ...["claim", "names-f"].map((n) => GET("persistentvolumeclaims", n)),
    "PATCH /api/v1/namespaces/default/persistentvolumeclaims/claim/status",
    "GET /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/device",
    "GET /api/v1/namespaces/default/secrets?fieldSelector=metadata.name%3Dkey",
    "GET /api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dconfig&watch=1",
    "POST /api/v1/namespaces/default/serviceaccounts/robot/token",
    "GET /api/v1/namespaces/default/serviceaccounts/robot",
  ];
  for (const request of requests) {
    assert.ok(may("n1", request), request);
    assert.match(
      reason("n2", request),
      /^no relationship found between node 'n2' and this object$/,
    );
    assert.equal(may("n1", request.replace("/default/", "/other/")), false, "another namespace");
  }
  assert.match(reason("n1", GET("secrets", "config")), /no relationship/);
  for (const [request, why] of [
    ["GET /api/v1/namespaces/default/secrets", /No Object name found/],
    ["GET /api/v1/secrets", /can only read namespaced object of this type/],
    ["PUT /api/v1/namespaces/default/secrets/key", /can only read resources of this type/],
    ["GET /api/v1/namespaces/default/persistentvolumeclaims", /can only get individual/],
    ["GET /api/v1/namespaces/default/persistentvolumeclaims/claim/status", /can only get\/update/],
    ["POST /api/v1/namespaces/default/serviceaccounts", /can only create tokens for individual/],
    ["DELETE /apis/resource.k8s.io/v1/namespaces/default/resourceclaims/device", /can only get/],
  ] as const) {
    assert.match(reason("n1", request), why, request);
  }
});

test("S2-NODE-03: what a node may read comes with the binding of a pod and goes with the pod", async () => {
  const volumes = [{ name: "v", secret: { secretName: "comes" } }];
  await createPod("late", "", { volumes });
  const request = GET("secrets", "comes");
  assert.equal(may("n1", request), false);
  const pods = harness.resource("", "v1", "pods");
  const target = {
    resource: {
      ...pods,
      form: "part" as const,
      main: pods,
      part: { merge: (sent: ApiObject) => sent },
    },
    namespace: "default",
    name: "late",
    subresource: "binding",
    options: writeOptions(),
    patch: (current: unknown) => {
      const pod = current as ApiObject;
      return { ...pod, spec: { ...(pod.spec as object), nodeName: "n1" } } as never;
    },
  };
  await patchObject(registry, target, noSignal);
  await registry.freshness.fresh();
  assert.equal(may("n1", request), true);
  assert.equal(may("n2", request), false);
  await remove("", "pods", "late", NOW);
  await registry.freshness.fresh();
  assert.equal(may("n1", request), false);
});

test("S2-NODE-03: a pod that a node made itself gives it nothing", async () => {
  const volumes = [{ name: "v", secret: { secretName: "mirrored" } }];
  const annotations = { "kubernetes.io/config.mirror": "x" };
  await createPod("mirror", "n1", { volumes }, { annotations });
  assert.equal(may("n1", GET("secrets", "mirrored")), false);
});

test("S2-NODE-03: volumes and their secrets by the claims of the node's pods", async () => {
  const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "disk" } }];
  await createPod("claims", "n1", { volumes });
  const csi = {
    driver: "d.example",
    volumeHandle: "h",
    nodeStageSecretRef: { namespace: "other", name: "stage" },
    nodePublishSecretRef: { namespace: "default", name: "publish" },
    controllerPublishSecretRef: { namespace: "other", name: "controller" },
  };
  const spec = {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    csi,
    claimRef: { namespace: "default", name: "disk" },
  };
  const allowed = ["GET /api/v1/persistentvolumes/pv", GET("secrets", "stage", "other")];
  for (const request of allowed) assert.equal(may("n1", request), false);
  await create("", "persistentvolumes", { metadata: { name: "pv" }, spec });
  await registry.freshness.fresh();
  for (const request of [...allowed, GET("secrets", "publish")]) {
    assert.ok(may("n1", request), request);
    assert.equal(may("n2", request), false);
  }
  assert.equal(may("n1", GET("secrets", "controller", "other")), false, "not for nodes");
  assert.equal(may("n1", "GET /api/v1/persistentvolumes"), false);

  const rbd = { monitors: ["m"], image: "i", secretRef: { name: "beside" } };
  const { csi: _, ...rest } = spec;
  await create("", "persistentvolumes", { metadata: { name: "old" }, spec: { ...rest, rbd } });
  await registry.freshness.fresh();
  assert.ok(may("n1", GET("secrets", "beside")), "beside the claim where no namespace is named");

  await remove("", "persistentvolumes", "old", NOW);
  await registry.freshness.fresh();
  assert.equal(may("n1", GET("secrets", "beside")), false);
});

test("S2-NODE-03: attachments and slices of the node", async () => {
  await create("storage.k8s.io", "volumeattachments", {
    metadata: { name: "va" },
    spec: { attacher: "d", nodeName: "n1", source: { persistentVolumeName: "pv" } },
  });
  await create("resource.k8s.io", "resourceslices", {
    metadata: { name: "slice" },
    spec: { driver: "d.example", nodeName: "n1", pool: { name: "p", resourceSliceCount: 1 } },
  });
  await registry.freshness.fresh();
  const slices = "/apis/resource.k8s.io/v1/resourceslices";
  for (const request of [
    "GET /apis/storage.k8s.io/v1/volumeattachments/va",
    `GET ${slices}/slice`,
    `PUT ${slices}/slice`,
    `DELETE ${slices}/slice`,
  ]) {
    assert.ok(may("n1", request), request);
    assert.match(reason("n2", request), /no relationship/);
  }
  assert.ok(may("n1", `POST ${slices}`));
  assert.ok(may("n1", `DELETE ${slices}?fieldSelector=spec.nodeName%3Dn1`));
  assert.ok(may("n1", `GET ${slices}?fieldSelector=spec.nodeName%3D%3Dn1&watch=1`));
  assert.match(reason("n1", `GET ${slices}`), /with nodeName field selector/);
  assert.match(reason("n1", `GET ${slices}?fieldSelector=spec.nodeName%3Dn2`), /nodeName field/);
});

test("S2-NODE-04: a node writes Node, pod status, evictions, events, its lease and its CSINode", () => {
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  for (const request of [
    "POST /api/v1/nodes",
    "PUT /api/v1/nodes/n1",
    "PATCH /api/v1/nodes/n1/status",
    "POST /api/v1/namespaces/default/pods",
    "DELETE /api/v1/namespaces/default/pods/mine",
    "PATCH /api/v1/namespaces/default/pods/mine/status",
    "POST /api/v1/namespaces/default/pods/mine/eviction",
    "POST /api/v1/namespaces/default/events",
    "PATCH /apis/events.k8s.io/v1/namespaces/default/events/e",
    `POST ${leases}`,
    `PUT ${leases}/n1`,
    "POST /apis/storage.k8s.io/v1/csinodes",
    "PATCH /apis/storage.k8s.io/v1/csinodes/n1",
  ]) {
    assert.ok(may("n1", request), request);
  }
  for (const request of [
    "DELETE /api/v1/nodes/n1",
    "PUT /api/v1/namespaces/default/pods/mine",
    "POST /api/v1/namespaces/default/pods/mine/binding",
    "DELETE /api/v1/namespaces/default/events/e",
    `PUT ${leases}/n2`,
    `GET ${leases}`,
    "PUT /apis/coordination.k8s.io/v1/namespaces/default/leases/n1",
    "PATCH /apis/storage.k8s.io/v1/csinodes/n2",
    "POST /apis/apps/v1/namespaces/default/deployments",
  ]) {
    assert.equal(may("n1", request), false, request);
  }
});

test("S2-NODE-05: requests about credentials: certificates, token and access reviews", () => {
  for (const request of [
    "POST /apis/certificates.k8s.io/v1/certificatesigningrequests",
    "GET /apis/certificates.k8s.io/v1/certificatesigningrequests?watch=1",
    "POST /apis/authentication.k8s.io/v1/tokenreviews",
    "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
    "POST /apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
  ]) {
    assert.ok(may("n1", request), request);
  }
  const approval = "PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval";
  assert.equal(may("n1", approval), false);
});

test("rules of nodes cannot be listed, and the list says so", () => {
  assert.deepEqual(authorizer.rulesFor(nodeUser("n1")), {
    resourceRules: [],
    nonResourceRules: [],
    incomplete: true,
    evaluationError: "node authorizer does not support user rule resolution",
  });
  assert.equal(authorizer.rulesFor(createUser({ name: "jane" })).incomplete, false);
});

test("39.3: the pods of a node are not all read in one turn, and the decision is the same", async () => {
  const text = "x".repeat(20_000);
  for (let at = 0; at < 30; at++) {
    await create("", "pods", {
      metadata: { name: `large-${at}`, annotations: { text } },
      spec: {
        nodeName: "crowded",
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "v", secret: { secretName: `of-${at}` } }],
      },
    });
  }
  await registry.freshness.fresh();
  const user = nodeUser("crowded");
  const ask = (name: string) =>
    authorizer.authorize({
      user,
      info: parseRequestInfo("GET", `/api/v1/namespaces/default/secrets/${name}`),
    });
  const first = ask("of-29");
  assert.ok(first instanceof Promise);
  assert.equal((await first).decision, "allow");
  // What has been read is not read again.
  assert.equal(may("crowded", "GET /api/v1/namespaces/default/secrets/of-3"), true);
  assert.equal(may("crowded", "GET /api/v1/namespaces/default/secrets/none"), false);
});
