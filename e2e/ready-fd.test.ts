/** `--ready-fd`: who starts a server reads one line instead of asking until it answers. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { COMMAND } from "./harness/command.js";
import { HttpsClient } from "./harness/https-client.js";
import { readKubeconfig, runServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

test("one line on the descriptor says that the API is ready and where, and nothing follows", async () => {
  await using folder = await makeTempDir("ready-fd");
  const args = ["serve", `--data-dir=${folder.path}`, "--secure-port=0", "--ready-fd=3"];
  const child = spawn(process.execPath, [COMMAND, ...args], {
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  try {
    // Until the end of the pipe, which the server closes.
    const said = await text(child.stdio[3] as Readable);
    assert.match(said, /^\{.*\}\n$/);
    const { url, kubeconfig, pid } = JSON.parse(said) as Record<string, string>;
    assert.equal(pid, child.pid);
    const read = await readKubeconfig(String(kubeconfig));
    assert.equal(read.url, url);
    const client = new HttpsClient(read.url, read.credentials);
    assert.equal((await client.get("/readyz")).status, 200);
    client.close();
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a descriptor that is not open is refused with one line before anything is opened", async () => {
  const { code, output } = await runServer(["serve", "--ready-fd=77"]);
  assert.equal(code, 1);
  assert.equal(output, "keelson: --ready-fd: 77 is not an open file descriptor\n");
});
