/**
 * What is below deploy/. No container engine runs here: the Dockerfile's own steps are taken in a clean
 * directory, and what they leave is started as the image would start it; the compose file is read and
 * held against what it refers to.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { parseCommandLine } from "../server/config/command-line.js";
import { warningsAbout } from "../server/node-release.js";
import { DEADLINE_MS } from "./harness/eventually.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { missingHelm } from "./helm/chart.js";
import { renderManifests } from "./helm/manifests.js";
import { Child } from "./tools/child.js";
import { startEtcd } from "./tools/etcd.js";
import { findTool, repositoryRoot } from "./tools/find-tool.js";
import { freePort } from "./tools/free-port.js";

const ROOT = repositoryRoot();
const DEPLOY = join(ROOT, "deploy");
const read = (name: string) => readFile(join(DEPLOY, name), "utf8");
const run = promisify(execFile);

interface Stage {
  readonly name: string;
  readonly lines: readonly { readonly word: string; readonly rest: string }[];
}

function parseStages(text: string): Stage[] {
  const stages: { name: string; lines: { word: string; rest: string }[] }[] = [];
  for (const line of text.split("\n")) {
    const [, word = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (word === "FROM") stages.push({ name: / AS (\S+)$/.exec(rest)?.[1] ?? "", lines: [] });
    else if (word !== "") stages.at(-1)?.lines.push({ word, rest });
  }
  return stages;
}

test("P1: the Dockerfile's steps leave what starts, is healthy and ends by the signal, as its user, from files that nobody can change", async (t) => {
  await using folder = await makeTempDir("image");
  // The image's user gets through.
  await chmod(folder.path, 0o711);
  const { target, image } = await takeSteps(folder.path);
  const tests = (await readdir(join(target, "dist"), { recursive: true })).filter((path) =>
    /\.test\.|testing|e2e/.test(path),
  );
  assert.deepEqual(tests, [], "the image has nothing of the tests");
  const { stdout } = await run("du", ["-sk", target]);
  const kibibytes = Number(stdout.split("\t")[0]);
  t.diagnostic(`files of the image: ${kibibytes} KiB`);
  assert.ok(kibibytes < IMAGE_KIBIBYTES_MAX);

  const of = (word: string) =>
    image.lines.filter((line) => line.word === word).map(({ rest }) => rest);
  assert.deepEqual(of("USER"), ["65532:65532"]);
  assert.deepEqual(of("STOPSIGNAL"), ["SIGTERM"]);
  const [entry] = of("ENTRYPOINT").map((text) => JSON.parse(text) as string[]);
  assert.deepEqual(entry, ["keelson"]);
  const main = join(target, "dist", "bundle", "main.js");
  await warmUp(of("RUN"), main, folder.path);
  await run("chmod", ["-R", "a+rX,a-w", target]);
  const home = join(folder.path, "home");
  await mkdir(home);
  const asUser =
    process.getuid?.() === 0 ? ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"] : [];
  if (asUser.length > 0) await chown(home, 65532, 65532);
  const start = (args: readonly string[]) =>
    new Child("env", [...asUser, process.execPath, main, ...args], home);

  const command = (JSON.parse(of("CMD")[0] ?? "[]") as string[]).map((arg) =>
    arg.replace("/var/lib/keelson", join(home, "data")).replace("0.0.0.0", "127.0.0.1"),
  );
  const port = await freePort();
  const child = start([...command, `--secure-port=${port}`]);
  await child.waitForWords(" ready");
  const check = JSON.parse(
    /CMD (\[.*\])$/.exec(of("HEALTHCHECK")[0] ?? "")?.[1] ?? "[]",
  ) as string[];
  const environment = (value: string) => ({ env: { ...process.env, KEELSON_PORT: value } });
  await run(process.execPath, check.slice(1), environment(String(port)));
  await assert.rejects(run(process.execPath, check.slice(1), environment("1")));
  await child.end("SIGTERM");
  assert.equal(child.exitCode, 0);

  // The other programs, and packages that only they load: the chart's, over etcd by each transport.
  await using etcd = await startEtcd();
  for (const transport of ["lean", "grpc"]) {
    const flags = [`--etcd-servers=${etcd.endpoint}`, `--etcd-transport=${transport}`];
    const data = `--data-dir=${join(home, transport)}`;
    const replica = start(["serve", data, "--secure-port=0", "--run-controllers=false", ...flags]);
    await replica.waitForWords(" ready");
    const loops = start(["controllers", ...flags]);
    await loops.waitForWords("leading");
    for (const one of [loops, replica]) {
      await one.end("SIGTERM");
      assert.equal(one.exitCode, 0, one.output);
    }
  }
});

/** What `du` says of all that the image has beside its base and the allocator, with what V8 keeps. */
const IMAGE_KIBIBYTES_MAX = 24 * 1024;

