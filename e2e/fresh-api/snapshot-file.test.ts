/** People 1: `keelson snapshot save` and `load`, from one server into another one. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { lstat, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { loadSnapshot } from "../../server/commands/load-snapshot.js";
import { saveSnapshot } from "../../server/commands/save-snapshot.js";
import { parseSnapshotOptions } from "../../server/config/snapshot-options.js";
import { ANYTHING, definitionOf, versionOf } from "../fixtures/definitions.js";
import { MINIMAL_OBJECTS } from "../fixtures/minimal-objects.js";
import { COMMAND } from "../harness/command.js";
import { type ApiObject, HttpsClient } from "../harness/https-client.js";
import { startKeelson } from "../harness/start-api.js";
import { makeTempDir } from "../harness/temp-dir.js";

const run = promisify(execFile);
const never = new AbortController().signal;
const GADGETS = "/apis/example.com/v1/namespaces/shop/gadgets";

const DEFINITION = definitionOf("gadgets.example.com", "Gadget", {
  versions: [versionOf(ANYTHING, { subresources: { status: {} } })],
});

async function make(client: HttpsClient, path: string, body: object): Promise<ApiObject> {
  const { status, bytes } = await client.post(path, body);
  assert.equal(status, 201, String(bytes));
  return JSON.parse(String(bytes));
}

test("People 1: a file takes definitions, objects, owners and status to another server, and names what may not be read", async () => {
  await using folder = await makeTempDir("snapshot");
  const file = join(folder.path, "cluster.jsonl");
  await using first = await startKeelson({ users: [{ name: "nobody" }] });
  const source = new HttpsClient(first.url, first);
  await make(source, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION);
  await make(source, "/api/v1/namespaces", { metadata: { name: "shop" } });
  await first.settled();
  const kind = { apiVersion: "example.com/v1", kind: "Gadget" };
  const owner = await make(source, GADGETS, { ...kind, metadata: { name: "z-owner" }, big: 1 });
  const { name, uid } = owner.metadata;
  await source.put(`${GADGETS}/z-owner/status`, { ...owner, status: { ready: true } });
  await make(source, "/api/v1/namespaces/shop/configmaps", {
    metadata: { name: "child", ownerReferences: [{ ...kind, name, uid }] },
    data: { a: "b" },
  });
  await make(source, "/api/v1/namespaces/shop/services", {
    metadata: { name: "web" },
    spec: { ports: [{ port: 80 }] },
  });
  const pod = { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] };
  const jobs = "/apis/batch/v1/namespaces/shop/jobs";
  const job = await make(source, jobs, {
    metadata: { name: "once" },
    spec: { template: { metadata: { labels: { app: "once" } }, spec: pod } },
  });
  await make(source, "/api/v1/namespaces/shop/pods", {
    metadata: {
      name: "once-1",
      labels: { "batch.kubernetes.io/controller-uid": job.metadata.uid },
      ownerReferences: [
        { apiVersion: "batch/v1", kind: "Job", name: "once", uid: job.metadata.uid },
      ],
    },
    spec: pod,
  });
  source.close();
  const save = ["save", file, `--kubeconfig=${first.kubeconfigPath}`];
  const saved = await saveSnapshot(parseSnapshotOptions(save), never);
  assert.equal(saved.exitCode, 0, saved.output);
  assert.match(saved.output, /^\d+ objects\n$/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);

  const flags = { "service-cluster-ip-range": "10.9.0.0/24" };
  await using second = await startKeelson({ flags });
  const load = ["load", file, `--kubeconfig=${second.kubeconfigPath}`];
  const loaded = await loadSnapshot(parseSnapshotOptions(load), never);
  assert.equal(loaded.exitCode, 0, loaded.output);
  await second.settled();
  const target = new HttpsClient(second.url, second);
  const read = async (path: string) => JSON.parse(String((await target.get(path)).bytes));
  const there = await read(`${GADGETS}/z-owner`);
  assert.deepEqual([there.big, there.status], [1, { ready: true }]);
  const child = await read("/api/v1/namespaces/shop/configmaps/child");
  assert.equal(child.metadata.ownerReferences[0].uid, there.metadata.uid);
  assert.notEqual(there.metadata.uid, uid);
  assert.match((await read("/api/v1/namespaces/shop/services/web")).spec.clusterIP, /^10\.9\.0\./);
  const own = await read(`${jobs}/once`);
  assert.deepEqual(own.spec.selector.matchLabels, {
    "batch.kubernetes.io/controller-uid": own.metadata.uid,
  });
  assert.notEqual(own.metadata.uid, job.metadata.uid);
  assert.equal(own.spec.template.metadata.labels.app, "once");
  const { labels } = (await read("/api/v1/namespaces/shop/pods/once-1")).metadata;
  assert.equal(labels["batch.kubernetes.io/controller-uid"], own.metadata.uid);
  target.close();
  const again = await loadSnapshot(parseSnapshotOptions(load), never);
  assert.match(again.output, /^0 created, \d+ there already, 0 not loaded\n$/);
  const nobody = await folder.write("nobody.kubeconfig", first.as("nobody").kubeconfig);
  const denied = await saveSnapshot(
    parseSnapshotOptions(["save", file, `--kubeconfig=${nobody}`]),
    never,
  );
  assert.equal(denied.exitCode, 1);
  assert.match(denied.output, /^not read: secrets: .*forbidden.* \(403\)$/m);
  await writeFile(file, "{}\n");
  await assert.rejects(loadSnapshot(parseSnapshotOptions(load), never), /is not a snapshot/);
  assert.equal(await readFile(file, "utf8"), "{}\n");
});

test("People 1: decisions and running pods come with a file, and what was being deleted is named and not made anew", async () => {
  await using folder = await makeTempDir("snapshot");
  await using api = await startKeelson();
  const named = (name: string, more: object = {}) => ({ name, uid: `u-${name}`, ...more });
  const inShop = (name: string, more: object = {}) => named(name, { namespace: "shop", ...more });
  const { content } = MINIMAL_OBJECTS["certificatesigningrequests.certificates.k8s.io"] as {
    content: { spec: object };
  };
  const conditions = [{ type: "Approved", status: "True", reason: "r" }];
  const containers = [{ name: "c", image: "i" }];
  const debug = { name: "d", image: "i", targetContainerName: "c" };
  const deletionTimestamp = "2026-01-02T03:04:05Z";
  const template = { metadata: { labels: { a: "b" } }, spec: { containers } };
  const spec = { selector: { matchLabels: { a: "b" } }, template };
  const web = { apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "u-web" };
  const left = { ...web, name: "left", uid: "u-left" };
  const objects = [
    { kind: "KeelsonSnapshot", version: 1 },
    { apiVersion: "v1", kind: "Namespace", metadata: named("shop") },
    { apiVersion: "v1", kind: "Namespace", metadata: named("going", { deletionTimestamp }) },
    { apiVersion: "v1", kind: "ConfigMap", metadata: named("within", { namespace: "going" }) },
    {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: named("later"),
      value: 77,
      globalDefault: true,
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inShop("default") },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: inShop("ran-before"),
      spec: {
        ...{ nodeName: "n", priority: 0, preemptionPolicy: "PreemptLowerPriority" },
        ...{ containers, ephemeralContainers: [debug] },
      },
      status: { phase: "Running", nominatedNodeName: "n" },
    },
    {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: named("approved"),
      spec: content.spec,
      status: { conditions },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: inShop("web", { deletionTimestamp, finalizers: ["a.b/held"] }),
      spec,
    },
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: inShop("web-1", { ownerReferences: [web] }),
      spec,
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: inShop("left", { deletionTimestamp, finalizers: ["orphan"] }),
      spec,
    },
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: inShop("orphan", { ownerReferences: [web, left] }),
      spec,
    },
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: inShop("wrong"),
      spec,
      status: { replicas: -1 },
    },
  ];
  const file = await folder.write("c.jsonl", objects.map((one) => JSON.stringify(one)).join("\n"));
  const load = ["load", file, `--kubeconfig=${api.kubeconfigPath}`];
  const { output, exitCode } = await loadSnapshot(parseSnapshotOptions(load), never);
  const lines = output.split("\n").sort();
  const wrong = lines.findIndex((line) => line.startsWith("ReplicaSet shop/wrong: its status: "));
  assert.match(lines.splice(wrong, 1)[0] ?? "", /status\.replicas: Invalid value: -1.*\(422\)$/);
  assert.deepEqual(lines, [
    "",
    lines[1],
    "ConfigMap going/within: it was being deleted",
    "Deployment shop/left: it was being deleted",
    "Deployment shop/web: it was being deleted",
    "Namespace going: it was being deleted",
    "ReplicaSet shop/web-1: it was being deleted",
  ]);
  assert.match(lines[1] ?? "", /^\d created, \d there already, 6 not loaded$/);
  assert.equal(exitCode, 1);
  const client = new HttpsClient(api.url, api);
  const read = async (path: string) => JSON.parse(String((await client.get(path)).bytes));
  const request = await read("/apis/certificates.k8s.io/v1/certificatesigningrequests/approved");
  assert.equal(request.status.conditions[0].type, "Approved");
  const orphan = await read("/apis/apps/v1/namespaces/shop/replicasets/orphan");
  assert.equal(orphan.metadata.ownerReferences, undefined);
  const pod = await read("/api/v1/namespaces/shop/pods/ran-before");
  assert.deepEqual([pod.spec.priority, pod.status.phase], [77, "Running"]);
  assert.equal(pod.spec.ephemeralContainers[0].name, "d");
  client.close();
});

test("People 1: a snapshot goes through pipes and links, which stay, and what is wrong with a file names it", async () => {
  await using folder = await makeTempDir("snapshot");
  await using api = await startKeelson();
  const kubeconfig = `--kubeconfig=${api.kubeconfigPath}`;
  const keelson = (...args: string[]) =>
    run("sh", ["-c", args.join(" ")], {
      cwd: folder.path,
      env: { ...process.env, keelson: `${process.execPath} ${COMMAND} snapshot`, kubeconfig },
    });
  const piped = await keelson("$keelson save - $kubeconfig | $keelson load - $kubeconfig");
  assert.match(piped.stdout, /^0 created, \d+ there already, 0 not loaded\n$/);
  assert.match(piped.stderr, /^\d+ objects\n$/);

  await keelson("mkfifo pipe; ln -s real.jsonl link; : > real.jsonl");
  const { stdout } = await keelson("head -n 1 pipe & $keelson save pipe $kubeconfig; wait");
  assert.match(stdout, /KeelsonSnapshot/);
  assert.ok((await lstat(join(folder.path, "pipe"))).isFIFO());
  await keelson("$keelson save link $kubeconfig");
  assert.ok((await lstat(join(folder.path, "link"))).isSymbolicLink());
  assert.match(await readFile(join(folder.path, "real.jsonl"), "utf8"), /^.*KeelsonSnapshot/);

  await keelson("head -n 2 real.jsonl > cut.jsonl; printf '{\"kind\": ' >> cut.jsonl");
  for (const [command, stderr] of [
    ["save .", 'cannot write "." (EISDIR)'],
    ["save none/cluster.jsonl", 'cannot write "none/cluster.jsonl" (ENOENT)'],
    ["load none.jsonl", 'cannot read "none.jsonl" (ENOENT)'],
    ["load cut.jsonl", "cut.jsonl, line 3: unexpected end of JSON input"],
    ["load - < /dev/null", "standard input is empty"],
  ]) {
    const failed = { code: 2, stderr: `keelson: ${stderr}\n` };
    await assert.rejects(keelson(`$keelson ${command} $kubeconfig`), failed);
  }
  assert.deepEqual((await readdir(folder.path)).sort(), [
    "cut.jsonl",
    "link",
    "pipe",
    "real.jsonl",
  ]);
});
