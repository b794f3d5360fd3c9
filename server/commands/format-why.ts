/** What `keelson why` and `keelson blame` print. */
import type {
  Blame,
  ExplainedStep,
  Explanation,
  Link,
  Loops,
  RecordedClient,
  RecordedWrite,
  ReplicaAsked,
} from "../recorder/record-types.js";
import { parseJson } from "../schema/parse-json.js";
import { printableLine } from "./printable.js";

/** Of each write; `-o json` has all. */
const CANDIDATES_SHOWN = 2;
const PATHS_SHOWN = 4;

const ENDS: Readonly<Record<Explanation["end"], string>> = {
  outer: "Nothing that is recorded led to it: a person, or something outside.",
  forgotten: "What it was made upon is not kept any more.",
  limit: "The chain is longer than is shown.",
};

export function formatExplanation(explanation: Explanation): string {
  const { steps, end, hidden, replicas } = explanation;
  const clients = new Map(explanation.clients.map((client) => [client.id, client]));
  const writes = new Map(explanation.writes.map((write) => [write.id, write]));
  const lines = steps.flatMap((step, at) => stepLines(step, at, writes, clients));
  const last = [`  ${ENDS[end]}`, ...notesOn(hidden, replicas)];
  const short = steps.length < SHORT_STEPS_MIN ? [] : inShort(steps, writes, clients);
  return textOf([...lines, ...last, ...short, ""]);
}

/** A chain of one needs no summary. */
const SHORT_STEPS_MIN = 2;

/** The chain with a line for each write, which is what most people look for; it stands where a terminal stays. */
function inShort(
  steps: readonly ExplainedStep[],
  writes: ReadonlyMap<string, RecordedWrite>,
  clients: ReadonlyMap<string, RecordedClient>,
): string[] {
  const rows = steps.flatMap(({ write: id }, at) => {
    const write = writes.get(id);
    if (write === undefined) return [];
    const { verb, resource, subresource, revision } = write;
    const type = subresource === "" ? resource : `${resource}/${subresource}`;
    const before = steps[at - 1];
    const link = [...(before?.exact ?? []), ...(before?.candidates ?? [])].find(
      ({ to }) => to === id,
    );
    const [reason = ""] = link?.reasons ?? [];
    const why = link === undefined ? "" : `${link.certainty}: ${reason}`;
    return [[revision, `${verb} ${type} ${placeOf(write)}`, nameOf(write, clients), why]];
  });
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join("   ");
  return [
    "",
    "In short, each because of the next:",
    ...rows.map((row) => `  ${line(row)}`.trimEnd()),
  ];
}

function stepLines(
  { write: id, exact, candidates, followed }: ExplainedStep,
  at: number,
  writes: ReadonlyMap<string, RecordedWrite>,
  clients: ReadonlyMap<string, RecordedClient>,
): string[] {
  const write = writes.get(id);
  if (write === undefined) return [];
  const head = at === 0 ? describe(write) : `because of ${describe(write)}`;
  const shown = candidates.filter(
    ({ to }, place) => place < CANDIDATES_SHOWN || (followed !== "" && to === followed),
  );
  const more = candidates.length - shown.length;
  const line = (link: Link) => {
    const to = writes.get(link.to);
    const mark = link.to === followed && followed !== "" ? "->" : "  ";
    const what =
      to === undefined ? `revision ${link.revision || "that is not kept"}` : describe(to);
    const who = to === undefined ? "" : ` by ${nameOf(to, clients)}`;
    return { mark, text: `${what}${who}: ${link.reasons.join(", ")}` };
  };
  return [
    head,
    `  ${write.time}  by ${nameOf(write, clients)}`,
    ...write.causes.map(({ by, name, paths = [] }) => {
      const fields = paths.length === 0 ? "" : `: ${paths.join(", ")}`;
      return `  with a hand in it: ${by}${name === "" ? "" : ` ${name}`}${fields}`;
    }),
    ...exact.map((link) => {
      const { mark, text } = line(link);
      return `  ${mark} exact (${link.by})  ${text}`;
    }),
    ...shown.map((link) => {
      const { mark, text } = line(link);
      return `  ${mark} ${String(link.rank).padStart(2)}. candidate  ${text}`;
    }),
    ...(more > 0 ? [`         and ${more} more (-o json has them)`] : []),
    "",
  ];
}

