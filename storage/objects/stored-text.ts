/** Reads the text of an object in the store, and says why it cannot be read. */
import { isRecord } from "../base/is-record.js";

/** JSON.parse, or what reads integers that it would round. */
export type ObjectParser = (text: string) => unknown;

/** The object of a text, and the members that every object has. */
export interface ObjectMembers {
  readonly object: Readonly<Record<string, unknown>>;
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** @throws {Error} for what is no object with metadata */
export function parseStored(value: Buffer, parse: ObjectParser | undefined): ObjectMembers {
  const object = parseObject(value, parse);
  const { kind, apiVersion, metadata } = object;
  if (typeof kind !== "string" || typeof apiVersion !== "string") {
    throw new Error("the stored object has no kind or apiVersion");
  }
  if (!isRecord(metadata)) throw new Error("the stored object has no metadata");
  return { object, kind, apiVersion, metadata };
}

/** @throws {SyntaxError} @throws {Error} for what is no object */
export function parseObject(
  value: Buffer,
  parse: ObjectParser = JSON.parse,
): ObjectMembers["object"] {
  const text = value.toString("utf8");
  const object = parse(text);
  if (!isRecord(object)) throw new Error("the stored value is not an object");
  if (MAY_BE_BEYOND.test(text) && holdsInfinity(object)) {
    throw new Error("the stored object has a number beyond a double");
  }
  return object;
}

/** A number with an exponent of three digits, or with two hundred digits: most clients cannot read what a double cannot hold. */
const MAY_BE_BEYOND = /[:,[\s]-?\d(?:[\d.]*[eE]\+?\d{3}|\d{200})/;

function holdsInfinity(value: unknown): boolean {
  if (typeof value !== "object" || value === null)
    return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;
  return Object.values(value).some(holdsInfinity);
}
