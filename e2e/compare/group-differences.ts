/**
 * Differences of answers by their cause: one line each for a kind and what is answered otherwise, so that a rule
 * that is missing is one group, however many requests meet it.
 */
import type { Difference } from "../upstream/compare.js";

export interface Group {
  /** "pods: spec.containers[].name: only there: FieldValueRequired" */
  readonly cause: string;
  /** Each thing that is answered otherwise, with the resource in front. */
  readonly parts: readonly string[];
  readonly differences: Difference[];
}

/** A difference that is meant; a group is known where each of its parts is. */
export interface Known {
  readonly cause: RegExp;
  readonly reason: string;
}

interface Plain {
  readonly status?: number;
  readonly warnings?: string;
  readonly body?: unknown;
}

/** The biggest group first. */
export function groupDifferences(differences: readonly Difference[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const difference of differences) {
    const parts = partsOf(difference);
    const cause = joined(parts);
    const group = groups.get(cause) ?? { cause, parts, differences: [] };
    groups.set(cause, group);
    group.differences.push(difference);
  }
  return [...groups.values()].sort((a, b) => b.differences.length - a.differences.length);
}

/** Whether each thing that is answered otherwise is known. */
export function isKnown(difference: Difference, known: readonly Known[]): boolean {
  return partsOf(difference).every((part) => known.some(({ cause }) => cause.test(part)));
}

const PARTS_SHOWN_MAX = 3;

export function causeOf(difference: Difference): string {
  return joined(partsOf(difference));
}

/** "POST pods: one thing; another thing" */
function joined([first = "", ...others]: readonly string[]): string {
  const prefix = first.slice(0, first.indexOf(": ") + 2);
  const shown = others.slice(0, PARTS_SHOWN_MAX - 1).map((part) => part.slice(prefix.length));
  return [first, ...shown].join("; ");
}

function partsOf({ request, ours, theirs }: Difference): readonly string[] {
  const [a, b] = [ours as Plain, theirs as Plain];
  const found: string[] = [];
  if (a.status !== b.status) found.push(`${a.status} for ${b.status}`);
  const [mine, other] = [causesOf(a.body), causesOf(b.body)];
  for (const [cause, count] of mine) {
    const there = other.get(cause) ?? 0;
    if (there === 0) found.push(`only here: ${cause}`);
    else if (there !== count) found.push(`told ${count} times for ${there}: ${cause}`);
  }
  for (const cause of other.keys()) if (!mine.has(cause)) found.push(`only there: ${cause}`);
  found.push(...shownOtherwise(a.body, b.body));
  if (a.warnings !== b.warnings)
    found.push(`warnings: ${short(a.warnings)} for ${short(b.warnings)}`);
  if (found.length === 0)
    found.push(...differingPaths(withoutCauses(a.body), withoutCauses(b.body)));
  if (found.length === 0) found.push("nothing that is looked at");
  return found.map((part) => `${resourceIn(request)}: ${part}`);
}

/** "POST .../pods/status" of a request. */
function resourceIn(request: string): string {
  const [method = "", path = ""] = request.split(" ");
  const names = path
    .replace(/\?.*/, "")
    .replace(/\/namespaces\/[^/]+(?=\/.)/, "")
    .split("/");
  const at = names[1] === "api" ? 3 : names[1] === "apis" ? 4 : 1;
  const subresource = names[at + 2] === undefined ? "" : `/${names[at + 2]}`;
  return `${method} ${names[at] ?? path}${subresource}`;
}

interface Refusal {
  readonly details?: { readonly causes?: readonly string[] };
}

/** Each cause, and how often it is told. */
function causesOf(body: unknown): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const cause of rawCauses(body).map(causeText)) {
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return counts;
}

function rawCauses(body: unknown): readonly string[] {
  return (body as Refusal | undefined)?.details?.causes ?? [];
}

/** Causes that both tell, and whose values each shows in a form of its own. */
function shownOtherwise(a: unknown, b: unknown): string[] {
  const [mine, other] = [new Set(rawCauses(a)), new Set(rawCauses(b))];
  const theirs = new Set([...other].filter((cause) => !mine.has(cause)).map(causeText));
  const ours = [...mine].filter((cause) => !other.has(cause)).map(causeText);
  return [...new Set(ours)]
    .filter((cause) => theirs.has(cause))
    .map((cause) => `shown otherwise: ${cause}`);
}

function withoutCauses(body: unknown): unknown {
  const details = (body as Refusal | undefined)?.details;
  if (details?.causes === undefined) return body;
  return { ...(body as object), details: { ...details, causes: [] } };
}

/** An object or list that a message shows: each server has forms of its own for these. */
const SHOWN_VALUE = /(?<=^(?:Invalid|Duplicate) value: )(?:null|[[{].*[\]}])(?=: |$)/s;

/** A cause without values and indexes: "spec.containers[].name: FieldValueRequired: Required value". */
export function causeText(text: string): string {
  const { reason = "", field = "", message = "" } = JSON.parse(text) as Record<string, string>;
  // Below the first line is what differs between two objects.
  const line = message.replace(SHOWN_VALUE, "…").replace(/\n.*/s, "");
  const words = line.replaceAll(/"[^"]*"|\d+/g, "…").slice(0, 80);
  return `${anyIndex(field)}: ${reason}: ${words}`;
}

function anyIndex(path: string): string {
  return path.replaceAll(/\[\d+\]/g, "[]");
}

function short(text = ""): string {
  return JSON.stringify(text.slice(0, 100));
}

const PATHS_MAX = 3;

/** Where two bodies differ. */
function differingPaths(a: unknown, b: unknown, path = ""): string[] {
  if (isObject(a) && isObject(b)) {
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...names]
      .flatMap((name) =>
        differingPaths(a[name], b[name], Array.isArray(a) ? `${path}[]` : `${path}.${name}`),
      )
      .slice(0, PATHS_MAX);
  }
  if (JSON.stringify(a) === JSON.stringify(b)) return [];
  if (path === ".message") return [`message: ${short(String(a))} for ${short(String(b))}`];
  return [`${path}: ${shape(a)} for ${shape(b)}`];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function shape(value: unknown): string {
  return value === undefined ? "nothing" : isObject(value) ? "an object" : short(String(value));
}
