import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { test } from "node:test";
import { LineOutput } from "./line-output.js";

const noStream = (): Writable => assert.fail("a file needs no stream");

test("H-log: lines to a file are there at once", () => {
  const folder = mkdtempSync(join(tmpdir(), "lines-"));
  const fd = openSync(join(folder, "log"), "a");
  try {
    const output = new LineOutput(fd, noStream);
    output.write("one\n");
    output.write("two\n");
    assert.equal(readFileSync(join(folder, "log"), "utf8"), "one\ntwo\n");
    assert.equal(output.droppedLines, 0);
  } finally {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  }
});

test("H-log: lines to a full disk are dropped and counted", async () => {
  const fd = openSync("/dev/full", "a");
  try {
    const output = new LineOutput(fd, noStream);
    output.write("one\n");
    output.write("two\n");
    assert.equal(output.droppedLines, 2);
    await assert.rejects(output.send("three\n"), { code: "ENOSPC" });
  } finally {
    closeSync(fd);
  }
});

/** A pipe's descriptor, whose stream a test plays. */
function pipe(): { fd: number; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), "lines-"));
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, "r+");
  const close = () => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  };
  return { fd, close };
}

test("H-log: what nobody reads waits up to a bound, then it is dropped and counted", async (t) => {
  const { fd, close } = pipe();
  t.after(close);
  const stuck = new Writable({ write: () => {} });
  const output = new LineOutput(fd, () => stuck);
  const line = `${"x".repeat(100_000)}\n`;
  for (let lines = 0; lines < 100; lines++) output.write(line);
  assert.ok(stuck.writableLength < 2_000_000);
  assert.ok(output.droppedLines > 80);
  await assert.rejects(output.send(line), /nobody reads/);
});

test("H-log: who waits for a reader that has stopped waits once, until it reads again", async (t) => {
  const { fd, close } = pipe();
  t.after(close);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const waiting: (() => void)[] = [];
  const slow = new Writable({ write: (_chunk, _encoding, done) => void waiting.push(done) });
  const output = new LineOutput(fd, () => slow);
  const first = assert.rejects(output.send("one\n"), /nobody has read/);
  t.mock.timers.tick(60_000);
  await first;
  await assert.rejects(output.send("two\n"), /nobody reads/);
  waiting.shift()?.();
  await new Promise(setImmediate);
  const third = output.send("three\n");
  waiting.shift()?.();
  await third;
});

test("H-log: a pipe that is closed ends nothing; its lines are counted", async (t) => {
  const { fd, close } = pipe();
  t.after(close);
  const closed = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
  const output = new LineOutput(fd, () => closed);
  output.write("one\n");
  await new Promise((resolve) => closed.once("close", resolve));
  output.write("two\n");
  assert.equal(output.droppedLines, 2);
  await assert.rejects(output.send("three\n"));
});

test("H-log: a process whose log nobody reads goes on", async () => {
  const { href } = new URL("./line-output.js", import.meta.url);
  const script = `import { LineOutput } from ${JSON.stringify(href)};
    const output = new LineOutput(2, () => process.stderr);
    for (let line = 0; line < 100; line++) output.write("x".repeat(50_000) + "\\n");
    process.stdout.write(String(output.droppedLines), () => process.exit());`;
  const args = ["--input-type=module", "--eval", script];
  // Nobody reads its standard error.
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  assert.ok(Number(text) > 50, text);
  child.stderr.destroy();
});
