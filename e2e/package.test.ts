/**
 * The package as npm packs it: in a directory with nothing but it and its dependencies, the command
 * serves, the programmatic start works, types are there, and the examples of the documents run.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { transform } from "esbuild";
import type { Keelson } from "../server/start-keelson.js";
import { HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { startKeelson } from "./harness/start-api.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { Child } from "./tools/child.js";
import { examplesOf, snippetsOf } from "./tools/document-examples.js";
import { startEtcd } from "./tools/etcd.js";
import { requireLogIn } from "./tools/etcd-access.js";
import { findTool, repositoryRoot, requireTool } from "./tools/find-tool.js";

const run = promisify(execFile);
const REPOSITORY = repositoryRoot();

/** What a project has of Keelson when it has installed the package: 30 MiB are wanted. */
const INSTALLED_KIBIBYTES_MAX = 30 * 1024;

interface Project extends TempDir {
  readonly files: readonly { readonly path: string; readonly size: number }[];
  /** Packages that npm installs with it, on this platform. */
  readonly installed: readonly string[];
}

/**
 * A project that has installed the package, without a registry: what npm would install with it is linked, and nothing
 * else of what a build needs. `others` are packages that the project has by itself.
 */
async function installPackage(others: readonly string[]): Promise<Project> {
  const folder = await makeTempDir("package");
  await run("npm", ["run", "types", "--silent"], { cwd: REPOSITORY });
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder.path];
  const { stdout } = await run("npm", pack, { cwd: REPOSITORY });
  const [packed] = JSON.parse(stdout) as {
    filename: string;
    files: { path: string; size: number }[];
  }[];
  assert.ok(packed);
  const modules = join(folder.path, "node_modules");
  await mkdir(join(modules, ".bin"), { recursive: true });
  await run("tar", ["-xzf", packed.filename], { cwd: folder.path });
  await cp(join(folder.path, "package"), join(modules, "keelson"), { recursive: true });
  const { packages } = JSON.parse(await readFile(join(REPOSITORY, "package-lock.json"), "utf8"));
  const installed = Object.entries(packages as Record<string, { dev?: boolean }>)
    .filter(([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && dev !== true)
    .map(([path]) => path.replace("node_modules/", ""))
    .filter((name) => existsSync(join(REPOSITORY, "node_modules", name)));
  for (const name of [...installed, ...others]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(REPOSITORY, "node_modules", name), join(modules, name));
  }
  // As npm does with commands.
  await chmod(join(modules, "keelson", "dist", "bundle", "main.js"), 0o755);
  await symlink("../keelson/dist/bundle/main.js", join(modules, ".bin", "keelson"));
  await folder.write("package.json", '{"type":"module"}');
  return { ...folder, path: folder.path, files: packed.files, installed };
}

/** One project for all tests: packing and unpacking takes its time. */
const projects: Project[] = [];
before(async () => {
  projects.push(await installPackage(["@kubernetes/client-node", "@types/node"]));
});
after(async () => {
  for (const project of projects) await project[Symbol.asyncDispose]();
});

function theProject() {
  const [project] = projects;
  if (project === undefined) throw new Error("the package could not be installed");
  return project;
}

test("the package serves from an empty directory, has types, and nothing of the tests", async () => {
  const project = theProject();
  const strange = project.files.filter(({ path }) =>
    /\.test\.|\/testing\/|e2e|\.map$|bench/.test(path),
  );
  assert.deepEqual(strange, []);
  const manifest = JSON.parse(await readFile(join(REPOSITORY, "package.json"), "utf8"));
  for (const hook of ["preinstall", "install", "postinstall"]) {
    assert.equal(manifest.scripts[hook], undefined, `${hook} would run when somebody installs it`);
  }
  const data = join(project.path, "data");
  const command = join(project.path, "node_modules", ".bin", "keelson");
  const child = new Child(
    command,
    ["serve", `--data-dir=${data}`, "--secure-port=0"],
    project.path,
  );
  await child.waitForWords(" ready");
  await child.end("SIGTERM");
  assert.equal(child.exitCode, 0, child.output);

  await writeFile(join(project.path, "types.ts"), TYPED);
  const tsc = join(REPOSITORY, "node_modules", ".bin", "tsc");
  const flags = ["--noEmit", "--strict", "--module", "nodenext"];
  // N4: also where a project knows neither Node.js nor disposal.
  const projects = [
    ["--types", "node"],
    ["--types", "node", "--target", "es2022", "--lib", "es2022"],
    ["--types", "", "--target", "es2022", "--lib", "es2022"],
  ];
  for (const own of projects) {
    await run(tsc, [...flags, ...own, "types.ts"], { cwd: project.path }).catch(
      (error: { stdout?: string }) => {
        throw new Error(`${own.join(" ")}: ${error.stdout}`);
      },
    );
  }
});

