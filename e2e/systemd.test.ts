/**
 * The units of deploy/systemd under a real systemd: its install script puts the package and them where it says, etcd is beside
 * them, and both programs start as their users, with what the units forbid, come up again after SIGKILL and when they hang, and end in good order. A release is replaced by
 * another one, and the other way round.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { eventually } from "./harness/eventually.js";
import { isLong } from "./harness/is-long.js";
import { buildOlder, findOlderCommit } from "./harness/older-build.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { repositoryRoot, requireTool } from "./tools/find-tool.js";
import { missingSystemd, Systemd, writeInside } from "./tools/systemd.js";

const ROOT = repositoryRoot();
const run = promisify(execFile);
const ETCD = "http://127.0.0.1:2379";
/** The version of the release that is upgraded. */
const OLDER = "0.0.9";
const COMMITS_BEFORE = 60;
const UNITS = ["keelson", "keelson-controllers"];
/** More than a start takes the thread at once. */
const WATCHDOG_SECONDS = 10;
/** In npm's place, as there is no registry inside: unpacks the package, and links its command. */
const NPM = `#!/bin/sh
set -eu
while [ $# -gt 0 ]; do case $1 in --prefix) prefix=$2; shift ;; *.tgz) package=$1 ;; esac; shift; done
to=$prefix/lib/node_modules/keelson
rm -rf "$to"
mkdir -p "$to" "$prefix/bin"
tar -xzf "$package" -C "$to" --strip-components=1
cp -r /root/trial/node_modules "$to"
chmod 755 "$to/dist/bundle/main.js"
ln -sf "$to/dist/bundle/main.js" "$prefix/bin/keelson"
`;

