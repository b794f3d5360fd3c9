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
