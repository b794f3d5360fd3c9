/**
 * Compares this server with any other that serves the same release:
 *
 *   npm run compare -- --peer-kubeconfig=FILE [--seed=7] [--share=1] [--only=reads] [--out=FILE]
 *
 * Both get one object of each kind, in the namespace "verbs" and beside namespaces; all other questions are dry runs
 * and reads. Use a peer that may have these. Ends with status 1 where a difference is unknown.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { startServer } from "../harness/server-process.js";
import { ask, countOf, furnish } from "./ask.js";
import type { Group } from "./group-differences.js";
import { KNOWN_DIFFERENCES } from "./known-differences.js";
import { openPeerClient } from "./peer-client.js";
import { campaignsOf } from "./questions.js";

const GROUPS_SHOWN_MAX = 20;

const { values } = parseArgs({
  options: {
    "peer-kubeconfig": { type: "string" },
    seed: { type: "string", default: "1" },
    share: { type: "string", default: "0.2" },
    only: { type: "string", default: "" },
    out: { type: "string" },
  },
});

async function main(file: string): Promise<void> {
  await using server = await startServer();
  const theirs = await openPeerClient(file);
  const pair = { ours: server.client, theirs };
  const unknown: Group[] = [];
  try {
    await furnish(pair);
    const campaigns = campaignsOf(Number(values.seed), Number(values.share));
    for (const campaign of campaigns.filter(({ name }) => name.includes(values.only))) {
      const outcome = await ask(pair, campaign, KNOWN_DIFFERENCES);
      const [known, others] = [countOf(outcome.known), countOf(outcome.unknown)];
      const same = outcome.asked - known - others;
      process.stdout.write(
        `${campaign.name}: ${outcome.asked} asked, ${same} same, ${known} known, ${others} unknown\n`,
      );
      unknown.push(...outcome.unknown);
    }
  } finally {
    theirs.close();
  }
  for (const { cause, differences } of unknown.slice(0, GROUPS_SHOWN_MAX)) {
    process.stdout.write(`${String(differences.length).padStart(5)} ${cause}\n`);
  }
  if (values.out !== undefined)
    await writeFile(values.out, `${JSON.stringify(unknown, null, 1)}\n`);
  if (unknown.length > 0) process.exitCode = 1;
}

if (values["peer-kubeconfig"] === undefined) {
  process.stderr.write("name the other server: --peer-kubeconfig=FILE\n");
  process.exitCode = 2;
} else await main(values["peer-kubeconfig"]);
