/**
 * People 45: the suite is killed at random moments, by random signals, and nothing is left over: no process, no port, and no
 * folder behind the next start. In the long run alone; `KEELSON_KILL_RUNS` says how many runs, default 200.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, utimes } from "node:fs/promises";
import { get } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { removeStaleFolders } from "../../server/fresh-api/temporary-folder.js";
import { SEED } from "../../storage/base/testing/random.js";
import { seededRandom } from "../consistency/random.js";
import { eventually } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { repositoryRoot } from "../tools/find-tool.js";

const RUNS = Number(process.env.KEELSON_KILL_RUNS ?? (isLong ? 200 : 0));
const SIGNALS = ["SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"] as const;
/** Of a run that nobody kills: longer than any takes. */
const NEVER_MS = 60_000;
const PROGRAM = join(repositoryRoot(), "dist/e2e/operator/suite-program.js");

interface Run {
  readonly runsIn: string;
  readonly signal: NodeJS.Signals;
  readonly afterMs: number;
}

if (RUNS > 0) {
  test(`People 45: ${RUNS} runs of an operator's suite, killed at random, leave nothing over`, async (t) => {
    await using temp = await makeTempDir("kills");
    const random = seededRandom(SEED);
    const started = performance.now();
    await runOnce({ runsIn: "child", signal: "SIGKILL", afterMs: NEVER_MS }, temp.path);
    const wholeMs = Math.round(performance.now() - started);
    let killed = 0;
    for (let number = 0; number < RUNS; number++) {
      const run: Run = {
        runsIn: random.pick(["process", "child"]),
        signal: random.pick(SIGNALS),
        afterMs: random.between(0, wholeMs),
      };
      const { url, wasKilled } = await runOnce(run, temp.path);
      if (wasKilled) killed++;
      const title = `run ${number} in a ${run.runsIn}, ${run.signal} after ${run.afterMs} ms`;
      await eventually(`${title}: no process`, async () => (await processesIn(temp.path)) === 0);
      assert.equal(url !== "" && (await isServed(url)), false, `${title}: no port`);
      // As the next start does, a minute later.
      for (const name of await readdir(temp.path)) await utimes(join(temp.path, name), 0, 0);
      await removeStaleFolders(temp.path);
      assert.deepEqual(await readdir(temp.path), [], `${title}: no folder`);
    }
    t.diagnostic(`seed ${SEED}: ${RUNS} runs of ${wholeMs} ms, ${killed} of them killed`);
  });
}

async function runOnce({ runsIn, signal, afterMs }: Run, temp: string) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [PROGRAM, runsIn], {
    env: { ...env, TMPDIR: temp },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += String(chunk);
  });
  const exit = once(child, "exit");
  const timer = setTimeout(() => child.kill(signal), afterMs);
  const [code, by] = await exit;
  clearTimeout(timer);
  // One that was not killed has passed.
  if (by === null) assert.equal(code, 0, output);
  const url = /^https:.*$/m.exec(output)?.[0] ?? "";
  return { url, wasKilled: by !== null };
}

/** How many processes have this folder for temporary files. */
async function processesIn(temp: string): Promise<number> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    ids.map((id) => readFile(`/proc/${id}/environ`, "latin1").catch(() => "")),
  );
  return environments.filter((text) => text.split("\0").includes(`TMPDIR=${temp}`)).length;
}

function isServed(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    get(`${url}/livez`, { rejectUnauthorized: false }, (response) => {
      response.resume();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}
