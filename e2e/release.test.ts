/** `npm run release`, in the long run: what it leaves is what its page promises, and the signature holds. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync, verify } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { isLong } from "./harness/is-long.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { findTool, repositoryRoot } from "./tools/find-tool.js";

const run = promisify(execFile);

if (isLong) {
  test("a dry run leaves package, chart, bill of materials, checksums and their signature", async () => {
    await using folder = await makeTempDir("release");
    const out = join(folder.path, "out");
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const key = await folder.write("key.pem", privateKey.export({ type: "pkcs8", format: "pem" }));
    const root = repositoryRoot();
    const flags = ["--dry-run", "--without-tests", "--without-image", `--sign-key=${key}`];
    const args = [join(root, "deploy", "release.mjs"), ...flags, `--out=${out}`];
    const { stdout } = await run(process.execPath, args, { maxBuffer: 2 ** 26 });
    assert.match(stdout, /^\[1\/\d+\] check the tree/m, "each step is named while it runs");

    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    const sums = await readFile(join(out, "SHA256SUMS"));
    const listed = [...sums.toString().matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)];
    assert.deepEqual(
      listed.map(([, , file]) => file).sort(),
      (await readdir(out)).filter((file) => !file.startsWith("SHA256SUMS")).sort(),
    );
    for (const [, sum, file = ""] of listed) {
      const content = await readFile(join(out, file));
      assert.equal(createHash("sha256").update(content).digest("hex"), sum, file);
    }
    const files = listed.map(([, , file]) => file);
    assert.ok(files.includes(`keelson-${version}.cdx.json`));
    const helm = (await findTool("helm-4")) ?? (await findTool("helm-3"));
    const packed = {
      [`keelson-${version}.tgz`]: "package/package.json",
      ...(helm !== undefined && { [`keelson-chart-${version}.tgz`]: "keelson/Chart.yaml" }),
    };
    for (const [file, part] of Object.entries(packed)) {
      const { stdout: parts } = await run("tar", ["tzf", join(out, file)]);
      assert.ok(parts.split("\n").includes(part), `${file} has ${part}`);
    }
    assert.ok(verify(null, sums, publicKey, await readFile(join(out, "SHA256SUMS.sig"))));
    const { components } = JSON.parse(
      await readFile(join(out, `keelson-${version}.cdx.json`), "utf8"),
    ) as { components: { name: string }[] };
    const names = components.map(({ name }) => name);
    assert.ok(names.includes("koa") && names.includes("lmdb"), "of the bundle, and beside it");
    assert.ok(!names.includes("typescript"), "what runs, not what builds");
  });
}
