/**
 * Compares this server with kube-apiserver for custom resources, in answers to the same random
 * requests: `npm run test:upstream`, or `-- --seed=7 --definitions=5000 --objects=20000` for more. A
 * command of its own, as it fetches and builds Go programs for ten minutes the first time.
 *
 *   --program=FILE   a peer that is built already
 *   --peer-kubeconfig=FILE   a whole kube-apiserver as the peer, where definitions may be made and deleted
 *   --out=FILE       writes what differs there, a line each
 *
 * Ends with status 1 where the two differ in what they take, keep or show, and the difference is not known with its
 * reason (e2e/compare/known-differences.ts); wherever the peer fails (500) there is nothing to compare with.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { isKnown } from "../compare/group-differences.js";
import { KNOWN_DIFFERENCES } from "../compare/known-differences.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { repositoryRoot } from "../tools/find-tool.js";
import { judgeDefinitions, judgeObjects, judgeRefused, type Tally } from "./campaigns.js";
import { openPeers, openPeersOf } from "./peers.js";
import { playPublished } from "./published.js";
import { playPublishedKinds } from "./published-kinds.js";
import { playScenarios } from "./scenarios.js";

const SHOWN_MAX = 10;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    definitions: { type: "string", default: "1000" },
    objects: { type: "string", default: "3000" },
    program: { type: "string" },
    "peer-kubeconfig": { type: "string" },
    out: { type: "string" },
  },
});

async function run(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`${program} ended with status ${code}`);
}

async function build(target: string): Promise<string> {
  await run("sh", [join(repositoryRoot(), "e2e/install-tools.sh"), "apiextensions"]);
  process.stdout.write("building\n");
  const source = join(repositoryRoot(), "e2e/upstream/main.go");
  await run(join(repositoryRoot(), ".tools/bin/apiextensions"), ["build", "-o", target, source]);
  return target;
}

async function main(): Promise<void> {
  await using folder = await makeTempDir("upstream");
  const { program, "peer-kubeconfig": kubeconfig } = values;
  await using peers = await (kubeconfig === undefined
    ? openPeers(program ?? (await build(join(folder.path, "upstream"))))
    : openPeersOf(kubeconfig));
  const seed = Number(values.seed);
  process.stdout.write(`seed ${seed}\n`);
  const lines: string[] = [];
  const tell = (what: string, { asked, accepted, differences }: Tally) => {
    const unknown = differences.filter((difference) => !isKnown(difference, KNOWN_DIFFERENCES));
    const known = differences.length - unknown.length;
    const counts = `${asked} asked, ${accepted} accepted, ${known} known, ${unknown.length} answered otherwise`;
    process.stdout.write(`${what}: ${counts}\n`);
    lines.push(...unknown.map((difference) => JSON.stringify(difference)));
  };
  const played = await playScenarios(peers);
  tell("scenarios", { ...played, accepted: played.asked - played.differences.length });
  tell("published definitions and objects", await playPublished(peers, folder.path));
  tell("kinds of other projects", await playPublishedKinds(peers));
  tell("definitions with a mistake each", await judgeRefused(peers));
  tell("definitions", await judgeDefinitions(peers, seed, Number(values.definitions)));
  tell("objects", await judgeObjects(peers, seed, Number(values.objects)));
  for (const line of lines.slice(0, SHOWN_MAX)) process.stdout.write(`${line}\n`);
  if (values.out !== undefined) await writeFile(values.out, `${lines.join("\n")}\n`);
  if (lines.length > 0) process.exitCode = 1;
}

await main();
