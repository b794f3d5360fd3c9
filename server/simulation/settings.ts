/**
 * Settings of the simulation: how many nodes there are, how long things take, and what fails. They come from a small
 * file, and for single pods from their annotations, which win. Nothing is left to chance: what lies in a range follows
 * from the seed and from names.
 */
import { isRecord } from "../../storage/base/is-record.js";
import { oneLine } from "../../storage/base/one-line.js";
import type { JsonValue, ObjectMeta } from "../api/meta.js";
import { parseDuration } from "../request/duration.js";
import { fractionOf } from "./chance.js";

/** Prefix of annotations and labels. */
export const SIMULATION_DOMAIN = "simulation.keelson.dev";

/** Written by the loops that make pods anew: how many failed before. */
export const FAILED_BEFORE = `${SIMULATION_DOMAIN}/failed-before`;

/** What can go wrong in a pod. */
const FAILURES = ["image-pull", "crash", "unready"] as const;
export type FailureKind = (typeof FAILURES)[number];

/** From both ends, in milliseconds. */
export interface Range {
  readonly minMs: number;
  readonly maxMs: number;
}

/** What a rule or annotations say of pods. */
export interface PodSettings {
  /** From the moment that it is on a node until its containers run. */
  readonly startAfter?: Range;
  /** From then until it is ready. */
  readonly readyAfter?: Range;
  /** How long its containers run; default: for ever, or 0 where they are to end. */
  readonly runsFor?: Range;
  /** From the deletion until it is gone. */
  readonly stopAfter?: Range;
  readonly fails?: FailureKind;
  /** How often; default: always. */
  readonly times?: number;
  readonly exitCode?: number;
  /** The line of its log. */
  readonly log?: string;
  /** What is wrong with its annotations: it does not start, as a test that asked for something else would pass. */
  readonly mistake?: string;
}

export interface SimulationRule extends PodSettings {
  /** Which pods; what is absent matches all. In names `*` stands for anything. */
  readonly namespace?: string;
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface SimulationSettings {
  readonly nodes: number;
  readonly seed: number;
  readonly rules: readonly SimulationRule[];
}

const NODES = 1;
const NODES_MAX = 1_000;
const RULES_MAX = 1_000;
/** Longer names are refused by the API. */
const NAME_CHARS_MAX = 253;

const DURATIONS = ["startAfter", "readyAfter", "runsFor", "stopAfter"] as const;

/** Of a file's content. @throws {RangeError} with one line that names the member */
export function parseSimulation(value: JsonValue | undefined): SimulationSettings {
  if (value === undefined || value === null) return { nodes: NODES, seed: 0, rules: [] };
  if (!isRecord(value)) throw new RangeError("an object is expected");
  refuseOthers(value, ["nodes", "seed", "rules"], "");
  const { nodes = NODES, seed = 0, rules = [] } = value;
  if (!Array.isArray(rules) || rules.length > RULES_MAX) {
    throw new RangeError(`rules: a list of at most ${RULES_MAX} is expected`);
  }
  return {
    nodes: wholeNumber("nodes", nodes, NODES_MAX),
    seed: wholeNumber("seed", seed, Number.MAX_SAFE_INTEGER),
    rules: rules.map((rule, i) => parseRule(rule, `rules[${i}]`)),
  };
}

function parseRule(rule: unknown, place: string): SimulationRule {
  if (!isRecord(rule)) throw new RangeError(`${place}: an object is expected`);
  const { namespace, name, labels, ...pods } = rule;
  const text = (member: string, value: unknown) => {
    if (typeof value === "string" && value.length <= NAME_CHARS_MAX) return value;
    throw new RangeError(`${place}.${member}: a short text is expected`);
  };
  const entries = Object.entries(labels === undefined ? {} : recordOf(labels, `${place}.labels`));
  return {
    ...(namespace !== undefined && { namespace: text("namespace", namespace) }),
    ...(name !== undefined && { name: text("name", name) }),
    labels: Object.fromEntries(entries.map(([key, label]) => [key, text(`labels.${key}`, label)])),
    ...parsePods(pods, `${place}.`),
  };
}

function recordOf(value: unknown, place: string): Record<string, unknown> {
  if (isRecord(value)) return value;
  throw new RangeError(`${place}: an object is expected`);
}

/** @throws {RangeError} */
function parsePods(pods: Readonly<Record<string, unknown>>, place: string): PodSettings {
  refuseOthers(pods, [...DURATIONS, "fails", "times", "exitCode", "log"], place);
  const { fails, times, exitCode, log } = pods;
  if (fails !== undefined && !FAILURES.some((known) => known === fails)) {
    throw new RangeError(`${place}fails: one of ${FAILURES.join(", ")} is expected`);
  }
  if (log !== undefined && typeof log !== "string") {
    throw new RangeError(`${place}log: a text is expected`);
  }
  const ranges = DURATIONS.filter((member) => pods[member] !== undefined);
  return {
    ...Object.fromEntries(
      ranges.map((member) => [member, parseRange(pods[member], place + member)]),
    ),
    ...(fails !== undefined && { fails: fails as FailureKind }),
    ...(times !== undefined && { times: wholeNumber(`${place}times`, times, 1_000_000) }),
    ...(exitCode !== undefined && { exitCode: wholeNumber(`${place}exitCode`, exitCode, 255) }),
    ...(log !== undefined && { log }),
  };
}

/** "2s", or "200ms..2s". @throws {RangeError} */
function parseRange(value: unknown, place: string): Range {
  const [first = "", last = first, ...more] = typeof value === "string" ? value.split("..") : [];
  const [minMs, maxMs] = [parseDuration(first), parseDuration(last)];
  if (more.length > 0 || minMs === undefined || maxMs === undefined || minMs < 0 || maxMs < minMs) {
    throw new RangeError(
      `${place}: a duration such as 2s, or a range such as 200ms..2s, is expected`,
    );
  }
  return { minMs, maxMs };
}

function wholeNumber(place: string, value: unknown, max: number): number {
  const number = typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0 && number <= max) {
    return number;
  }
  throw new RangeError(`${place}: a whole number from 0 to ${max} is expected`);
}

