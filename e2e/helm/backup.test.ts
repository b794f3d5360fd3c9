/** The pod of the chart's backup, as it is rendered: etcdctl takes a snapshot, and the second container keeps it. */
import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { startEtcd } from "../tools/etcd.js";
import { findTool } from "../tools/find-tool.js";
import { missingHelm, type Rendered, renderChart } from "./chart.js";
import { findRendered } from "./release-pods.js";
import { runPod } from "./run-pod.js";

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
  const { initContainers } = taking;
  const taken = await run({ ...taking, containers: initContainers });
  assert.equal(taken.code, 0, taken.output);
  const { size } = await stat(join(volume.path, "taken"));
  const kept = await run(taking);
  assert.equal(kept.code, 0, kept.output);
  const names = await readdir(volume.path);
  assert.equal(names.length, 1);
  assert.match(names[0] ?? "", /^etcd-\d{8}T\d{6}Z\.db$/);
  assert.equal(kept.output.trim(), `${names[0]}: ${size} bytes`);
});

async function specFor(endpoint: string) {
  const values = {
    "backup.enabled": true,
    "etcd.endpoints": [endpoint],
  };
  const objects = await renderChart("helm-4", values);
  return findRendered(objects, "CronJob", "demo-keelson-backup").spec.jobTemplate.spec.template
    .spec;
}

/** The first of its containers, which others have run before. */
async function runContainer(spec: Rendered["spec"], volume: string) {
  const folders = { "/backup": volume };
  await using pod = await runPod({
    ...{ spec, folders, name: "backup", ip: "127.0.0.1", names: {}, secrets: {} },
  });
  await eventually("it ends", () => pod.child.hasEnded, ENDS_WITHIN_MS);
  return { code: pod.child.exitCode, output: pod.child.output };
}

const ENDS_WITHIN_MS = 60_000;
