/**
 * Differences of answers by their cause: one line each for a kind and what is answered otherwise, so that a rule
 * that is missing is one group, however many requests meet it.
 */
import type { Difference } from "../upstream/compare.js";

export interface Group {
  /** "pods: spec.containers[].name: only there: FieldValueRequired" */
  readonly cause: string;
  readonly differences: Difference[];
}

/** A difference that is meant. */
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
    const cause = causeOf(difference);
    const group = groups.get(cause) ?? { cause, differences: [] };
    groups.set(cause, group);
    group.differences.push(difference);
  }
  return [...groups.values()].sort((a, b) => b.differences.length - a.differences.length);
}

export function causeOf({ request, ours, theirs }: Difference): string {
  const [a, b] = [ours as Plain, theirs as Plain];
  const found: string[] = [];
  if (a.status !== b.status) found.push(`${a.status} for ${b.status}`);
  const [mine, other] = [causesOf(a.body), causesOf(b.body)];
  for (const cause of mine) if (!other.has(cause)) found.push(`only here: ${cause}`);
  for (const cause of other) if (!mine.has(cause)) found.push(`only there: ${cause}`);
  if (a.warnings !== b.warnings)
    found.push(`warnings: ${short(a.warnings)} for ${short(b.warnings)}`);
  if (found.length === 0) found.push(...differingPaths(a.body, b.body));
  return `${resourceIn(request)}: ${found.slice(0, 3).join("; ")}`;
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

function causesOf(body: unknown): ReadonlySet<string> {
  const causes = (body as { details?: { causes?: readonly string[] } } | undefined)?.details
    ?.causes;
  return new Set((causes ?? []).map(causeText));
}

function causeText(text: string): string {
  const { reason = "", field = "", message = "" } = JSON.parse(text) as Record<string, string>;
  const words = message.replaceAll(/"[^"]*"|\d+/g, "…").slice(0, 80);
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