function refuseOthers(value: object, known: readonly string[], place: string): void {
  const other = Object.keys(value).find((key) => !known.includes(key));
  if (other === undefined) return;
  throw new RangeError(`${place}${other}: unknown; known are ${known.join(", ")}`);
}

/** What is said of one pod: by its annotations, or else by the first rule that matches it. */
export function settingsOf({ rules }: SimulationSettings, pod: ObjectMeta): PodSettings {
  const rule = rules.find((one) => matches(one, pod)) ?? {};
  return { ...rule, ...fromAnnotations(pod.annotations ?? {}) };
}

function matches({ namespace, name, labels = {} }: SimulationRule, pod: ObjectMeta): boolean {
  if (namespace !== undefined && !matchesText(namespace, pod.namespace ?? "")) return false;
  if (name !== undefined && !matchesText(name, pod.name ?? "")) return false;
  return Object.entries(labels).every(([key, value]) => pod.labels?.[key] === value);
}

function matchesText(pattern: string, text: string): boolean {
  const [first = "", ...parts] = pattern.split("*");
  const last = parts.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** One that makes no sense is told of in the pod's status, as the pod has been accepted. */
function fromAnnotations(annotations: Readonly<Record<string, string>>): PodSettings {
  const prefix = `${SIMULATION_DOMAIN}/`;
  const found: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(prefix) || key === FAILED_BEFORE) continue;
    const member = key
      .slice(prefix.length)
      .replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
    try {
      Object.assign(found, parsePods({ [member]: value }, ""));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      found.mistake ??= `annotation ${key}: ${reasonOf(error)}`;
    }
  }
  return found;
}

/** Without the member's name, and with those of annotations for others. */
function reasonOf(error: RangeError): string {
  const text = oneLine(error).replace(/^\w+: /, "");
  return text.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Where in a range a pod lies. */
export function durationIn(
  range: Range | undefined,
  ...names: readonly (string | number)[]
): number {
  if (range === undefined) return 0;
  return Math.round(range.minMs + (range.maxMs - range.minMs) * fractionOf(...names));
}
