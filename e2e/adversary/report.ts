/** The report of a run: a table of all attacks and a chart of the longest waits, for docs/. */
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import type { StoreName } from "../harness/stores.js";
import type { Outcome } from "./scene.js";
import { LIMITS, verdictOf } from "./verdict.js";

type Outcomes = ReadonlyMap<StoreName, readonly Outcome[]>;

export async function writeReport(folder: string, outcomes: Outcomes): Promise<void> {
  await writeFile(join(folder, "adversary.md"), toMarkdown(outcomes));
  await writeFile(join(folder, "adversary.svg"), toChart(outcomes));
}

function toMarkdown(outcomes: Outcomes): string {
  const stores = [...outcomes.keys()];
  const names = (outcomes.get(stores[0] ?? "embedded") ?? []).map(({ name }) => name);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node.js ${process.version}`;
  const rows = names.map((name) => {
    const cells = stores.map((store) => {
      const outcome = outcomes.get(store)?.find((one) => one.name === name);
      if (outcome === undefined) return "";
      const broken = verdictOf(outcome, LIMITS.quiet);
      const wait = `${outcome.longestMs.toFixed(0)} ms, ${outcome.grownMiB} MiB`;
      return broken === "" ? wait : `**${wait}** (${broken})`;
    });
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  return `# What one client can do to the others

Written by \`npm run adversary -- --report=docs\` on ${new Date().toISOString().slice(0, 10)}, ${machine}.

A user with the role "edit" in one namespace sends each attack to a server of its own. Beside it another user gets a
small object every 20 ms. The table shows the longest time that the other user waited, and how much the server's
resident memory grew. At most ${LIMITS.quiet.waitMs} ms and ${LIMITS.quiet.grownMiB} MiB are promised on a quiet
machine with two cores; what is over is set in bold.

![Longest waits](adversary.svg)

| attack | ${stores.join(" | ")} |
|---|${stores.map(() => "---").join("|")}|
${rows.join("\n")}
`;
}

const [ROW, LEFT, WIDTH] = [16, 380, 900];

function toChart(outcomes: Outcomes): string {
  const [store, list = []] = [...outcomes][0] ?? [];
  const most = Math.max(LIMITS.quiet.waitMs * 1.5, ...list.map(({ longestMs }) => longestMs));
  const x = (ms: number) => LEFT + ((WIDTH - LEFT - 60) * ms) / most;
  const bars = list.map(({ name, longestMs }, at) => {
    const y = 30 + at * ROW;
    return `<text x="${LEFT - 6}" y="${y + 11}" text-anchor="end">${toXml(name)}</text>
<rect x="${LEFT}" y="${y + 2}" width="${(x(longestMs) - LEFT).toFixed(1)}" height="${ROW - 4}"/>
<text x="${(x(longestMs) + 4).toFixed(1)}" y="${y + 11}">${longestMs.toFixed(0)}</text>`;
  });
  const bottom = 30 + list.length * ROW;
  const limit = x(LIMITS.quiet.waitMs).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 10}" font-family="system-ui, sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LEFT}" y="16" font-weight="600">Longest wait of another user, in ms (${store} store; line: what is promised)</text>
<g fill="#2c6fbb">${bars.join("\n").replaceAll("<text", '<text fill="#222"')}</g>
<line x1="${limit}" x2="${limit}" y1="24" y2="${bottom}" stroke="#c0392b" stroke-dasharray="4 3"/>
</svg>
`;
}

function toXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
