/**
 * What kubectl does beyond create, replace and delete, on both stores: scale, delete with each cascade,
 * drain of a node, approval of a certificate.
 */
import "reflect-metadata";
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { describe, test } from "node:test";
import { Pkcs10CertificateRequestGenerator } from "@peculiar/x509";
import { eventually } from "./harness/eventually.js";
import { furnished } from "./harness/furnished-namespace.js";
import { Kubectl } from "./harness/kubectl.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { openStore, STORE_NAMES_OF_SLOW_TESTS } from "./harness/stores.js";

const SIGNING = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

interface Session {
  readonly kubectl: Kubectl;
  readonly server: ServerProcess;
}

for (const storeName of STORE_NAMES_OF_SLOW_TESTS) {
  describe(`kubectl writes (${storeName})`, () => {
    test("S1-GEN-03, S1-GEN-08, S1-DEL-06: parts and actions", async (t) => {
      await using store = await openStore(storeName);
      await using server = await startServer(store.etcd);
      await using kubectl = await Kubectl.open(server);
      await furnished(server.client);
      for (const [what, step] of STEPS) await t.test(what, () => step({ kubectl, server }));
      await server.stop();
    });
  });
}

const STEPS: readonly (readonly [string, (session: Session) => Promise<void>])[] = [
  ["S1-GEN-03: scale", scale],
  ["S1-DEL-06: delete --cascade=background takes the dependents", cascadeBackground],
  ["S1-DEL-06: delete --cascade=orphan leaves the dependents", cascadeOrphan],
  ["S1-DEL-06: delete --cascade=foreground waits for the dependents", cascadeForeground],
  ["S1-GEN-08: drain evicts within the disruption budget", drain],
  ["bind a pod through the API", bind],
  ["certificate approve", approve],
];

async function apply({ kubectl }: Session, ...objects: readonly object[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  await kubectl.ok(["create", "-f", "-"], JSON.stringify(list));
}

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "c", image: "example.com/image:1" }] },
});

function workload(kind: string, name: string, metadata: object = {}): object {
  const selector = { matchLabels: { app: name } };
  const spec = { replicas: 1, selector, template: template(name) };
  return { apiVersion: "apps/v1", kind, metadata: { name, ...metadata }, spec };
}

async function field({ kubectl }: Session, what: readonly string[], path: string): Promise<string> {
  return await kubectl.ok(["get", ...what, "-o", `jsonpath={${path}}`]);
}

async function scale(session: Session): Promise<void> {
  const { kubectl } = session;
  const selector = { app: "legacy" };
  await apply(session, workload("Deployment", "web"), workload("ReplicaSet", "set"), {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "legacy" },
    spec: { replicas: 1, selector, template: template("legacy") },
  });
  for (const what of ["deployment/web", "replicaset/set", "replicationcontroller/legacy"]) {
    assert.match(await kubectl.ok(["scale", what, "--replicas=3"]), /scaled/);
    assert.equal(await field(session, [what], ".spec.replicas"), "3");
  }
  const conditional = ["scale", "deployment/web", "--replicas=5", "--current-replicas"];
  assert.match(
    await kubectl.fails([...conditional.slice(0, 3), "--current-replicas=2"]),
    /expected replicas/i,
  );
  await kubectl.ok([...conditional.slice(0, 3), "--current-replicas=3"]);
  assert.equal(await field(session, ["deployment/web"], ".spec.replicas"), "5");
  const path = "/apis/apps/v1/namespaces/default/deployments/web/scale";
  const read = JSON.parse(await kubectl.ok(["get", "--raw", path]));
  assert.equal(read.kind, "Scale");
  assert.equal(read.apiVersion, "autoscaling/v1");
  assert.deepEqual(read.spec, { replicas: 5 });
  assert.equal(read.status.selector, "app=web");
  await kubectl.ok([
    "patch",
    "deployment",
    "web",
    "--subresource=scale",
    "--type=merge",
    "-p",
    '{"spec":{"replicas":2}}',
  ]);
  assert.equal(await field(session, ["deployment/web"], ".spec.replicas"), "2");
}

