import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { makeTempDir } from "../e2e/harness/temp-dir.js";
import { BundledScripts } from "./bundled-scripts.js";

/** Long enough to be kept. */
const FILLING = `/*${"-".repeat(20_000)}*/`;

async function makeBundle() {
  const folder = await makeTempDir("scripts");
  const write = (name: string, body: string) =>
    writeFile(
      join(folder.path, name),
      `(function (exports, require, module, bundleUrl) {${body}\n})${FILLING}`,
    );
  await write(
    "main-1.cjs",
    `exports.text = require("./part-1.cjs").double(require("node:path").basename(bundleUrl));
     exports.isOnce = require("./part-1.cjs") === require("./part-1.cjs");`,
  );
  await write("part-1.cjs", "exports.double = (text) => text + text;");
  const kept = join(folder.path, "kept");
  const url = pathToFileURL(join(folder.path, "main.js")).href;
  const start = () => {
    const scripts = new BundledScripts(url, kept);
    assert.deepEqual(scripts.require("./main-1.cjs"), { text: "main.jsmain.js", isOnce: true });
    return scripts;
  };
  const inodes = async () => {
    const names = (await readdir(kept)).sort();
    return await Promise.all(names.map(async (name) => (await stat(join(kept, name))).ino));
  };
  return { folder, kept, start, inodes };
}

test("what V8 compiled of scripts is kept once and read by later starts", async () => {
  const { folder, kept, start, inodes } = await makeBundle();
  await using _ = folder;
  start().keep();
  assert.deepEqual((await readdir(kept)).map((name) => name.split("-v")[0]).sort(), [
    "main-1.cjs",
    "part-1.cjs",
  ]);
  const before = await inodes();
  start().keep();
  assert.deepEqual(await inodes(), before);
});

test("what was kept and is damaged, cut off or empty is compiled anew", async () => {
  const { folder, kept, start, inodes } = await makeBundle();
  await using _ = folder;
  start().keep();
  const [name = ""] = (await readdir(kept)).sort();
  const path = join(kept, name);
  const whole = await readFile(path);
  const damaged = Buffer.from(whole);
  damaged[whole.length - 20] = ~(whole[whole.length - 20] ?? 0);
  for (const content of [damaged, whole.subarray(0, whole.length / 2), Buffer.alloc(0)]) {
    await writeFile(path, content);
    const before = await inodes();
    start().keep();
    const [main, part] = await inodes();
    assert.notEqual(main, before[0]);
    assert.equal(part, before[1]);
    start().keep();
    assert.deepEqual(await inodes(), [main, part]);
  }
});

test("a folder that cannot be written keeps nothing and hinders nobody", async () => {
  const { folder, kept, start } = await makeBundle();
  await using _ = folder;
  await writeFile(kept, "");
  start().keep();
  start();
});
