/** `keelson up -- COMMAND`: a fresh API for a command of any language. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { COMMAND } from "../harness/command.js";
import { runServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";

function up(temp: string, args: readonly string[]) {
  const child = spawn(process.execPath, [COMMAND, "up", ...args], {
    env: { ...process.env, TMPDIR: temp },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return { child, closed: once(child, "close") };
}

/** What it says next. @throws {Error} it ended without a word on standard output */
async function nextOf({ child, closed }: ReturnType<typeof up>): Promise<string> {
  const ended = closed.then(() => {
    throw new Error(`keelson up ended: ${child.stderr.read()}`);
  });
  ended.catch(() => {});
  const [said] = await Promise.race([once(child.stdout, "data"), ended]);
  return String(said);
}

test("the command has the API's KUBECONFIG, its exit status is that of keelson, and nothing is left", async () => {
  await using temp = await makeTempDir("up");
  const shell = 'cat "$KUBECONFIG"; exit 7';
  const { child, closed } = up(temp.path, [
    "--service-cluster-ip-range=10.9.0.0/24",
    "--",
    "sh",
    "-c",
    shell,
  ]);
  assert.match(await text(child.stdout), /^ *server: "?https:\/\/127\.0\.0\.1:\d+/m);
  await closed;
  assert.equal(child.exitCode, 7);
  assert.deepEqual(await readdir(temp.path), []);
});

test("signals reach the command, whose end by a signal is told as shells do", async () => {
  await using temp = await makeTempDir("up");
  for (const [shell, expected] of [
    ["trap 'exit 9' TERM; echo on; while :; do sleep 0.05; done", 9],
    ["echo on; exec sleep 60", 143],
  ] as const) {
    const started = up(temp.path, ["--", "sh", "-c", shell]);
    await nextOf(started);
    started.child.kill("SIGTERM");
    await started.closed;
    assert.equal(started.child.exitCode, expected);
    assert.deepEqual(await readdir(temp.path), []);
  }
});

test("#45 whoever kills keelson ends the command, which is left alone when it ends by itself", async () => {
  await using temp = await makeTempDir("up");
  const shell = `trap 'echo ended; exit' TERM; trap 'echo passed' HUP; echo on; while :; do sleep 0.05; done`;
  const killed = up(temp.path, ["--", "sh", "-c", shell]);
  await nextOf(killed);
  // What passes a signal on has started the command and all that belongs to it.
  killed.child.kill("SIGHUP");
  assert.equal(await nextOf(killed), "passed\n");
  killed.child.kill("SIGKILL");
  // Standard output is open until the command has ended.
  assert.equal(await text(killed.child.stdout), "ended\n");
  await killed.closed;
});

test("#45 its help is about it, and names the flags of serve", async () => {
  const { code, output } = await runServer(["up", "--help"]);
  assert.equal(code, 0);
  assert.match(output, /^keelson up: [\s\S]*127\s+where it is not found[\s\S]*--manifests/);
});

test("a command that is not there is 127, one that may not run 126; no command and a bad flag are one line", async () => {
  await using temp = await makeTempDir("up");
  for (const [program, why, status] of [
    ["no-such-command-here", "is not found", 127],
    [temp.path, "cannot be run (EACCES)", 126],
  ] as const) {
    const { child, closed } = up(temp.path, ["--", program]);
    assert.equal(await text(child.stderr), `keelson: the command "${program}" ${why}\n`);
    await closed;
    assert.equal(child.exitCode, status);
  }
  const without = await runServer(["up"]);
  assert.deepEqual(without, {
    code: 1,
    output: 'keelson: "up" needs a command: keelson up -- COMMAND\n',
  });
  const bad = await runServer(["up", "--no-such-flag", "--", "true"]);
  assert.deepEqual(bad, { code: 1, output: "keelson: unknown flag: --no-such-flag\n" });
});