/** A deployment that owns a replica set, which owns a pod. */
async function createFamily(session: Session, name: string): Promise<void> {
  await apply(session, workload("Deployment", name));
  const own = async (kind: string, apiVersion: string) => ({
    ownerReferences: [
      {
        apiVersion,
        kind,
        name,
        uid: await field(session, [kind, name], ".metadata.uid"),
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  });
  await apply(session, workload("ReplicaSet", name, await own("Deployment", "apps/v1")));
  await apply(session, {
    apiVersion: "v1",
    kind: "Pod",
    ...template(name),
    metadata: { name, ...(await own("ReplicaSet", "apps/v1")) },
  });
}

async function cascadeBackground(session: Session): Promise<void> {
  const { kubectl } = session;
  await createFamily(session, "back");
  await kubectl.ok(["delete", "deployment", "back", "--cascade=background"]);
  await eventually("replica set and pod are collected", async () => {
    const left = await kubectl.ok(["get", "rs,pods", "-o", "name"]);
    return !left.includes("/back");
  });
}

async function cascadeOrphan(session: Session): Promise<void> {
  const { kubectl } = session;
  await createFamily(session, "orphaned");
  await kubectl.ok(["delete", "deployment", "orphaned", "--cascade=orphan"]);
  assert.match(await kubectl.fails(["get", "deployment", "orphaned"]), /not found/);
  assert.equal(await field(session, ["rs", "orphaned"], ".metadata.ownerReferences"), "");
  assert.notEqual(await field(session, ["pod", "orphaned"], ".metadata.ownerReferences"), "");
  await kubectl.ok(["delete", "rs", "orphaned", "--cascade=foreground"]);
  assert.match(await kubectl.fails(["get", "pod", "orphaned"]), /not found/);
}

async function cascadeForeground(session: Session): Promise<void> {
  const { kubectl } = session;
  await createFamily(session, "front");
  // Returns when the deployment is gone, which is after all that it owns.
  await kubectl.ok(["delete", "deployment", "front", "--cascade=foreground"]);
  const left = await kubectl.ok(["get", "deployments,rs,pods", "-o", "name"]);
  assert.equal(left.includes("/front"), false, left);
}

function runningPod(name: string): object {
  const { metadata, spec } = template("guarded");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { ...spec, nodeName: "node-1" },
  };
}

async function setStatus({ kubectl }: Session, what: readonly string[], status: object) {
  const patch = JSON.stringify({ status });
  await kubectl.ok(["patch", ...what, "--subresource=status", "--type=merge", "-p", patch]);
}

async function drain(session: Session): Promise<void> {
  const { kubectl } = session;
  await apply(
    session,
    { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } },
    runningPod("guarded-1"),
    runningPod("guarded-2"),
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "guarded" },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "guarded" } } },
    },
  );
  const conditions = [{ type: "Ready", status: "True" }];
  for (const name of ["guarded-1", "guarded-2"]) {
    await setStatus(session, ["pod", name], { phase: "Running", conditions });
  }
  const budget = { observedGeneration: 1, expectedPods: 2, currentHealthy: 2, desiredHealthy: 1 };
  const allow = (disruptionsAllowed: number) =>
    setStatus(session, ["pdb", "guarded"], { ...budget, disruptionsAllowed });
  await allow(1);
  // No node agent would end the pods, so they get no time.
  const draining = kubectl.start(["drain", "node-1", "--force", "--grace-period=0"]);
  await using _ = draining;
  await eventually(
    "one pod is evicted, the other refused",
    () =>
      /evicted/.test(draining.output) &&
      /would violate the pod's disruption budget/.test(draining.output),
  );
  assert.match(await field(session, ["pdb", "guarded"], ".status.disruptionsAllowed"), /^0$/);
  assert.equal(await field(session, ["node", "node-1"], ".spec.unschedulable"), "true");
  await allow(1);
  await draining.waitFor(/node\/node-1 drained/);
  assert.equal(await kubectl.ok(["get", "pods", "-l", "app=guarded", "-o", "name"]), "");
}

async function bind(session: Session): Promise<void> {
  const { kubectl } = session;
  const pod = { apiVersion: "v1", kind: "Pod", ...template("bound"), metadata: { name: "bound" } };
  await apply(session, pod);
  const binding = JSON.stringify({
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "bound" },
    target: { apiVersion: "v1", kind: "Node", name: "node-1" },
  });
  const path = "/api/v1/namespaces/default/pods/bound/binding";
  await kubectl.ok(["create", "--raw", path, "-f", "-"], binding);
  assert.equal(await field(session, ["pod", "bound"], ".spec.nodeName"), "node-1");
  assert.match(
    await kubectl.fails(["create", "--raw", path, "-f", "-"], binding),
    /already assigned/,
  );
}

async function approve(session: Session): Promise<void> {
  const { kubectl, server } = session;
  const keys = await webcrypto.subtle.generateKey(SIGNING, true, ["sign", "verify"]);
  const request = await Pkcs10CertificateRequestGenerator.create(
    { name: "CN=jane", keys, signingAlgorithm: SIGNING },
    webcrypto,
  );
  await apply(session, {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: "csr" },
    spec: {
      request: Buffer.from(request.toString("pem")).toString("base64"),
      signerName: "example.com/signer",
      usages: ["client auth"],
    },
  });
  assert.match(await kubectl.ok(["certificate", "approve", "csr"]), /approved/);
  assert.equal(await field(session, ["csr", "csr"], ".status.conditions[0].type"), "Approved");
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr/approval";
  const answer = await server.client.patch(path, { status: { conditions: [] } });
  assert.match(answer.expect(422).text, /may not remove a condition of type/);
}