test("an installation is below 30 MiB, and has the licences of what is in the bundle", async (t) => {
  const project = theProject();
  const folders = ["keelson", ...project.installed].map((name) =>
    join(project.path, "node_modules", name),
  );
  // Links are followed. What V8 compiled comes with a first start.
  const { stdout } = await run("du", ["-skcL", "--exclude=compiled", ...folders]);
  const kibibytes = Number(/(\d+)\ttotal/.exec(stdout)?.[1]);
  t.diagnostic(`${kibibytes} KiB: the package, and ${project.installed.join(", ")}`);
  assert.ok(kibibytes < INSTALLED_KIBIBYTES_MAX, stdout);

  const bundle = join(project.path, "node_modules", "keelson", "dist", "bundle");
  const licences = await readFile(join(bundle, "third-party-licences.txt"), "utf8");
  const { devDependencies } = JSON.parse(
    await readFile(join(REPOSITORY, "package.json"), "utf8"),
  ) as { devDependencies: Record<string, string> };
  const named = Object.keys(devDependencies).filter((name) => licences.includes(`\n${name} `));
  for (const name of ["etcd3", "koa", "preact", "protobufjs"])
    assert.ok(named.includes(name), name);
  assert.ok(!named.includes("typescript"));
});

if (isLong) {
  test("the package logs in to etcd with what is in the bundle", async () => {
    const project = theProject();
    assert.ok(!existsSync(join(project.path, "node_modules", "etcd3")));
    await using etcd = await startEtcd({ args: ["--bcrypt-cost=4"] });
    await requireLogIn({ hosts: etcd.endpoint });

    const passwordFile = join(project.path, "password");
    const folder = join(project.path, "replica");
    const command = join(project.path, "node_modules", ".bin", "keelson");
    const args = [`--etcd-servers=${etcd.endpoint}`, "--etcd-username=root", "--secure-port=0"];
    const serve = [...args, `--etcd-password-file=${passwordFile}`, `--data-dir=${folder}`];
    await writeFile(passwordFile, "secret");
    const child = new Child(command, ["serve", ...serve], folder);
    await child.waitForWords(" ready");
    await child.end("SIGTERM");
    assert.equal(child.exitCode, 0, child.output);
  });
}

test("the command says in a sentence what it needs where Node.js is too old for it", async () => {
  const command = join(theProject().path, "node_modules", "keelson", "dist", "bundle", "main.js");
  const old = 'Object.defineProperty(process, "version", { value: "v18.20.8" })';
  const args = ["--import", `data:text/javascript,${old}`, command, "serve"];
  await assert.rejects(run(process.execPath, args), {
    code: 1,
    stderr: "keelson: this needs Node.js 22 or newer, and was started by v18.20.8\n",
  });
});

const TYPED = `import { type Keelson, startKeelson } from "keelson";
const api: Keelson = await startKeelson({ users: [{ name: "a", groups: ["g"] }] });
export const token: string = api.as("a").token;
await api.stop();
`;

/** The documents whose blocks of JavaScript are run. */
const PAGES = ["testing.md", "why.md"];

async function pages(): Promise<string> {
  const texts = PAGES.map((name) => readFile(join(REPOSITORY, "docs", "use", name), "utf8"));
  return (await Promise.all(texts)).join("\n");
}

