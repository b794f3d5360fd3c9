/** A server whose standard output and error take nothing, and one whose data directory cannot be. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { readKubeconfig, runServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { freePort } from "./tools/free-port.js";

const MAIN = fileURLToPath(new URL("../server/main.js", import.meta.url));

/** Asks much of a server that says much, sees that it counts what it drops, and ends it. */
async function checkGoesOn(child: ChildProcess, folder: string): Promise<void> {
  const kubeconfig = join(folder, "admin.kubeconfig");
  const open = async () => {
    assert.equal(child.exitCode, null);
    const { url, credentials } = await readKubeconfig(kubeconfig);
    const made = new HttpsClient(url, credentials);
    return (await made.get("/readyz")).status === 200 ? made : undefined;
  };
  const client = await eventually("the server is ready", open);
  // Paths are logged as they are; values of unknown parameters are not.
  const path = `/version/${"x".repeat(6000)}`;
  for (let request = 0; request < 600; request++) (await client.get(path)).expect(404);
  const { text } = await client.get("/metrics");
  const dropped = Number(/^keelson_log_lines_dropped_total (\d+)$/m.exec(text)?.[1]);
  assert.ok(dropped > 0);
  child.kill("SIGTERM");
  await once(child, "exit");
  assert.equal(child.exitCode, 0);
}

async function flagsFor(folder: string): Promise<string[]> {
  const port = await freePort();
  return [MAIN, "serve", `--data-dir=${folder}`, `--secure-port=${port}`, "--v=3"];
}

test("H-log: a log on a full disk ends nothing, and its lines are counted", async (t) => {
  await using folder = await makeTempDir("full-log");
  const full = openSync("/dev/full", "a");
  const child = spawn(process.execPath, await flagsFor(folder.path), {
    stdio: ["ignore", full, full],
  });
  t.after(() => child.kill("SIGKILL"));
  closeSync(full);
  await checkGoesOn(child, folder.path);
});

test("H-log: a log that nobody reads holds nothing up, and its lines are counted", async (t) => {
  await using folder = await makeTempDir("stuck-log");
  // Nobody reads the pipes.
  const child = spawn(process.execPath, await flagsFor(folder.path), {
    stdio: ["ignore", "pipe", "pipe"],
  });
  t.after(() => child.kill("SIGKILL"));
  await checkGoesOn(child, folder.path);
});

test("H-damage: a data directory that cannot be made is one line", async () => {
  const { code, output } = await runServer(["serve", "--data-dir=/proc/nope"]);
  assert.equal(code, 1);
  assert.match(output, /^keelson: the data directory cannot be used: ENOENT[^\n]*\n$/);
});