/** The Dockerfile's steps in folders in place of its stages. */
async function takeSteps(folder: string): Promise<{ target: string; image: Stage }> {
  const [build, dependencies, image] = parseStages(await read("Dockerfile"));
  assert.ok(build && dependencies && image);
  const folders: Record<string, string> = {};
  for (const stage of [build, dependencies, image]) {
    const source = join(folder, stage.name || "image");
    folders[stage.name] = source;
    await mkdir(source);
    for (const { word, rest } of stage.lines) {
      if (word === "COPY") await copyInto(source, rest, folders);
      if (word !== "RUN" || stage === image) continue;
      // What the registry would give is here already.
      if (rest.startsWith("npm ci")) await run("ln", ["-s", join(ROOT, "node_modules"), source]);
      else await run("sh", ["-ec", rest], { cwd: source });
    }
  }
  return { target: folders[image.name] ?? "", image };
}

/** COPY [--from=stage] source... target: as docker does, a folder's contents go into the target. */
async function copyInto(
  folder: string,
  rest: string,
  stages: Readonly<Record<string, string>>,
): Promise<void> {
  const [, stage, parts = ""] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
  const paths = parts.split(" ");
  const to = paths.pop() ?? "";
  const from = stage === undefined ? ROOT : (stages[stage] ?? assert.fail(stage));
  for (const path of paths) {
    const source = join(from, path.replace(/^\/src\//, ""));
    const target = to.endsWith("/") ? join(folder, to, basename(path)) : join(folder, to);
    await cp(source, target, { recursive: true, verbatimSymlinks: true });
  }
}

test("P1: the ignore file lets in all that the Dockerfile copies", async () => {
  const lines = (await read("Dockerfile.dockerignore")).split("\n").filter((line) => line !== "");
  assert.equal(lines.shift(), "*");
  const allowed = lines.map((line) => /^!(.*)$/.exec(line)?.[1] ?? assert.fail(line));
  const sources = parseStages(await read("Dockerfile"))
    .flatMap((stage) => stage.lines)
    .filter(({ word, rest }) => word === "COPY" && !rest.startsWith("--from="))
    .flatMap(({ rest }) => rest.split(" ").slice(0, -1));
  const isAllowed = (source: string) =>
    allowed.some((path) => source === path || source.startsWith(`${path}/`));
  assert.deepEqual(
    sources.filter((source) => !isAllowed(source)),
    [],
  );
  assert.deepEqual(
    allowed.filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
});

test("the image, the tests and the declared releases have one Node.js", async () => {
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const pinned: string = manifest.devDependencies.node;
  const text = await read("Dockerfile");
  assert.equal(/^ARG NODE_IMAGE=.*\/node:([^-]+)-/m.exec(text)?.[1], pinned);
  assert.deepEqual(warningsAbout(`v${pinned}`), []);
  const [, oldest = ""] = /^>=(\d+)$/.exec(manifest.engines.node) ?? [];
  assert.deepEqual(warningsAbout(`v${oldest}.0.0`), []);
  assert.notDeepEqual(warningsAbout(`v${Number(oldest) - 1}.0.0`), []);
});

test("P1: what the bundle leaves outside is what the image keeps of node_modules", async () => {
  const bundle = join(ROOT, "dist", "bundle");
  const scripts = (await readdir(bundle)).filter((name) => name.endsWith(".cjs"));
  const texts = await Promise.all(scripts.map((name) => readFile(join(bundle, name), "utf8")));
  const names = texts.flatMap((text) => [...text.matchAll(/\brequire\("([^".]+)"\)/g)]);
  const outside = new Set(names.map(([, name]) => name ?? "").filter((name) => !isBuiltin(name)));
  const [, roots = "[]"] = /^const ROOTS = (\[.*\]);$/m.exec(await read("image-modules.mjs")) ?? [];
  assert.deepEqual([...outside].sort(), (JSON.parse(roots) as string[]).sort());
});

/** The first start, of which the image keeps what V8 compiled, in a folder that it leaves empty. */
async function warmUp(steps: readonly string[], main: string, folder: string): Promise<void> {
  const [step = "", ...others] = steps.filter((text) => text.includes("keelson serve"));
  assert.deepEqual(others, []);
  const bin = join(folder, "bin");
  const temporary = join(folder, "tmp");
  const cache = join(folder, "compile-cache");
  for (const made of [bin, temporary]) await mkdir(made);
  await symlink(main, join(bin, "keelson"));
  const PATH = `${bin}:${dirname(process.execPath)}:${process.env.PATH}`;
  await run("sh", ["-c", step], {
    env: { ...process.env, PATH, TMPDIR: temporary, NODE_COMPILE_CACHE: cache },
    timeout: DEADLINE_MS,
  });
  const [made = "none"] = await readdir(temporary);
  assert.deepEqual(await readdir(join(temporary, made)), []);
  const kept = (await readdir(cache)).filter((name) => name.startsWith("chunk-"));
  assert.notDeepEqual(kept, []);
}

test("the compose file refers to files, volumes and services that are there, with flags that are known", async () => {
  const compose = parse(await read("compose.yaml"), { merge: true });
  const services: [string, Record<string, unknown>][] = Object.entries(compose.services);
  const names = services.map(([name]) => name);
  const haproxy = await read("haproxy.cfg");
  const numberOf = (pattern: RegExp) => Number(pattern.exec(haproxy)?.[1]);
  const interMs = 1_000 * numberOf(/ inter (\d+)s /);
  // Connecting takes as long as the interval at most, and then the answer as long as a check may.
  const checkMs = interMs + 1_000 * numberOf(/timeout check (\d+)s/);
  const noticedMs = numberOf(/ fall (\d+) /) * (interMs + checkMs);
  for (const [name, service] of services) {
    for (const other of (service.depends_on as string[] | undefined) ?? [])
      assert.ok(names.includes(other), other);
    for (const volume of (service.volumes as string[] | undefined) ?? []) {
      const [from = ""] = volume.split(":");
      const isThere = from.startsWith(".")
        ? existsSync(join(DEPLOY, from))
        : from in compose.volumes;
      assert.ok(isThere, `${name}: ${volume}`);
    }
    for (const { source } of (service.configs as { source: string }[] | undefined) ?? []) {
      assert.ok(source in compose.configs, `${name}: ${source}`);
    }
    if (!name.startsWith("keelson")) continue;
    const command = (service.command as string[]).filter(
      (arg) => !arg.startsWith("--token-auth-file"),
    );
    assert.equal(parseCommandLine(command).action, "run", command.join(" "));
    assert.ok(
      JSON.stringify(service.command).includes("--token-auth-file=/etc/keelson/tokens.csv"),
    );
    const line = parseCommandLine(command);
    assert.ok(line.action === "run");
    const { shutdownDelayMs, shutdownGracePeriodMs, shutdownWatchTerminationGracePeriodMs } =
      line.config;
    const endMs = shutdownDelayMs + shutdownWatchTerminationGracePeriodMs + shutdownGracePeriodMs;
    const [, graceSeconds] = /^(\d+)s$/.exec(String(service.stop_grace_period)) ?? [];
    assert.ok(Number(graceSeconds) * 1_000 > endMs, `P9: ${name} is killed before its end`);
    assert.ok(shutdownDelayMs > noticedMs, `P9: ${name} ends before the balancer has noticed`);
  }
  // The balancer and Prometheus know the replicas and members by the names of their services.
  const prometheus = parse(await read("prometheus.yml"));
  const targets: string[] = prometheus.scrape_configs.flatMap(
    ({ static_configs }: { static_configs: { targets: string[] }[] }) =>
      static_configs.flatMap(({ targets: all }) => all),
  );
  for (const name of names.filter((one) => /^(keelson|etcd)-/.test(one))) {
    assert.ok(
      targets.some((target) => target.startsWith(`${name}:`)),
      name,
    );
    if (name.startsWith("keelson"))
      assert.match(haproxy, new RegExp(`server ${name} ${name}:6443`));
  }
});

test("HAProxy takes the configuration", {
  skip: (await findTool("haproxy")) === undefined && "HAProxy is not to be had",
}, async () => {
  const path = await findTool("haproxy");
  // Names of replicas are known inside the compose network only.
  await using folder = await makeTempDir("haproxy");
  const text = (await read("haproxy.cfg")).replace(/keelson-\d:6443/g, "127.0.0.1:6443");
  const file = await folder.write("haproxy.cfg", text);
  await run(path ?? "", ["-c", "-f", file]);
});

test("the image preloads the allocator that it installs, set as the units and the benchmarks have it", async () => {
  const [, , image] = parseStages(await read("Dockerfile"));
  const [settings = ""] = (image?.lines ?? [])
    .filter(({ word, rest }) => word === "ENV" && rest.startsWith("LD_PRELOAD="))
    .map(({ rest }) => rest);
  assert.match(settings, /^LD_PRELOAD=libjemalloc\.so\.2 MALLOC_CONF=\S+$/);
  assert.ok(image?.lines.some(({ word, rest }) => word === "RUN" && / libjemalloc2 /.test(rest)));
  for (const name of await unitNames()) {
    const unit = await read(join("systemd", name));
    assert.ok(unit.includes(`#Environment=${settings}\n`), name);
  }
});

async function unitNames(): Promise<string[]> {
  return (await readdir(join(DEPLOY, "systemd"))).filter((name) => name.endsWith(".service"));
}

test("P3: systemd finds nothing to say about the units, and the script puts them where it looks", {
  skip: await hasNoSystemd(),
}, async () => {
  await using folder = await makeTempDir("units");
  // In npm's place: what it would put there.
  const bin = join(folder.path, "bin");
  await mkdir(bin);
  for (const name of ["npm", "keelson"]) {
    await writeFile(join(bin, name), "#!/bin/sh\n", { mode: 0o755 });
  }
  const units = join(folder.path, "units");
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    PREFIX: folder.path,
    UNITS: units,
  };
  await run("sh", [join(DEPLOY, "systemd", "install.sh"), "keelson.tgz"], { env });
  const files = (await unitNames()).map((name) => join(units, name));
  assert.equal(files.length, 2);
  const { stderr } = await run("systemd-analyze", ["verify", ...files]);
  assert.doesNotMatch(stderr, /keelson/);
  const exposure = ["--offline=true", "--no-pager", `--threshold=${EXPOSURE_MAX}`];
  await run("systemd-analyze", ["security", ...exposure, ...files]);
});

/** Tenths, of ten: what is left is the network, the machine's files and users, and code that V8 makes. */
const EXPOSURE_MAX = 15;

async function hasNoSystemd(): Promise<string | false> {
  return run("systemd-analyze", ["--version"]).then(
    () => false,
    () => "systemd-analyze is not to be had",
  );
}

test("systemd's units start the command with flags that are known, and give it time to end", async () => {
  for (const name of await unitNames()) {
    const unit = await read(join("systemd", name));
    const [, line = ""] = /^ExecStart=\S*keelson (.*)$/m.exec(unit) ?? [];
    const etcd = "--etcd-servers=http://127.0.0.1:2379";
    const args = line
      .replace(/\$\{STATE_DIRECTORY\}/, "/tmp/x")
      .replace("$KEELSON_FLAGS", etcd)
      .split(" ");
    assert.equal(parseCommandLine(args).action, "run", name);
    assert.match(unit, /^TimeoutStopSec=120s$/m);
    // P3: Node.js asks the kernel for the machine's addresses by a netlink socket.
    assert.match(unit, /^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
    assert.match(unit, /^Restart=always$/m);
  }
});

test("the plain manifests are what the chart renders", {
  skip: await missingHelm("helm-4"),
}, async () => {
  const hint = "build, then node dist/e2e/helm/write-manifests.js";
  for (const [name, text] of Object.entries(await renderManifests("helm-4"))) {
    assert.equal(await read(join("kustomize", name)), text, hint);
  }
});
