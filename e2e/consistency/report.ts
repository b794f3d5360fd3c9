/** The report of a run, for people. */
import type { FireReport } from "./fire.js";
import type { Violation } from "./history.js";

/** Violations shown in full; the rest is counted by name. */
const SHOWN_MAX = 10;
const EVIDENCE_LINES_MAX = 40;

export function hasFailed(report: FireReport): boolean {
  return report.violations.length > 0 || report.surprises.length > 0;
}

export function formatReport(report: FireReport): string {
  const { client, watcher, violations, surprises } = report;
  const seconds = (report.workMs / 1000).toFixed(0);
  const lines = [
    `seed ${report.seed}: ${report.rounds} rounds, ${seconds} s of work, checked in ${(report.checkMs / 1000).toFixed(1)} s`,
    `operations   ${countsText(client.operations)}`,
    `             ${client.unknown} writes with unknown outcome, ${client.expiredLists} lists were told 410`,
    `watches      ${watcher.sessions} streams, ${watcher.resumes} resumed (${watcher.moves} on another replica), ${watcher.events} events, ${watcher.bookmarks} bookmarks`,
    `             ${watcher.expired} were told 410, ${watcher.relists} had to list again`,
    ...(report.definitions > 0 ? [`definitions  ${report.definitions} of the kind`] : []),
    `faults       ${countsText(report.faults) || "none"}`,
    `history      ${report.events} events; ${report.revisionsKnown} of ${report.revisionsAll} revisions known without a gap`,
    ...(report.undecided.length > 0 ? [`undecided    ${report.undecided.join(", ")}`] : []),
    ...surprises.map((surprise) => `surprise     ${surprise}`),
    violations.length === 0
      ? "violations   none"
      : `violations   ${countsText(countByGuarantee(violations))}`,
  ];
  for (const violation of violations.slice(0, SHOWN_MAX)) lines.push("", ...toLines(violation));
  const more = violations.length - SHOWN_MAX;
  if (more > 0) lines.push("", `... and ${more} more`);
  return lines.join("\n");
}

function toLines({ guarantee, message, evidence }: Violation): string[] {
  const lines = evidence.flatMap((text) => text.split("\n"));
  const shown = lines.slice(0, EVIDENCE_LINES_MAX).map((line) => `    ${line}`);
  return [`${guarantee}: ${message}`, ...shown];
}

function countByGuarantee(violations: readonly Violation[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { guarantee } of violations) counts.set(guarantee, (counts.get(guarantee) ?? 0) + 1);
  return counts;
}

function countsText(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
