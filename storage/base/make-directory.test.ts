import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeDirectory } from "./make-directory.js";

test("H-damage: a directory is made with those above it, and once is enough", async () => {
  const folder = await mkdtemp(join(tmpdir(), "make-"));
  try {
    const path = join(folder, "a", "b", "c");
    await makeDirectory(path, 0o700);
    await makeDirectory(path, 0o700);
    const { mode } = await stat(path);
    assert.equal(mode & 0o777, 0o700);
    await writeFile(join(folder, "file"), "");
    await assert.rejects(makeDirectory(join(folder, "file"), 0o700), { code: "EEXIST" });
    await assert.rejects(makeDirectory(join(folder, "file", "x"), 0o700), { code: "ENOTDIR" });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("H-damage: where no directory can be made the attempt ends", async () => {
  await assert.rejects(makeDirectory("/proc/nope/store", 0o700), { code: "ENOENT" });
});