async function writeExamples(folder: string): Promise<void> {
  const text = await pages();
  const snippets = snippetsOf(text);
  assert.ok(snippets.count >= 7, `${snippets.count} snippets`);
  // Plain JavaScript has no `await using` before Node.js 24, as the page says.
  const { code } = await transform(snippets.code, { target: "node22", format: "esm" });
  await writeFile(join(folder, "snippets.mjs"), code);
  for (const { name, code } of examplesOf(text)) await writeFile(join(folder, name), code);
}

function environment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const env = { ...process.env, ...more };
  // Without it an inner run would report to the outer one.
  delete env.NODE_TEST_CONTEXT;
  return env;
}

/** Node.js of the release that package.json names as the oldest, and of the one that is pinned. */
const NODES = [
  { title: "the oldest Node.js", node: await findTool("node-22") },
  { title: "this Node.js", node: process.execPath },
];
for (const [index, { title, node }] of NODES.entries()) {
  const skip = node === undefined && "node-22 is not to be had: see e2e/install-tools.sh";
  test(`the JavaScript of the documents runs as it is written on ${title}`, { skip }, async () => {
    const { path: cwd } = theProject();
    await writeExamples(cwd);
    // Each of the two once in the short run.
    const all = ["snippets.mjs", "node-test.test.mjs"];
    for (const name of isLong ? all : all.slice(index, index + 1)) {
      const { stdout } = await run(node ?? "", ["--test", name], { cwd, env: environment() });
      assert.match(stdout, /^\S+ pass [1-9]/m);
      assert.match(stdout, /^\S+ fail 0$/m);
      assert.match(stdout, /^\S+ skipped 0$/m);
    }
  });
}

/** Fails on purpose, with the hook of docs/use/why.md as it is written there. */
const failing = (hook: string) => `
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { startKeelson } from "keelson";
const users = [{ name: "writer", groups: ["system:masters"] }];
const api = await startKeelson({ record: true, users });
after(() => api.stop());
${hook}
const write = async (name) => {
  const headers = { authorization: \`Bearer \${api.as("writer").token}\`, "content-type": "application/json" };
  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
  const url = new URL("/api/v1/namespaces/default/configmaps", api.url);
  const { request } = await import("node:https");
  await new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", ca: api.ca, headers }, (answer) => answer.resume().on("end", resolve));
    sent.on("error", reject).end(body);
  });
};
test("what holds", () => write("of-what-holds"));
test("what fails", async () => {
  await write("of-what-fails");
  assert.fail("on purpose");
});
`;

test("#46 the report of a failed test names a picture of what was written before it failed", async () => {
  const { path: cwd } = theProject();
  const text = await readFile(join(REPOSITORY, "docs", "use", "why.md"), "utf8");
  const hook = [...text.matchAll(/```js\n([\s\S]*?)```/g)].find(([, code]) =>
    code?.includes("afterEach("),
  )?.[1];
  assert.ok(hook !== undefined);
  await writeFile(join(cwd, "failing.test.mjs"), failing(hook));
  const reports = join(cwd, "reports");
  await mkdir(reports);
  const args = ["--test", "--test-reporter=junit", "failing.test.mjs"];
  const options = { cwd, env: environment({ REPORTS: reports }) };
  const { code, stdout } = await run(process.execPath, args, options).then(
    () => assert.fail("the test does not fail"),
    (error: { code: number; stdout: string }) => error,
  );
  assert.equal(code, 1);
  // One failed, and it alone has a picture.
  const names = await readdir(reports);
  assert.deepEqual(names, ["what-fails.svg"]);
  assert.match(stdout, /<failure /);
  assert.ok(stdout.includes(`what happened: ${join(reports, "what-fails.svg")}`), stdout);
  const picture = await readFile(join(reports, "what-fails.svg"), "utf8");
  assert.match(picture, /^<svg [\s\S]*<\/svg>\s*$/);
  assert.ok(picture.includes("default/of-what-fails"));
});

