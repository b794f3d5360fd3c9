/**
 * The package as npm packs it: in a directory with nothing but it and its dependencies, the command
 * serves, the programmatic start works, types are there, and the examples of the documents run.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { type Keelson, startKeelson } from "../server/start-keelson.js";
import { HttpsClient } from "./harness/https-client.js";
import { makeTempDir, type TempDir } from "./harness/temp-dir.js";
import { Child } from "./tools/child.js";
import { repositoryRoot } from "./tools/find-tool.js";

const run = promisify(execFile);
const REPOSITORY = repositoryRoot();

/** A project that has installed the package, without a registry: its dependencies are linked. */
async function installPackage(): Promise<TempDir & { readonly files: readonly string[] }> {
  const folder = await makeTempDir("package");
  await run("npm", ["run", "types", "--silent"], { cwd: REPOSITORY });
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder.path];
  const { stdout } = await run("npm", pack, { cwd: REPOSITORY });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  assert.ok(packed);
  const modules = join(folder.path, "node_modules");
  await mkdir(join(modules, ".bin"), { recursive: true });
  await run("tar", ["-xzf", packed.filename], { cwd: folder.path });
  await cp(join(folder.path, "package"), join(modules, "keelson"), { recursive: true });
  for (const name of await readdir(join(REPOSITORY, "node_modules"))) {
    if (name.startsWith(".") || name === "keelson") continue;
    await symlink(join(REPOSITORY, "node_modules", name), join(modules, name));
  }
  // As npm does with commands.
  await chmod(join(modules, "keelson", "dist", "bundle", "main.js"), 0o755);
  await symlink("../keelson/dist/bundle/main.js", join(modules, ".bin", "keelson"));
  await writeFile(join(folder.path, "package.json"), '{"type":"module"}');
  return { ...folder, path: folder.path, files: packed.files.map(({ path }) => path) };
}

/** One project for all tests: packing and unpacking takes its time. */
const projects: Awaited<ReturnType<typeof installPackage>>[] = [];
before(async () => {
  projects.push(await installPackage());
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
  const strange = project.files.filter((path) =>
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
  await child.waitUntilReady(async () => child.output.includes(" ready"));
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

test("the examples of docs/use/testing.md run as they are written", async () => {
  const project = theProject();
  const page = await readFile(join(REPOSITORY, "docs", "use", "testing.md"), "utf8");
  const examples = [...page.matchAll(/<!-- example: (\S+) -->\n```js\n([\s\S]*?)```/g)];
  assert.equal(examples.length, 1);
  for (const [, name = "", code = ""] of examples) {
    await writeFile(join(project.path, name), code);
    const env = { ...process.env };
    // Without it the inner run would report to the outer one.
    delete env.NODE_TEST_CONTEXT;
    const { stdout } = await run(process.execPath, ["--test", name], { cwd: project.path, env });
    assert.match(stdout, /pass 2\b/);
  }
});

/** Ten in the long run. */
const APIS = process.env.KEELSON_TEST_LONG === undefined ? 4 : 10;

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
