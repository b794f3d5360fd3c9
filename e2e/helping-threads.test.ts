/**
 * V8's helping threads mark the old space, for a hundred milliseconds and more each few seconds. With more of them than processors
 * beside the one that serves, all requests of that time wait for a processor.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { shippedNodeFlags } from "./harness/command.js";
import { startServer } from "./harness/server-process.js";

test("44: a collection of the old space leaves a processor to requests: the command has one helping thread of V8 less than processors", {
  skip: process.platform === "linux" ? false : "reads /proc",
}, async () => {
  await using server = await startServer({ nodeFlags: shippedNodeFlags() });
  const tasks = `/proc/${server.pid}/task`;
  const names = await Promise.all(
    (await readdir(tasks)).map((task) => readFile(`${tasks}/${task}/comm`, "utf8")),
  );
  const helping = names.filter((name) => name.startsWith("V8Worker")).length;
  assert.equal(helping, Math.max(1, availableParallelism() - 1));
});
