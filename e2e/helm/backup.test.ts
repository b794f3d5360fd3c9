/** The pod of the chart's backup, as it is rendered: etcdctl takes a snapshot, and the second container keeps it. */
import assert from "node:assert/strict";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { TestAuthority, type TestIdentity } from "../harness/test-authority.js";
import { startEtcd } from "../tools/etcd.js";
import { findTool } from "../tools/find-tool.js";
import { missingHelm, type Rendered, renderChart } from "./chart.js";
import { findRendered } from "./release-pods.js";
import { type PodPlan, runPod } from "./run-pod.js";

const skip =
  (await missingHelm("helm-4")) ||
  ((await findTool("etcdctl")) === undefined && "etcdctl is not to be had");

test("CARD-06: the backup's containers take a snapshot of a running etcd and keep it under its time", {
  skip,
}, async () => {
  await using volume = await makeTempDir("backup");
  await using etcd = await startEtcd();
  const taking = await specFor(etcd.endpoint);
  const run = (spec: Rendered["spec"]) => runContainer(spec, volume.path);
  for (const container of taking.initContainers) {
    const ended = await run({ ...taking, containers: [container] });
    assert.equal(ended.code, 0, ended.output);
  }
  const { size } = await stat(join(volume.path, "taken"));
  const kept = await run(taking);
  assert.equal(kept.code, 0, kept.output);
  const names = await readdir(volume.path);
  assert.equal(names.length, 1);
  assert.match(names[0] ?? "", /^etcd-\d{8}T\d{6}Z\.db$/);
  assert.equal(kept.output.trim(), `${names[0]}: ${size} bytes`);
});

test("CARD-06: the backup shows etcd the release's certificate, and is refused with another one", {
  skip,
}, async () => {
  await using volume = await makeTempDir("backup");
  await using folder = await makeTempDir("etcd-tls");
  const authority = await TestAuthority.create("etcd");
  const server = await authority.issue({ hosts: ["127.0.0.1"], usage: "any" });
  const tls = {
    caFile: join(folder.path, "ca.crt"),
    certFile: join(folder.path, "tls.crt"),
    keyFile: join(folder.path, "tls.key"),
  };
  await writeFile(tls.caFile, authority.certificate);
  await writeFile(tls.certFile, server.cert);
  await writeFile(tls.keyFile, server.key);
  await using etcd = await startEtcd({ tls });
  const taking = await specFor(etcd.endpoint, { "etcd.tls.secretName": "etcd-client" });
  const [health, snapshot] = taking.initContainers;
  const run = (container: unknown, client: TestIdentity) => {
    const secret = {
      "ca.crt": authority.certificate,
      "tls.crt": client.cert,
      "tls.key": client.key,
    };
    const spec = { ...taking, containers: [container] };
    return runContainer(spec, volume.path, { "etcd-client": secret });
  };
  const client = await authority.issue({ commonName: "keelson" });
  for (const container of [health, snapshot]) {
    const ended = await run(container, client);
    assert.equal(ended.code, 0, ended.output);
  }
  assert.deepEqual(await readdir(volume.path), ["taken"]);
  const stranger = await (await TestAuthority.create("other")).issue({ commonName: "keelson" });
  // The snapshot itself would wait for ever.
  const refused = await run(health, stranger);
  assert.equal(refused.code, 1, refused.output);
  assert.match(refused.output, /is unhealthy/);
});

async function specFor(endpoint: string, more: Readonly<Record<string, string>> = {}) {
  const values = {
    "backup.enabled": true,
    "etcd.endpoints": [endpoint],
    ...more,
  };
  const objects = await renderChart("helm-4", values);
  return findRendered(objects, "CronJob", "demo-keelson-backup").spec.jobTemplate.spec.template
    .spec;
}

/** The first of its containers, which others have run before. */
async function runContainer(
  spec: Rendered["spec"],
  volume: string,
  secrets: PodPlan["secrets"] = {},
) {
  const folders = { "/backup": volume };
  await using pod = await runPod({
    ...{ spec, folders, name: "backup", ip: "127.0.0.1", names: {}, secrets },
  });
  await eventually("it ends", () => pod.child.hasEnded, ENDS_WITHIN_MS);
  return { code: pod.child.exitCode, output: pod.child.output };
}

const ENDS_WITHIN_MS = 60_000;
