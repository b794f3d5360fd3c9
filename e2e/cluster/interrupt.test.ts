/** N5: `npm run cluster` that is interrupted leaves no folder, and a mistake in its options is one line. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../harness/eventually.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { repositoryRoot } from "../tools/find-tool.js";
import { SCENARIOS } from "./scenarios.js";

const RUN = join(repositoryRoot(), "dist", "e2e", "cluster", "run.js");

function runCluster(temp: string, args: readonly string[]) {
  const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: temp };
  delete env.NODE_TEST_CONTEXT;
  const child = spawn(process.execPath, [RUN, "--replicas=1", "--etcd-members=1", ...args], {
    env,
  });
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      said.text += String(chunk);
    });
  }
  return { child, said };
}

async function isEmpty(folder: string): Promise<true | undefined> {
  return (await readdir(folder)).length === 0 || undefined;
}

test("N5: Ctrl-C while the cluster starts, or in a scenario, leaves no folder", async () => {
  const [scenario] = SCENARIOS;
  for (const until of ["started", "running"]) {
    await using temp = await makeTempDir("interrupted");
    const { child, said } = runCluster(temp.path, [`--scenario=${scenario?.name}`]);
    const ended = once(child, "close");
    await eventually(
      "it has folders",
      async () => (await isEmpty(temp.path)) === undefined || undefined,
    );
    if (until === "running") {
      await eventually("it runs", () => said.text.includes("ready after") || undefined);
    }
    child.kill("SIGINT");
    await ended;
    await eventually(`nothing is left: ${said.text}`, () => isEmpty(temp.path));
  }
});

test("N5: an unknown scenario is one line, and starts nothing", async () => {
  await using temp = await makeTempDir("interrupted");
  const { child, said } = runCluster(temp.path, ["--scenario=nope"]);
  await once(child, "close");
  assert.equal(child.exitCode, 1);
  assert.match(said.text, /^no scenario is called nope: all, .*\n$/);
});
