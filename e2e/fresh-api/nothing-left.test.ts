/** N2: a fresh API leaves nothing behind, however the process that started it ends. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  makeTemporaryFolder,
  removeStaleFolders,
} from "../../server/fresh-api/temporary-folder.js";
import { DEADLINE_MS, eventually } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { repositoryRoot } from "../tools/find-tool.js";

const PACKAGE = pathToFileURL(join(repositoryRoot(), "dist", "bundle", "start-keelson.js")).href;

/** A program that starts an API, says where, and then does something. */
function program(temp: string, options: object, then: string): ChildProcess {
  const code = `const { startKeelson } = await import(${JSON.stringify(PACKAGE)});
const api = await startKeelson(${JSON.stringify({ deadlineMs: DEADLINE_MS, ...options })});
process.stdout.write(api.url + "\\n");
${then}`;
  return spawn(process.execPath, ["--input-type=module", "-e", code], {
    env: { ...process.env, TMPDIR: temp, NODE_TEST_CONTEXT: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function urlOf(child: ChildProcess): Promise<string> {
  let complaint = "";
  child.stderr?.on("data", (chunk) => {
    complaint += String(chunk);
  });
  const ended = once(child, "exit").then(() => {
    throw new Error(complaint);
  });
  ended.catch(() => {});
  const said = once(child.stdout as NonNullable<typeof child.stdout>, "data");
  return String(await Promise.race([said, ended])).trim();
}

async function isServed(url: string): Promise<boolean> {
  const { get } = await import("node:https");
  return new Promise((resolve) => {
    get(`${url}/livez`, { rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}

for (const runsIn of ["process", "child"] as const) {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    test(`N2: after ${signal} of who started it in a ${runsIn}, neither server nor folder is left`, async () => {
      await using temp = await makeTempDir("left");
      const child = program(temp.path, { runsIn }, "setInterval(() => {}, 60_000);");
      const url = await urlOf(child);
      const exit = once(child, "exit");
      child.kill(signal);
      const [, by] = await exit;
      assert.equal(by, signal, "it ends as it would have without us");
      await eventually("the server is gone", async () => !(await isServed(url)) || undefined);
      await eventually(
        "its folder is gone",
        async () => (await readdir(temp.path)).length === 0 || undefined,
      );
    });
  }

  test(`N2: after process.exit() and after an error nobody handles, nothing is left of a ${runsIn}`, async () => {
    await using temp = await makeTempDir("left");
    for (const end of ["process.exit(3)", "throw new Error('oh')"]) {
      const child = program(temp.path, { runsIn }, `${end};`);
      const url = await urlOf(child);
      if (child.exitCode === null) await once(child, "exit");
      await eventually("the server is gone", async () => !(await isServed(url)) || undefined);
      await eventually(
        "its folder is gone",
        async () => (await readdir(temp.path)).length === 0 || undefined,
      );
    }
  });

  test(`N2: after SIGKILL the server is gone, and its folder by the next start at the latest (${runsIn})`, async () => {
    await using temp = await makeTempDir("left");
    const child = program(temp.path, { runsIn }, "setInterval(() => {}, 60_000);");
    const url = await urlOf(child);
    const [kept] = await readdir(temp.path);
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
    await eventually("the server is gone", async () => !(await isServed(url)) || undefined);
    if (runsIn === "process") {
      assert.ok(existsSync(join(temp.path, String(kept))));
      await removeStaleFolders(temp.path);
    }
    await eventually(
      "its folder is gone",
      async () => (await readdir(temp.path)).length === 0 || undefined,
    );
  });
}

test("N2: a child that is killed while its parent lives, and a start that is cut off, leave nothing", async () => {
  await using temp = await makeTempDir("left");
  const child = program(temp.path, { runsIn: "child" }, "");
  await new Promise((resolve) => setTimeout(resolve, 250));
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  await eventually(
    "nothing is left",
    async () => (await readdir(temp.path)).length === 0 || undefined,
  );
});

test("N2: folders of processes that live, or run elsewhere, are left alone by others' starts", async () => {
  await using temp = await makeTempDir("stale");
  await using ours = makeTemporaryFolder(temp.path);
  const put = async (name: string, owner: string | undefined) => {
    const path = join(temp.path, name);
    await mkdir(path);
    if (owner !== undefined) await writeFile(join(path, "owner"), owner);
    return path;
  };
  const { readFile } = await import("node:fs/promises");
  const [, , place = ""] = (await readFile(join(ours.path, "owner"), "utf8")).split("\n");
  // Beyond what Linux gives.
  const nobody = 2 ** 30;
  const dead = await put("keelson-api-dead", `${nobody}\n1\n${place}\n`);
  const renumbered = await put("keelson-api-other", `${process.pid}\n1\n${place}\n`);
  const elsewhere = await put("keelson-api-far", `${nobody}\n1\nbox pid:[1] boot\n`);
  const fresh = await put("keelson-api-fresh", undefined);
  const old = await put("keelson-api-old", undefined);
  const filled = await put("keelson-api-filled", undefined);
  await writeFile(join(filled, "data"), "");
  const other = await put("keelson-apix", `${nobody}\n1\n${place}\n`);
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const path of [old, filled]) await utimes(path, longAgo, longAgo);
  await removeStaleFolders(temp.path);
  for (const path of [ours.path, elsewhere, fresh, filled, other])
    assert.ok(existsSync(path), path);
  for (const path of [dead, renumbered, old]) assert.ok(!existsSync(path), path);
});

test("N3: with `logs` the log of a child is on standard error", async () => {
  await using temp = await makeTempDir("logs");
  const options = { runsIn: "child", logs: true };
  const child = program(temp.path, options, "await api.stop();");
  let log = "";
  child.stderr?.on("data", (chunk) => {
    log += String(chunk);
  });
  await urlOf(child);
  await once(child, "close");
  assert.equal(child.exitCode, 0, log);
  assert.match(log, /INFO|info/);
});

test("many APIs in one process add no listener each", async () => {
  await using temp = await makeTempDir("listeners");
  const child = program(
    temp.path,
    {},
    `const others = await Promise.all(Array.from({ length: 11 }, () => startKeelson({ deadlineMs: ${DEADLINE_MS} })));
await Promise.all([api, ...others].map((one) => one.stop()));
process.stdout.write(["exit", "SIGINT", "SIGTERM"].map((name) => process.listenerCount(name)).join() + "\\n");`,
  );
  let said = "";
  child.stdout?.on("data", (chunk) => {
    said += String(chunk);
  });
  let complaint = "";
  child.stderr?.on("data", (chunk) => {
    complaint += String(chunk);
  });
  await once(child, "close");
  assert.doesNotMatch(complaint, /MaxListeners/);
  assert.match(said, /\n0,0,0\n$/);
});
