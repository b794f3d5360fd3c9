/**
 * How many values a body may hold. Everything that is done with a body walks its values, on the thread that
 * serves all clients, so their number bounds that work where their bytes do not: 3 MB have room for a million
 * empty items (H4). A text is counted before it is parsed, other encodings while they are.
 */
import type { JsonValue } from "../api/meta.js";
import { requestEntityTooLarge, type StatusError } from "../api/status.js";
import { JSON_DEPTH_MAX } from "../schema/json-parser.js";

export interface BodyLimits {
  /** All values together: texts, numbers, lists, objects. */
  readonly values: number;
  /** Members of one object. */
  readonly members: number;
}

/** The limit of etcd, 1.5 MiB for an object, leaves room for this many values of 25 bytes. */
export const BODY_LIMITS: BodyLimits = { values: 60_000, members: 20_000 };
/** The largest definitions in use have some 60,000 values; only administrators write them. */
export const DEFINITION_LIMITS: BodyLimits = { values: 250_000, members: 20_000 };

/** The limits of a body that has to be of the kind. */
export function limitsOf(kind: string): BodyLimits {
  return kind === "CustomResourceDefinition" ? DEFINITION_LIMITS : BODY_LIMITS;
}

/** A value and what parts it from the next. */
const VALUE_BYTES_MIN = 2;
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, OPEN_OBJECT, CLOSE_LIST, CLOSE_OBJECT] = [0x5b, 0x7b, 0x5d, 0x7d];

/**
 * Counts what parts the values of a JSON text, whether it is well formed or not.
 * @throws {StatusError} 413
 */
export function refuseLargeText(text: string, limits: BodyLimits): void {
  if (text.length < Math.min(limits.values, limits.members) * VALUE_BYTES_MIN) return;
  countText(text, limits, 0);
}

/**
 * The same for a text of any length within a body, of which other values were counted before.
 * @returns how many there are with those of the text
 * @throws {StatusError} 413
 */
export function countText(text: string, limits: BodyLimits, before: number): number {
  let values = before + 1;
  /** Of the containers around the place; negative in lists. */
  const members: number[] = [0];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case COMMA: {
        values++;
        const inner = members.length - 1;
        const count = (members[inner] ?? 0) + 1;
        members[inner] = count;
        if (count >= limits.members) throw refuseMembers(limits);
        break;
      }
      case OPEN_OBJECT:
        values++;
        members.push(0);
        break;
      case OPEN_LIST:
        values++;
        members.push(Number.NEGATIVE_INFINITY);
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        members.pop();
    }
    // What is too deep is refused by the parser, in the words that clients know.
    if (members.length > JSON_DEPTH_MAX) break;
    if (values > limits.values) throw refuseValues(limits);
  }
  return values;
}

/** @returns where the closing quote is, or the text's end */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
}

/**
 * The same for what was no JSON text.
 * @param bytes of the body: a small one is not walked
 * @throws {StatusError} 413
 */
export function refuseLargeValue(value: JsonValue, bytes: number, limits: BodyLimits): void {
  if (bytes < Math.min(limits.values, limits.members) * VALUE_BYTES_MIN) return;
  if (countDown(value, limits.values, limits) < 0) throw refuseValues(limits);
}

/** Whether a client could not send the value in an object of its own kind. */
export function isLargeValue(value: JsonValue): boolean {
  try {
    return countDown(value, BODY_LIMITS.values, BODY_LIMITS) < 0;
  } catch {
    return true;
  }
}

/** @returns how many values are left; below 0 = the count ended there. @throws {StatusError} 413 */
function countDown(value: JsonValue, left: number, limits: BodyLimits): number {
  let rest = left - 1;
  if (typeof value !== "object" || value === null) return rest;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) {
      rest = countDown(value[at] ?? null, rest, limits);
    }
    return rest;
  }
  // Counted before they are walked: an object of many members is slow to walk.
  const keys = Object.keys(value);
  if (keys.length > limits.members) throw refuseMembers(limits);
  for (const key of keys) {
    if (rest < 0) break;
    rest = countDown(value[key] ?? null, rest, limits);
  }
  return rest;
}

export function refuseValues({ values }: BodyLimits): StatusError {
  return tooMany(`the body holds more than ${values} values`);
}

export function refuseMembers({ members }: BodyLimits): StatusError {
  return tooMany(`an object in the body holds more than ${members} members`);
}

function tooMany(what: string): StatusError {
  return requestEntityTooLarge(`Request entity too large: ${what}`);
}
