/**
 * The helpers that start real programs for other tests: they must start, survive a restart, and
 * leave nothing behind when the test process is killed.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { startEtcdCluster } from "./etcd.js";
import { startRedis } from "./redis.js";

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function waitUntilGone(pid: number): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (isRunning(pid)) {
    assert.ok(performance.now() < deadline, `process ${pid} is still running`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("a cluster of three starts, loses a member, gets it back, and stops", async () => {
  await using cluster = await startEtcdCluster(3);
  const [first] = cluster.members;
  assert.ok(first !== undefined);
  const pid = first.pid;
  await first.kill();
  assert.equal(isRunning(pid), false);
  await first.restart();
  assert.notEqual(first.pid, pid);
  await cluster.stop();
  assert.equal(isRunning(first.pid), false);
});

test("a Redis starts, restarts on its port, and stops", async () => {
  await using redis = await startRedis();
  const { url } = redis;
  await redis.restart();
  assert.equal(redis.url, url);
  const { pid } = redis;
  await redis.stop();
  assert.equal(isRunning(pid), false);
});

test("a killed test process takes its programs with it", async () => {
  const etcdModule = new URL("./etcd.js", import.meta.url).href;
  const code = `const { startEtcd } = await import(${JSON.stringify(etcdModule)});
    const etcd = await startEtcd(); etcd.pause(); console.log(etcd.pid); setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  assert.equal(isRunning(pid), true);
  parent.kill("SIGKILL");
  await waitUntilGone(pid);
});
