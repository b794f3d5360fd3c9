/** People 45.10: nothing in the package needs Linux. It runs with /proc and /sys taken away, as the system of another name. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { DEADLINE_MS, eventually } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { repositoryRoot } from "../tools/find-tool.js";

const run = promisify(execFile);
const BUNDLE = join(repositoryRoot(), "dist", "bundle");

/**
 * Takes away what other systems do not have, in this process and in all that it starts. Native code is loaded before, as
 * there is none for the other system here. Each path that was asked for is counted.
 */
function without(platform: string): string {
  return `import { createRequire, syncBuiltinESMExports } from "node:module";
const require = createRequire(${JSON.stringify(join(BUNDLE, "main.js"))});
require("lmdb");
const fs = require("node:fs");
const isAway = (path) => /^\\/(?:proc|sys)(?:\\/|$)/.test(String(path));
const gone = (path) => Object.assign(new Error("ENOENT: taken away: " + path), { code: "ENOENT" });
for (const [holder, names] of [[fs, Object.keys(fs)], [fs.promises, Object.keys(fs.promises)]]) {
  for (const name of names) {
    const real = holder[name];
    if (typeof real !== "function" || /^[A-Z_]/.test(name)) continue;
    holder[name] = function (path, ...more) {
      if (typeof path !== "string" || !isAway(path)) return Reflect.apply(real, this, [path, ...more]);
      if (name === "existsSync") return false;
      if (holder === fs.promises) return Promise.reject(gone(path));
      const callback = more.at(-1);
      if (typeof callback !== "function") throw gone(path);
      process.nextTick(callback, gone(path));
    };
  }
}
syncBuiltinESMExports();
Object.defineProperty(process, "platform", { value: ${JSON.stringify(platform)} });
`;
}

const PROGRAM = `
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { startKeelson } from ${JSON.stringify(pathToFileURL(join(BUNDLE, "start-keelson.js")).href)};
assert.equal(existsSync("/proc/self/stat"), false);
assert.throws(() => readFileSync("/proc/self/stat"), /taken away/);
for (const runsIn of ${JSON.stringify(isLong ? ["process", "child"] : ["child"])}) {
  const api = await startKeelson({ runsIn, deadlineMs: ${DEADLINE_MS}, simulate: true, manifests: [{
    apiVersion: "v1", kind: "Pod", metadata: { name: "one" }, spec: { containers: [{ name: "c", image: "i" }] },
  }] });
  await api.settled();
  assert.ok((await api.requests()).length >= 0);
  await api.reset(await api.snapshot());
  await api.stop();
}
`;

for (const platform of isLong ? ["darwin", "win32"] : ["darwin"]) {
  test(`the API of tests, a child and keelson up run without /proc, as on ${platform}, and leave nothing`, async () => {
    await using folder = await makeTempDir("elsewhere");
    await using temp = await makeTempDir("elsewhere-tmp");
    const [stub, program] = [join(folder.path, "stub.mjs"), join(folder.path, "program.mjs")];
    await writeFile(stub, without(platform));
    await writeFile(program, PROGRAM);
    const NODE_OPTIONS = `--import=${pathToFileURL(stub).href}`;
    const env = { ...process.env, TMPDIR: temp.path, TEMP: temp.path, NODE_OPTIONS };
    delete (env as NodeJS.ProcessEnv).NODE_TEST_CONTEXT;
    await run(process.execPath, [program], { env });
    const asked = 'process.stdout.write([process.platform, process.env.KUBECONFIG].join(" "))';
    const up = [join(BUNDLE, "main.js"), "up", "--", process.execPath, "-e", asked];
    const { stdout } = await run(process.execPath, up, { env });
    assert.match(stdout, new RegExp(`^${platform} .+`));
    await eventually(
      "nothing is left",
      async () => (await readdir(temp.path)).length === 0 || undefined,
    );
  });
}