if (isLong) {
  for (const runner of ["vitest", "jest"] as const) {
    test(`the example for ${runner} runs as it is written`, async () => {
      const project = theProject();
      await writeExamples(project.path);
      const { stdout: modules } = await run(await requireTool("js-runners"), []);
      const cwd = join(project.path, runner);
      await copyProject(project.path, cwd, modules.trim());
      const name = `settings.${runner}.js`;
      const file = join(cwd, name.replace(`.${runner}.`, ".test."));
      await cp(join(project.path, name), file);
      const args =
        runner === "vitest"
          ? [join(cwd, "node_modules/vitest/vitest.mjs"), "run", "--root", cwd]
          : [
              "--experimental-vm-modules",
              join(cwd, "node_modules/jest/bin/jest.js"),
              "--transform={}",
              "--rootDir",
              cwd,
            ];
      const { stdout, stderr } = await run(process.execPath, args, { cwd, env: environment() });
      assert.match(`${stdout}${stderr}`, /1 passed/);
    });
  }

  for (const [tool, args, file] of [
    ["pytest", ["-q", "test_settings.py"], "test_settings.py"],
    ["client-go", ["test", "-count=1", "-v", "settings_test.go"], "settings_test.go"],
  ] as const) {
    test(`the example in ${file} runs as it is written, in keelson up`, async () => {
      const { path: cwd } = theProject();
      await writeExamples(cwd);
      const up = [join(cwd, "node_modules", ".bin", "keelson"), "up", "--"];
      const [command = "", ...first] = [...up, await requireTool(tool), ...args];
      const { stdout } = await run(command, first, { cwd, env: environment() });
      assert.match(stdout, tool === "pytest" ? /1 passed/ : /PASS: TestAnObjectIsStored/);
    });
  }
}

/** A project as the first, whose other packages are those in `modules`. */
async function copyProject(from: string, to: string, modules: string): Promise<void> {
  const own = join(to, "node_modules");
  await mkdir(own, { recursive: true });
  await writeFile(join(to, "package.json"), '{"type":"module"}');
  for (const name of await readdir(modules)) {
    if (!name.startsWith(".")) await symlink(join(modules, name), join(own, name));
  }
  for (const name of theProject().installed.filter((one) => !one.startsWith("@"))) {
    if (!existsSync(join(own, name)))
      await symlink(join(REPOSITORY, "node_modules", name), join(own, name));
  }
  await cp(join(from, "node_modules", "keelson"), join(own, "keelson"), { recursive: true });
}

/** Ten in the long run. */
const APIS = isLong ? 10 : 4;

test("APIs run side by side in one process, isolated, and leave nothing behind", async (t) => {
  const begun = performance.now();
  const first = await startKeelson();
  const firstMs = performance.now() - begun;
  const others = await Promise.all(Array.from({ length: APIS - 1 }, () => startKeelson()));
  const all = [first, ...others];
  try {
    await Promise.all(
      all.map(async (api, index) => {
        const client = clientOf(api);
        const path = "/api/v1/namespaces/default/configmaps";
        (await client.post(path, { metadata: { name: `of-${index}` } })).expect(201);
        const names = (await client.get(path)).items.map(({ metadata }) => metadata.name);
        assert.deepEqual(
          names.filter((name) => name?.startsWith("of-")),
          [`of-${index}`],
        );
        client.close();
      }),
    );
  } finally {
    await Promise.all(all.map((api) => api.stop()));
  }
  for (const { kubeconfigPath } of all) await assert.rejects(readFile(kubeconfigPath), /ENOENT/);
  t.diagnostic(`the first after ${Math.round(firstMs)} ms`);
});

test("a child is as good, and a bad flag is told in one line", async () => {
  await using api = await startKeelson({
    runsIn: "child",
    users: [{ name: "root", groups: ["system:masters"] }],
  });
  const { url, ca, token } = api.as("root");
  const client = new HttpsClient(url, { ca });
  const headers = { authorization: `Bearer ${token}` };
  (await client.request("/api/v1/secrets", { headers })).expect(200);
  client.close();
  for (const runsIn of ["process", "child"] as const) {
    const start = startKeelson({ runsIn, flags: { "no-such-flag": 1 } });
    await assert.rejects(start, /^\w*Error: keelson: unknown flag: --no-such-flag$/);
  }
  assert.throws(() => api.as("nobody"), /no user is called "nobody"/);
});

function clientOf({ url, ca, cert, key }: Keelson): HttpsClient {
  return new HttpsClient(url, { ca, cert, key });
}
