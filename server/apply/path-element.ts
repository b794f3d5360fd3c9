/**
 * Path elements: the steps of a field's path in the form of FieldsV1, `f:<name>`, `k:<keys of a list
 * item>`, `v:<value of a set item>`, `i:<index>` (S1-SSA-02). An element's text is canonical, so
 * equal texts mean equal elements; this module makes, checks and sorts them.
 */
import { compareTexts, sortTexts } from "../../storage/base/compare-texts.js";
import { sortInSteps } from "../../storage/base/sort-in-steps.js";
import { finishNow, STRETCH, type Steps } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { quoteString, stringifyJson } from "../schema/json-text.js";
import { parseJson } from "../schema/parse-json.js";

/** Marks the field itself in a set that also has fields below it. */
export const SELF = ".";

export function fieldElement(name: string): string {
  return `f:${name}`;
}

export function valueElement(value: JsonValue): string {
  return `v:${stringifyJson(value)}`;
}

/** @param keys sorted names with their values */
export function keyElement(keys: readonly (readonly [string, JsonValue])[]): string {
  const members = keys.map(([name, value]) => `${quoteString(name)}:${stringifyJson(value)}`);
  return `k:{${members.join(",")}}`;
}

const PLAIN_KEY = /^k:\{"\w+":"[^"\\<>&\u2028\u2029]*"\}$/;

/**
 * The canonical text of a client's element.
 * @returns undefined for unknown kinds of elements, which are dropped
 * @throws {SyntaxError}
 */
export function canonicalElement(text: string): string | undefined {
  if (text[1] !== ":") throw new SyntaxError(`not a path element: ${text}`);
  switch (text[0]) {
    case "f":
      return text;
    case "k": {
      if (PLAIN_KEY.test(text)) return text;
      const keys = parseJson(text.slice(2));
      if (typeof keys !== "object" || keys === null || Array.isArray(keys)) {
        throw new SyntaxError(`not the keys of a list item: ${text}`);
      }
      return keyElement(entriesOf(keys));
    }
    case "v":
      // Integers keep their digits, whatever their size.
      if (/^v:(?:0|-?[1-9]\d*)$/.test(text)) return text;
      return valueElement(parseJson(text.slice(2)));
    case "i":
      if (!/^i:-?\d{1,15}$/.test(text)) throw new SyntaxError(`not an index: ${text}`);
      return `i:${Number(text.slice(2))}`;
    default:
      return undefined;
  }
}

function entriesOf(keys: JsonObject): [string, JsonValue][] {
  return sortTexts(Object.keys(keys)).map((name) => [name, keys[name] ?? null]);
}

const KIND_RANK: Readonly<Record<string, number>> = { ".": -1, f: 0, k: 1, v: 2, i: 3 };

/** kube-apiserver's order of elements. */
export function compareElements(a: string, b: string): number {
  const [kind, other] = [a.charAt(0), b.charAt(0)];
  if (kind !== other) return (KIND_RANK[kind] ?? 4) - (KIND_RANK[other] ?? 4);
  if (kind === "f") return compareTexts(a, b);
  return compareSortable(toSortable(a, 0), toSortable(b, 1));
}

/** Behind so many elements it is cheaper to read each once than in each comparison. */
const FEW = 16;

/** Elements in kube-apiserver's order, of which there may be tens of thousands. @returns themselves if in order */
export function sortElements(elements: readonly string[]): readonly string[] {
  return finishNow(orderInSteps(elements))?.map((at) => elements[at] as string) ?? elements;
}

/** The places of the elements in kube-apiserver's order; undefined = they are in order. */
export function* orderInSteps(elements: readonly string[]): Steps<readonly number[] | undefined> {
  if (areFewInOrder(elements)) return undefined;
  const all: Sortable[] = [];
  let isSorted = true;
  for (const element of elements) {
    const last = all.at(-1);
    const next = toSortable(element, all.length);
    isSorted &&= last === undefined || compareSortable(last, next) <= 0;
    all.push(next);
    if (all.length % STRETCH === 0) yield;
  }
  if (isSorted) return undefined;
  return (yield* sortInSteps(all, compareSortable)).map(({ at }) => at);
}

