/** Explanations as a table for people: a line for each write, and one for each rule below it. */
import type { RuleFinding } from "../admission/admission.js";

/** The server's answer. */
export interface Explanation {
  readonly rules: readonly RuleFinding[];
  readonly warnings: readonly string[];
  /** The object that would be stored; absent where the write would be refused. */
  readonly object?: object;
  /** The refusal. */
  readonly status?: { readonly code?: number; readonly message?: string } | undefined;
}

/** One write, and what would become of it. */
export interface Explained extends Explanation {
  readonly operation: string;
  readonly resource: string;
  /** "" for cluster scope. */
  readonly namespace: string;
  readonly name: string;
  /** In whose name, where not in one's own. */
  readonly user?: string;
}

const COLUMNS = ["PLUGIN", "CONFIGURATION", "RULE", "OUTCOME", "TIME", "WHY"] as const;
const GAP = "   ";

export function formatExplanations(all: readonly Explained[]): string {
  return all.map(formatOne).join("\n");
}

function formatOne(explained: Explained): string {
  const { operation, resource, namespace, name, user, rules, warnings, status } = explained;
  const place = namespace === "" ? name : `${namespace}/${name}`;
  const who = user === undefined ? "" : ` as ${user}`;
  const outcome =
    status === undefined
      ? "would be taken"
      : `would be refused (${status.code ?? 0}): ${flat(status.message ?? "")}`;
  const lines = [`${operation} ${resource} ${place}${who}: ${outcome}`];
  for (const warning of warnings) lines.push(`Warning: ${flat(warning)}`);
  if (rules.length === 0) lines.push("No webhook and no policy was considered.");
  else lines.push("", ...table(rules.map(cells)));
  return `${lines.join("\n")}\n`;
}

function cells(finding: RuleFinding): readonly string[] {
  const { plugin, configuration, rule, outcome, why, milliseconds } = finding;
  const time = outcome === "skipped" && milliseconds === 0 ? "-" : `${milliseconds.toFixed(2)}ms`;
  return [plugin, configuration, rule || "-", outcome, time, flat(why) || "-"];
}

function table(rows: readonly (readonly string[])[]): string[] {
  const all = [COLUMNS as readonly string[], ...rows];
  const widths = COLUMNS.map((_, column) =>
    Math.max(...all.map((row) => row[column]?.length ?? 0)),
  );
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Messages of expressions have lines of their own. */
function flat(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