function describe(write: RecordedWrite): string {
  const { verb, resource, subresource, revision, outcome, changedPaths, morePaths } = write;
  const object = `${resource}${subresource === "" ? "" : `/${subresource}`} ${placeOf(write)}`;
  const when = revision === "" ? outcome : `revision ${revision}, ${outcome}`;
  const shown = changedPaths.slice(0, PATHS_SHOWN).join(", ");
  const isCut = morePaths || changedPaths.length > PATHS_SHOWN;
  const fields = shown === "" ? "" : ` ${shown}${isCut ? " and more" : ""}`;
  return `${verb} ${object} (${when}${fields})`;
}

function placeOf({ namespace, name }: Pick<RecordedWrite, "namespace" | "name">): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

function nameOf(write: RecordedWrite, clients: ReadonlyMap<string, RecordedClient>): string {
  const { user = "?", agent = "", address = "" } = clients.get(write.client) ?? {};
  const manager = write.fieldManager === "" ? "" : `${write.fieldManager}, `;
  const program = agent.split(" (")[0] || "a client";
  return `${manager}${program} (${user}${address === "" ? "" : `, ${address}`})`;
}

function notesOn(hidden: number, replicas: readonly ReplicaAsked[]): string[] {
  const silent = replicas.filter(({ isAsked }) => !isAsked);
  return [
    ...(hidden === 0 ? [] : [`  ${hidden} records are of objects that you may not read.`]),
    ...silent.map(
      ({ address, problem }) => `  The replica at ${address} did not answer: ${problem}.`,
    ),
  ];
}

export function formatLoops({ loops, hidden, replicas }: Loops): string {
  const lines = loops.map(
    ({ type, message, perSecond }) => `${type}: ${message} (${perSecond} a second)`,
  );
  if (lines.length === 0) lines.push("no hot loops");
  return textOf([...lines, ...notesOn(hidden, replicas), ""]);
}

export function formatBlame({ object, fields, replicas }: Blame): string {
  const rows = fields.map(({ path, manager, user, time, revision, how }) => {
    const writer = how === "server" ? "(the server)" : manager || user || "-";
    return [revision || "-", ageOf(time), writer, `${path}: ${shortened(valueAt(object, path))}`];
  });
  const all = [["REVISION", "WHEN", "WRITER", "FIELD"], ...rows];
  const widths = [0, 1, 2].map((at) => Math.max(...all.map((row) => row[at]?.length ?? 0)));
  const lines = all.map((row) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("   ")
      .trimEnd(),
  );
  return textOf([...lines, ...notesOn(0, replicas), ""]);
}

function textOf(lines: readonly string[]): string {
  return lines.map(printableLine).join("\n");
}

const VALUE_CHARS_MAX = 80;

function shortened(value: unknown): string {
  const text =
    JSON.stringify(value, (_, member) => (typeof member === "bigint" ? String(member) : member)) ??
    "";
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}...` : text;
}

/** "2026-01-02T03:04:05Z" is shown as it is: ages say nothing in a log. */
function ageOf(time: string): string {
  return time === "" ? "-" : time.replace(/\.\d+Z$/, "Z");
}

const STEP = /\.?([\w-]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

function valueAt(object: unknown, path: string): unknown {
  let value = object;
  STEP.lastIndex = 0;
  while (STEP.lastIndex < path.length) {
    const [found, word, index, quoted] = STEP.exec(path) ?? [];
    if (found === undefined || found === "") return undefined;
    const step = word ?? index ?? (parseJson(quoted ?? '""') as string);
    value = (value as Record<string, unknown> | null | undefined)?.[step];
  }
  return value;
}