/** Whether they are so few that it is cheap to look, and in order. */
export function areFewInOrder(elements: readonly string[]): boolean {
  if (elements.length > FEW) return false;
  for (let at = 1; at < elements.length; at++) {
    if (compareElements(elements[at - 1] as string, elements[at] as string) > 0) return false;
  }
  return true;
}

/** An element with what it is sorted by. */
interface Sortable {
  readonly element: string;
  /** Its place among the elements. */
  readonly at: number;
  readonly rank: number;
  /** Of a key with a single text: the opening up to it. */
  readonly name: string;
  /** A text that is compared as it is; undefined = the payload is. */
  readonly text: string | undefined;
  /** Read at the first comparison that needs it. */
  payload: JsonValue | undefined;
  /** Sorted, of an element with keys; made likewise. */
  keys: Keys | undefined;
}

type Keys = readonly (readonly [name: string, value: JsonValue])[];

function toSortable(element: string, at: number): Sortable {
  const kind = element.charAt(0);
  const rank = KIND_RANK[kind] ?? 4;
  if (kind === "i") return sortable(element, at, rank, "", undefined);
  if (kind !== "k" && kind !== "v") return sortable(element, at, rank, "", element);
  const start = kind === "v" ? 3 : element.indexOf('":"') + 3;
  const end = element.length - (kind === "v" ? 1 : 2);
  const isPlain =
    start >= 3 &&
    element.charAt(start - 1) === '"' &&
    element.indexOf('"', start) === end &&
    !element.includes("\\");
  return isPlain
    ? sortable(element, at, rank, element.slice(0, start), element.slice(start, end))
    : sortable(element, at, rank, "", undefined);
}

/** All of one shape, which V8 compares fastest. */
function sortable(
  element: string,
  at: number,
  rank: number,
  name: string,
  text: string | undefined,
): Sortable {
  return { element, at, rank, name, text, payload: undefined, keys: undefined };
}

function compareSortable(a: Sortable, b: Sortable): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  if (a.text !== undefined && b.text !== undefined && a.name === b.name) {
    return compareTexts(a.text, b.text);
  }
  const kind = a.element.charAt(0);
  if (kind === "i") return Number(a.element.slice(2)) - Number(b.element.slice(2));
  if (kind === "v") return compareValues(readPayload(a), readPayload(b));
  return compareKeys(readKeys(a), readKeys(b));
}

function readPayload(one: Sortable): JsonValue {
  if (one.payload === undefined) one.payload = payloadOf(one.element);
  return one.payload;
}

function readKeys(one: Sortable): Keys {
  one.keys ??= entriesOf(payloadOf(one.element) as JsonObject);
  return one.keys;
}

function payloadOf(element: string): JsonValue {
  return parseJson(element.slice(2));
}

function compareKeys(left: Keys, right: Keys): number {
  let index = 0;
  for (const [name, value] of left) {
    const other = right[index++];
    if (other === undefined) return 1;
    const order = compareTexts(name, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Order: numbers, strings, booleans, lists, maps, null. */
function compareValues(a: JsonValue, b: JsonValue): number {
  const byType = typeRank(a) - typeRank(b);
  if (byType !== 0) return byType;
  if (typeof a === "string" && typeof b === "string") return compareTexts(a, b);
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  return compareTexts(stringifyJson(a), stringifyJson(b));
}

function isNumber(value: JsonValue): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}

function typeRank(value: JsonValue): number {
  if (value === null) return 5;
  switch (typeof value) {
    case "string":
      return 1;
    case "boolean":
      return 2;
    case "object":
      return Array.isArray(value) ? 3 : 4;
    default:
      return 0;
  }
}

/** A path in messages: `.spec.containers[name="web"].image`, `.metadata.finalizers[="x"]`. */
export function describePath(path: readonly string[]): string {
  return path.map(describeElement).join("");
}

function describeElement(element: string): string {
  const text = element.slice(2);
  switch (element[0]) {
    case "k": {
      const keys = entriesOf(payloadOf(element) as JsonObject);
      return `[${keys.map(([name, value]) => `${name}=${stringifyJson(value)}`).join(",")}]`;
    }
    case "v":
      return `[=${stringifyJson(payloadOf(element))}]`;
    case "i":
      return `[${text}]`;
    default:
      return `.${text}`;
  }
}
