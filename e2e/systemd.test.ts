/**
 * The units of deploy/systemd under a real systemd: its install script puts the package and them where it says, etcd is beside
 * them, and both programs start as their users, with what the units forbid, come up again after SIGKILL and when they hang, and end in good order.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { eventually } from "./harness/eventually.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { repositoryRoot, requireTool } from "./tools/find-tool.js";
import { missingSystemd, Systemd, writeInside } from "./tools/systemd.js";

const ROOT = repositoryRoot();
const run = promisify(execFile);
const READY_MS = 60_000;
const ETCD = "http://127.0.0.1:2379";
const UNITS = ["keelson", "keelson-controllers"];
/** More than a start takes the thread at once. */
const WATCHDOG_SECONDS = 10;
/** In npm's place, as there is no registry inside: unpacks the package, and links its command. */
const NPM = `#!/bin/sh
set -eu
while [ $# -gt 0 ]; do case $1 in --prefix) prefix=$2; shift ;; *.tgz) package=$1 ;; esac; shift; done
to=$prefix/lib/node_modules/keelson
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
  await install(systemd);
  const etcd = ["--unit=etcd", "--service-type=notify", "/usr/local/bin/etcd"];
  await systemd.run("systemd-run", ...etcd, "--data-dir=/tmp/etcd");
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

/** What a person does: the package of `npm pack`, and the script. */
async function install(systemd: Systemd): Promise<void> {
  await using folder = await makeTempDir("package");
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder.path];
  const { stdout } = await run("npm", pack, { cwd: ROOT });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const trial = join(systemd.root, "root", "trial");
  await mkdir(trial, { recursive: true });
  await copyFile(join(folder.path, filename), join(trial, "keelson.tgz"));
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
  await systemd.run("sh", "/root/trial/systemd/install.sh", "/root/trial/keelson.tgz");
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
  await eventually(
    what,
    async () => {
      log = await systemd.run("journalctl", "--unit", unit, "--output=cat", "--no-pager");
      return log.split("\n").filter((line) => line.includes(` ${word}`)).length >= times;
    },
    READY_MS,
  ).catch((cause) => {
    throw new Error(`${what}: ${log.slice(-2_000)}`, { cause });
  });
}
