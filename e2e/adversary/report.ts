/** The report of a run: a table of all attacks and a chart of the longest work, for docs/. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { StoreName } from "../harness/stores.js";
import type { Outcome } from "./scene.js";
import { LIMITS, type Limits, verdictOf } from "./verdict.js";

type Outcomes = ReadonlyMap<StoreName, readonly Outcome[]>;

/** What was run, for the head of the report. */
export interface Circumstances {
  /** Of the build, such as "0.1.0, 1a2b3c4". */
  readonly version: string;
  readonly startedLoad: number;
  readonly limits: Limits;
}

export async function writeReport(
  folder: string,
  outcomes: Outcomes,
  circumstances: Circumstances,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, "adversary.md");
  await writeFile(file, toMarkdown(outcomes, circumstances) + (await rememberedIn(file)));
  await writeFile(join(folder, "adversary.svg"), toChart(outcomes));
}

/** What was written by hand behind the table stays. */
async function rememberedIn(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  const at = text.indexOf(REMEMBERED);
  return at < 0 ? "" : text.slice(at);
}

const REMEMBERED = "\n## The same attacks against an earlier build\n";

function toMarkdown(outcomes: Outcomes, { version, startedLoad, limits }: Circumstances): string {
  const stores = [...outcomes.keys()];
  const names = (outcomes.get(stores[0] ?? "embedded") ?? []).map(({ name }) => name);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), Node.js ${process.version}`;
  const rows = names.map((name) => {
    const cells = stores.map((store) => {
      const outcome = outcomes.get(store)?.find((one) => one.name === name);
      if (outcome === undefined) return "";
      const broken = verdictOf(outcome, limits);
      const { longestMs, longestWorkMs, grownMiB } = outcome;
      const wait = `${longestMs.toFixed(0)} / ${longestWorkMs.toFixed(0)} ms, ${grownMiB} MiB`;
      return broken === "" ? wait : `**${wait}** (${broken})`;
    });
    return `| ${name} | ${cells.join(" | ")} |`;
  });
  return `# What one client can do to the others

Written by \`npm run adversary -- --report=FOLDER\` on ${new Date().toISOString().slice(0, 10)}; version ${version};
${machine}; load of the machine ${startedLoad.toFixed(1)} at the start and ${(loadavg()[0] ?? 0).toFixed(1)} at the end.

A user with the role "edit" in one namespace sends each attack to a server of its own. Beside it another user gets a
small object every 20 ms. The table shows the longest time that the other user waited / how much of a wait the
server's thread worked at most, and how much the server's resident memory grew. At most ${LIMITS.quiet.waitMs} ms and ${LIMITS.quiet.grownMiB} MiB are promised on a quiet
machine with two cores; ${limits === LIMITS.quiet ? "what is over" : `what took more than ${limits.workMs} ms of work, or too much memory,`} is set in bold. Beside other work on the machine the wait says little, and the
thread's work is what counts.

![Work within the longest waits](adversary.svg)

| attack | ${stores.join(" | ")} |
|---|${stores.map(() => "---").join("|")}|
${rows.join("\n")}
`;
}

const [ROW, LEFT, WIDTH] = [16, 380, 900];

function toChart(outcomes: Outcomes): string {
  const [store, list = []] = [...outcomes][0] ?? [];
  const most = Math.max(LIMITS.quiet.workMs * 1.5, ...list.map(({ longestWorkMs: ms }) => ms));
  const x = (ms: number) => LEFT + ((WIDTH - LEFT - 60) * ms) / most;
  const bars = list.map(({ name, longestWorkMs }, at) => {
    const y = 30 + at * ROW;
    return `<text x="${LEFT - 6}" y="${y + 11}" text-anchor="end">${toXml(name)}</text>
<rect x="${LEFT}" y="${y + 2}" width="${(x(longestWorkMs) - LEFT).toFixed(1)}" height="${ROW - 4}"/>
<text x="${(x(longestWorkMs) + 4).toFixed(1)}" y="${y + 11}">${longestWorkMs.toFixed(0)}</text>`;
  });
  const bottom = 30 + list.length * ROW;
  const limit = x(LIMITS.quiet.workMs).toFixed(1);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 10}" font-family="system-ui, sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
<text x="${LEFT}" y="16" font-weight="600">Work of the thread within a wait of another user, in ms at most (${store} store; line: what is promised)</text>
<g fill="#2c6fbb">${bars.join("\n").replaceAll("<text", '<text fill="#222"')}</g>
<line x1="${limit}" x2="${limit}" y1="24" y2="${bottom}" stroke="#c0392b" stroke-dasharray="4 3"/>
</svg>
`;
}

function toXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