test("P3: both units start under systemd with what they forbid, come back when they are killed or hang, and end in good order", {
  skip: await missingSystemd(),
}, async () => {
  await using systemd = await Systemd.start();
  await prepare(systemd);
  await install(systemd, ROOT);
  const flags = `KEELSON_FLAGS=--etcd-servers=${ETCD}`;
  await writeInside(systemd, "etc/keelson/keelson.env", `${flags} --run-controllers=false\n`);
  await writeInside(systemd, "etc/keelson/controllers.env", `${flags}\n`);
  // As the units say it, but sooner.
  for (const unit of UNITS) {
    const sooner = `[Service]\nWatchdogSec=${WATCHDOG_SECONDS}s\n`;
    await writeInside(systemd, `etc/systemd/system/${unit}.service.d/sooner.conf`, sooner);
  }
  await systemd.run("systemctl", "daemon-reload");
  await systemd.run("systemctl", "start", ...UNITS);
  await waitForWord(systemd, "keelson", "ready", 1);
  await waitForWord(systemd, "keelson-controllers", "leading", 1);
  assert.equal(await systemd.run("curl", "-sk", "https://127.0.0.1:6443/livez"), "ok");
  assert.match(await systemd.run("curl", "-s", "http://127.0.0.1:10257/metrics"), /^# HELP/);

  for (const unit of UNITS) {
    const { MainPID = "" } = await systemd.show(unit, "MainPID");
    const status = await systemd.run("cat", `/proc/${MainPID}/status`);
    const of = (name: string) => new RegExp(`^${name}:\\t(.*)$`, "m").exec(status)?.[1];
    const seen = ["NoNewPrivs", "Seccomp", "CapBnd"].map(of);
    assert.deepEqual(seen, ["1", "2", "0000000000000000"], unit);
    assert.doesNotMatch(of("Uid") ?? "", /^0\b/);
    await systemd.run("systemctl", "kill", "--signal=SIGKILL", unit);
  }
  await waitForWord(systemd, "keelson", "ready", 2);
  await waitForWord(systemd, "keelson-controllers", "leading", 2);

  // P8: one that hangs sends no more beats.
  for (const unit of UNITS) {
    await systemd.run("systemctl", "kill", "--kill-whom=main", "--signal=SIGSTOP", unit);
  }
  await waitForWord(systemd, "keelson", "ready", 3);
  await waitForWord(systemd, "keelson-controllers", "leading", 3);
  for (const unit of UNITS) {
    assert.deepEqual(await systemd.show(unit, "NRestarts"), { NRestarts: "2" }, unit);
    await systemd.run("systemctl", "stop", unit);
    const end = await systemd.show(unit, "Result", "ExecMainStatus");
    assert.deepEqual(end, { Result: "success", ExecMainStatus: "0" }, unit);
  }
});

test("#42 an upgrade and the way back as docs/run/upgrade.md says: the script with the other package, then a restart, and nothing is lost", {
  skip: await missingSystemd(),
}, async (t) => {
  await using systemd = await Systemd.start();
  await prepare(systemd);
  await using older = await olderRelease(t);
  await install(systemd, older.root, OLDER);
  // As docs/run/install.md says it: the folder is there.
  const flags = `KEELSON_FLAGS=--etcd-servers=${ETCD}`;
  await systemd.run("sh", "-c", `echo '${flags}' | tee /etc/keelson/keelson.env`);
  await systemd.run("systemctl", "start", "keelson");
  const kubectl = (...words: readonly string[]) =>
    systemd.run("kubectl", "--kubeconfig=/var/lib/keelson/admin.kubeconfig", ...words);
  const served = async () =>
    JSON.parse(await systemd.run("curl", "-sk", "https://127.0.0.1:6443/version")).gitVersion;
  const created = async (name: string) => {
    await kubectl("create", "configmap", name, "--from-literal=a=1");
    return await kubectl("get", "configmap", name, "--output=jsonpath={.metadata.uid}");
  };
  await waitForWord(systemd, "keelson", "ready", 1);
  assert.match(await served(), new RegExp(`\\b${OLDER}\\b`));
  const uids = new Map([["before", await created("before")]]);

  const releases = [
    ["upgraded", ROOT, undefined],
    ["rolled-back", older.root, OLDER],
  ] as const;
  for (const [at, [name, root, version]] of releases.entries()) {
    const was = await served();
    await install(systemd, root, version);
    assert.equal(await served(), was, "what runs goes on until it is restarted");
    await systemd.run("systemctl", "restart", "keelson");
    await waitForWord(systemd, "keelson", "ready", at + 2);
    assert.equal(await systemd.run("curl", "-sk", "https://127.0.0.1:6443/readyz"), "ok");
    assert.notEqual(await served(), was);
    for (const [known, uid] of uids) {
      assert.equal(
        await kubectl("get", "configmap", known, "--output=jsonpath={.metadata.uid}"),
        uid,
      );
    }
    uids.set(name, await created(name));
  }
  assert.deepEqual(await systemd.show("keelson", "NRestarts"), { NRestarts: "0" });
});

/** In the long run an older commit, as it was built; else this build under the older one's version. */
async function olderRelease(t: TestContext): Promise<AsyncDisposable & { readonly root: string }> {
  const commit = isLong ? await findOlderCommit(COMMITS_BEFORE) : undefined;
  if (commit !== undefined) return await buildOlder(commit);
  t.diagnostic("the older release is this build with another version");
  return { root: ROOT, [Symbol.asyncDispose]: async () => {} };
}

/** The package of `npm pack`. @param version instead of its own. @returns its path */
async function pack(root: string, folder: string, version: string | undefined): Promise<string> {
  const words = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", words, { cwd: root });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const path = join(folder, filename);
  if (version === undefined) return path;
  await run("tar", ["-xzf", path, "-C", folder]);
  const manifest = join(folder, "package", "package.json");
  const own = JSON.parse(await readFile(manifest, "utf8"));
  await writeFile(manifest, JSON.stringify({ ...own, version }));
  await run("tar", ["-czf", path, "-C", folder, "package"]);
  return path;
}

/** What a person does: the package, and the script. */
async function install(systemd: Systemd, root: string, version?: string): Promise<void> {
  await using folder = await makeTempDir("package");
  const trial = join(systemd.root, "root", "trial");
  await copyFile(await pack(root, folder.path, version), join(trial, "keelson.tgz"));
  await systemd.run("sh", "/root/trial/systemd/install.sh", "/root/trial/keelson.tgz");
}

/** What a machine has before: Node.js, npm, an etcd that runs, and the modules that npm would fetch. */
async function prepare(systemd: Systemd): Promise<void> {
  await using folder = await makeTempDir("modules");
  const trial = join(systemd.root, "root", "trial");
  await mkdir(trial, { recursive: true });
  const modules = join(ROOT, "deploy", "image-modules.mjs");
  const list = join(folder.path, "modules.json");
  await run(process.execPath, [modules, "list", list], { cwd: ROOT });
  await run(process.execPath, [modules, "copy", list, join(trial, "node_modules")], { cwd: ROOT });
  await cp(join(ROOT, "deploy", "systemd"), join(trial, "systemd"), { recursive: true });
  const bin = join(systemd.root, "usr", "local", "bin");
  await mkdir(bin, { recursive: true });
  await place(process.execPath, join(bin, "node"));
  // A script that starts what is beside its folder, unless the machine has its own.
  const etcd = await requireTool("etcd");
  await place(etcd, join(bin, "etcd"));
  const beside = join(dirname(etcd), "..", "etcd");
  if (existsSync(beside)) await cp(beside, join(bin, "..", "etcd"), { recursive: true });
  await writeInside(systemd, "usr/local/bin/npm", NPM, 0o755);
  const service = ["--unit=etcd", "--service-type=notify", "/usr/local/bin/etcd"];
  await systemd.run("systemd-run", ...service, "--data-dir=/tmp/etcd");
}

/** Also where a link of the machine's own is. */
async function place(program: string, path: string): Promise<void> {
  await writeFile(`${path}.new`, await readFile(program));
  await chmod(`${path}.new`, 0o755);
  await run("mv", ["-fT", `${path}.new`, path]);
}

async function waitForWord(systemd: Systemd, unit: string, word: string, times: number) {
  const what = `${unit} says "${word}" for the ${times}. time`;
  let log = "";
  await eventually(what, async () => {
    log = await systemd.run("journalctl", "--unit", unit, "--output=cat", "--no-pager");
    return log.split("\n").filter((line) => line.includes(` ${word}`)).length >= times;
  }).catch((cause) => {
    throw new Error(`${what}: ${log.slice(-2_000)}`, { cause });
  });
}
