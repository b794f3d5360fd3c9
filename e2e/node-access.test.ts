/**
 * Nodes from outside: two replicas over one etcd with the plugins that are on by default, and kubelets
 * that come with certificates of their own. What a node may read comes with the binding of a pod and
 * goes with the pod: on one replica it is written, on the other it holds for the very next request.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { furnished } from "./harness/furnished-namespace.js";
import { type Answer, type ApiObject, HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const NAMESPACE = "/api/v1/namespaces/default";
const PODS = `${NAMESPACE}/pods`;
const SECRETS = `${NAMESPACE}/secrets`;
/** Each is a handful of requests. */
const ROUNDS = 25;
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const NOW = { gracePeriodSeconds: 0 };

function podFor(name: string, secret: string, nodeName?: string) {
  return {
    metadata: { name },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "i" }],
      volumes: [{ name: "v", secret: { secretName: secret } }],
    },
  };
}

function refused(answer: Answer, why: RegExp): void {
  assert.match(String(answer.expect(403).object.message), why);
}

describe("nodes", () => {
  let etcd: EtcdProcess;
  let here: ServerProcess;
  let there: ServerProcess;
  /** The node "n1", on the replica where nothing is written; the same on the other; the node "n2". */
  let node: HttpsClient;
  let nodeHere: HttpsClient;
  let otherNode: HttpsClient;
  let stranger: HttpsClient;
  const folder = makeTempDir("node-access");

  before(async () => {
    const authority = await TestAuthority.create("nodes");
    const caFile = await (await folder).write("ca.crt", authority.certificate);
    etcd = await startEtcd();
    const options = {
      etcdEndpoints: [etcd.endpoint],
      flags: ["--authorization-mode=Node,RBAC", `--client-ca-file=${caFile}`],
    };
    here = await startServer(options);
    there = await startServer(options);
    await furnished(here.client);
    const clientOf = async (server: ServerProcess, name: string, organizations: string[]) => {
      const identity = await authority.issue({ commonName: name, organizations });
      return new HttpsClient(server.url, { ca: server.credentials.ca, ...identity });
    };
    node = await clientOf(there, "system:node:n1", ["system:nodes"]);
    nodeHere = await clientOf(here, "system:node:n1", ["system:nodes"]);
    otherNode = await clientOf(there, "system:node:n2", ["system:nodes"]);
    stranger = await clientOf(there, "system:node:n1", []);
  });

  after(async () => {
    for (const client of [node, nodeHere, otherNode, stranger]) client?.close();
    await there?.[Symbol.asyncDispose]();
    await here?.[Symbol.asyncDispose]();
    await etcd?.stop();
    await (await folder)[Symbol.asyncDispose]();
  });

  test("S2-NODE-01, S2-NODE-04, S2-NODE-06: a kubelet registers its own node and keeps its lease", async () => {
    (await nodeHere.post("/api/v1/nodes", { metadata: { name: "n1" } })).expect(201);
    refused(
      await nodeHere.post("/api/v1/nodes", { metadata: { name: "n3" } }),
      /node "n1" is not allowed to modify node "n3"/,
    );
    (await otherNode.post("/api/v1/nodes", { metadata: { name: "n2" } })).expect(201);
    (await node.get("/api/v1/nodes/n1")).expect(200);
    refused(await node.get("/api/v1/nodes/n2"), /only its own Node object/);
    refused(await stranger.get("/api/v1/nodes/n1"), /User "system:node:n1" cannot get resource/);
    const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
    (await node.post(leases, { metadata: { name: "n1" } })).expect(201);
    refused(await node.post(leases, { metadata: { name: "n2" } }), /can only access node lease/);
    refused(await node.get(`${leases}/n2`), /can only access node lease/);
    const status = { status: { conditions: [{ type: "Ready", status: "True" }] } };
    const patch = { method: "PATCH", headers: MERGE_PATCH, body: status };
    (await node.request("/api/v1/nodes/n1/status", patch)).expect(200);
    refused(
      await node.request("/api/v1/nodes/n2/status", patch),
      /not allowed to modify node "n2"/,
    );
  });

  test("S2-NODE-03: a bound pod gives its node the secret on the next request, on every replica", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `p${round}`;
      const secret = `${SECRETS}/s${round}`;
      (await here.client.post(SECRETS, { metadata: { name: `s${round}` } })).expect(201);
      (await here.client.post(PODS, podFor(name, `s${round}`))).expect(201);
      refused(await node.get(secret), /no relationship found between node 'n1' and this object/);
      const binding = { metadata: { name }, target: { kind: "Node", name: "n1" } };
      (await here.client.post(`${PODS}/${name}/binding`, binding)).expect(201);
      (await node.get(secret)).expect(200, `bound, round ${round}`);
      refused(await otherNode.get(secret), /no relationship found between node 'n2'/);
      (await here.client.delete(`${PODS}/${name}`, NOW)).expect(200);
      refused(await node.get(secret), /no relationship found/);
    }
  });

  test("S2-NODE-02: a kubelet lists and watches its own pods, and no others", async () => {
    (await here.client.post(PODS, podFor("mine", "none", "n1"))).expect(201);
    (await here.client.post(PODS, podFor("theirs", "none", "n2"))).expect(201);
    const own = "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1";
    const names = (await node.get(own)).expect(200).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(names, ["mine"]);
    refused(await node.get("/api/v1/pods"), /can only list\/watch pods with spec.nodeName/);
    refused(await node.get(`${PODS}/theirs`), /no relationship found/);
    (await node.get(`${PODS}/mine`)).expect(200);
    (await node.get("/api/v1/services")).expect(200);
    refused(await node.get(SECRETS), /No Object name found/);
  });

  test("S2-NODE-06: a kubelet reports on and evicts its own pods", async () => {
    const status = { status: { phase: "Running" } };
    const patch = { method: "PATCH", headers: MERGE_PATCH, body: status };
    (await node.request(`${PODS}/mine/status`, patch)).expect(200);
    refused(await node.request(`${PODS}/theirs/status`, patch), /can only update pod status/);
    const evict = (name: string) => node.post(`${PODS}/${name}/eviction`, { metadata: { name } });
    refused(await evict("theirs"), /can only evict pods with spec.nodeName set to itself/);
    refused(await node.delete(`${PODS}/theirs`, NOW), /can only delete pods with spec.nodeName/);
    (await evict("mine")).expect(201);
    (await node.delete(`${PODS}/mine`, NOW)).expect(200);
    refused(
      await node.post(PODS, podFor("new", "none", "n1")),
      /annotation, node "n1" can only create mirror pods/,
    );
  });

  test("S2-NODE-06: a kubelet mirrors a pod of its own, which gives it nothing", async () => {
    const { metadata } = (await node.get("/api/v1/nodes/n1")).expect(200).object;
    const owner = { apiVersion: "v1", kind: "Node", name: "n1", uid: metadata.uid };
    const mirror = (name: string, volumes: object[]): object => ({
      metadata: {
        name,
        annotations: { "kubernetes.io/config.mirror": "x" },
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }], volumes },
    });
    const made: ApiObject = (await node.post(PODS, mirror("static", []))).expect(201).object;
    assert.equal((made.spec as { serviceAccountName?: string }).serviceAccountName, undefined);
    const stolen = [{ name: "v", secret: { secretName: "s0" } }];
    refused(
      await node.post(PODS, mirror("thief", stolen)),
      /pods "thief" is forbidden: .*reference secrets/,
    );
  });

  test("S2-NODE-05: a kubelet asks for its own certificate and for reviews", async () => {
    const review = { spec: { token: "x" } };
    (await node.post("/apis/authentication.k8s.io/v1/tokenreviews", review)).expect(201);
    const access = { spec: { user: "jane", nonResourceAttributes: { path: "/x", verb: "get" } } };
    const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    (await node.post(reviews, access)).expect(201);
    (await node.get("/apis/certificates.k8s.io/v1/certificatesigningrequests")).expect(200);
  });
});
