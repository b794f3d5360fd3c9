/**
 * `npm run adversary`: every attack against a server of its own, with what a bystander had to wait beside it.
 *
 *   npm run adversary                       all attacks, both stores
 *   npm run adversary -- --store=embedded   one store
 *   npm run adversary -- --only=yaml        attacks whose name contains the word
 *   npm run adversary -- --main=FILE        against another build's main.js
 *   npm run adversary -- --profile=FOLDER   with a CPU profile of each server there
 *   npm run adversary -- --report=FOLDER    writes adversary.md and adversary.svg there
 *   npm run adversary -- --beside           beside other work on the machine: only the thread's own work counts
 *   npm run adversary -- --search=SECONDS   instead, searches for bodies that hold the thread longest, on each store
 *   npm run adversary -- --search=60 --seed=7 the same search again, as far as times decide alike
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { COMMAND } from "../harness/command.js";
import { STORE_NAMES, type StoreName } from "../harness/stores.js";
import type { Attacker } from "./attack.js";
import { ATTACKS } from "./attacks.js";
import { writeReport } from "./report.js";
import { type Outcome, Scene } from "./scene.js";
import { kindsOf, searchWorst } from "./search.js";
import { LIMITS, verdictOf } from "./verdict.js";

const { values } = parseArgs({
  options: {
    store: { type: "string" },
    only: { type: "string", default: "" },
    main: { type: "string" },
    profile: { type: "string" },
    report: { type: "string" },
    search: { type: "string" },
    seed: { type: "string" },
    beside: { type: "boolean", default: false },
  },
});

const limits = values.beside ? LIMITS.shared : LIMITS.quiet;
const startedLoad = loadavg()[0] ?? 0;
const chosen = ATTACKS.filter(({ name }) => name.includes(values.only));
const outcomes = new Map<StoreName, Outcome[]>();
for (const store of STORE_NAMES.filter((name) => (values.store ?? name) === name)) {
  await using scene = await Scene.open(store, {
    ...(values.main !== undefined && { main: values.main }),
    ...(values.profile !== undefined && { profileFolder: resolve(values.profile) }),
  });
  if (values.search !== undefined) {
    await search(scene, store, Number(values.search));
    continue;
  }
  const found: Outcome[] = [];
  outcomes.set(store, found);
  for (const attack of chosen) {
    const outcome = await scene.attack(attack);
    found.push(outcome);
    console.log(lineOf(store, outcome));
  }
}
if (values.search === undefined) await conclude();

/** Says how many attacks the server held, and writes the report. */
async function conclude(): Promise<void> {
  const all = [...outcomes.values()].flat();
  const broken = all.filter((outcome) => verdictOf(outcome, limits) !== "");
  console.log(`${all.length - broken.length} of ${all.length} held`);
  if (values.report !== undefined) {
    const version = versionOf(resolve(values.main ?? COMMAND));
    await writeReport(values.report, outcomes, { version, startedLoad, limits });
  }
  process.exitCode = broken.length === 0 ? 0 : 1;
}

/** Shows the worst bodies that were found in so many seconds. */
async function search(scene: Scene, store: StoreName, seconds: number): Promise<void> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000);
  const kinds = await kindsOf(scene.admin);
  console.log(`${store}: ${kinds.length} kinds, --seed=${seed}`);
  const endMs = performance.now() + 1_000 * seconds;
  let tried = 0;
  const found = await searchWorst({
    kinds,
    seed,
    isOver: () => performance.now() > endMs,
    async measure(path, body, name) {
      tried++;
      const run = async (attacker: Attacker) => {
        await attacker.post(`${path}?dryRun=All`, body);
      };
      const outcome = await scene.attack({ name, run });
      if (outcome.hasEnded) console.log(`${store}: the server ended by ${name}`);
      return outcome.hasEnded ? Number.POSITIVE_INFINITY : outcome.longestWorkMs;
    },
  });
  console.log(`${store}: ${tried} bodies, the worst:`);
  for (const { workMs, recipe } of found) {
    console.log(`${workMs.toFixed(0).padStart(6)} ms of work  ${JSON.stringify(recipe)}`);
  }
  if ((found[0]?.workMs ?? 0) > limits.workMs) process.exitCode = 1;
}

function lineOf(store: StoreName, outcome: Outcome): string {
  const { name, longestMs, statuses, grownMiB, keptMiB, refusalBytes, ownLatenessMs } = outcome;
  const verdict = verdictOf(outcome, limits);
  const answers = statuses.map(([status, count]) => `${count}x${status}`).join(" ");
  return [
    `${store.padEnd(8)} ${name.padEnd(60)} waited ${longestMs.toFixed(0).padStart(6)} ms (${outcome.longestWorkMs.toFixed(0)} of work, own ${ownLatenessMs.toFixed(0)})`,
    `+${grownMiB} MiB, kept ${keptMiB}, refusal ${refusalBytes} B, ${answers}`,
    verdict === "" ? "held" : `BROKEN: ${verdict}`,
  ].join("  ");
}

/** Of the build whose main.js it is: dist/<form>/main.js in a checkout. */
function versionOf(main: string): string {
  const root = join(dirname(main), "..", "..");
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const commit = execFileSync("git", ["-C", root, "rev-parse", "--short", "HEAD"], {
    encoding: "utf8",
  });
  return `${version}, ${commit.trim()}`;
}
