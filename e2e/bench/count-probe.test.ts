/** The probe of the gate, in a program whose blocks are known: it counts what calls and allocations do not show. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { makeTempDir } from "../harness/temp-dir.js";
import type { Counted } from "./count-probe.js";

const PROBE = new URL("count-probe.js", import.meta.url).href;
const BODY = "{ sum = (sum + i) & 1023; }";
const RARE = '{ sum = "never".length; }';

/** Loops, and has the probe count between two loops. */
const PROGRAM = `
const { existsSync, readFileSync } = require("node:fs");
const file = process.env.COUNT_PROBE;
const told = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
async function take() {
  const before = told();
  process.kill(process.pid, "SIGUSR2");
  while (told() === before) await new Promise(setImmediate);
}
function loop(times) {
  let sum = 0;
  for (let i = 0; i < times; i++) ${BODY}
  if (sum < 0) ${RARE}
  return sum;
}
(async () => {
  for (const times of [0, 0, 100, 1100]) {
    await take();
    loop(times);
  }
  await take();
})();
`;

test("a loop of which no function is called is counted, each block by its length, and what did not run is not", async () => {
  await using folder = await makeTempDir("count-probe");
  const bundle = join(folder.path, "dist", "bundle");
  await mkdir(bundle, { recursive: true });
  const file = join(bundle, "planted.cjs");
  await writeFile(file, PROGRAM);
  const counts = join(folder.path, "counts");
  const flags = ["--no-opt", "--expose-gc", `--import=${PROBE}`];
  const env = { ...process.env, COUNT_PROBE: counts, COUNT_PROBE_FUNCTIONS: "true" };
  await promisify(execFile)(process.execPath, [...flags, file], { env });
  const lines = (await readFile(counts, "utf8")).trim().split("\n");
  const ofLoop = lines.slice(2).map((line) => {
    const { functions } = JSON.parse(line) as Counted;
    return functions?.["planted.cjs loop"] ?? 0;
  });
  const [none = 0, hundred = 0, more = 0] = ofLoop;
  assert.ok(none > 0 && none < PROGRAM.length);
  assert.equal(hundred - none, 100 * BODY.length);
  assert.equal(more - none, 1100 * BODY.length);
});
