/** Texts of flags to values, by the type that the table states. */
import { parseDuration } from "../request/duration.js";
import type { FlagDefinition, FlagType } from "./flag-definition.js";

export interface FlagValues {
  string: string;
  file: string;
  boolean: boolean;
  integer: number;
  share: number;
  duration: number;
  bytes: number;
  strings: readonly string[];
  files: readonly string[];
  texts: readonly string[];
  switches: ReadonlyMap<string, boolean>;
}

const TRUE_WORDS = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE_WORDS = ["0", "f", "F", "FALSE", "false", "False"];

const BYTE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  k: 1e3,
  M: 1e6,
  G: 1e9,
};

/**
 * The value of a flag that was given as `texts` (several only for lists).
 * @throws {RangeError} with what is wrong
 */
export function toFlagValue<T extends FlagType>(
  flag: FlagDefinition & { readonly type: T },
  texts: readonly string[],
): FlagValues[T] {
  return parseByType(flag, texts) as FlagValues[T];
}

function parseByType(flag: FlagDefinition, texts: readonly string[]): FlagValues[FlagType] {
  const last = texts.at(-1) ?? "";
  switch (flag.type) {
    case "string":
    case "file":
      return oneOf(flag, last);
    case "boolean":
      return toBoolean(last);
    case "integer":
      return inRange(flag, toInteger(last), last);
    case "share":
      return inRange(flag, toShare(last), last);
    case "duration":
      return inRange(flag, toDuration(last), last);
    case "bytes":
      return inRange(flag, toBytes(last), last);
    case "strings":
    case "files":
      return Object.freeze(texts.flatMap(splitList));
    case "texts":
      return Object.freeze(texts.filter((text) => text !== ""));
    case "switches":
      return new Map(texts.flatMap(splitList).map((text) => toSwitch(flag, text)));
  }
}

function splitList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function toSwitch(flag: FlagDefinition, text: string): [string, boolean] {
  const equals = text.indexOf("=");
  if (equals === -1 && flag.needsValues) throw new RangeError(`missing bool value for ${text}`);
  if (equals === -1) return [text, true];
  const name = text.slice(0, equals).trim();
  if (name === "") throw new RangeError(`${JSON.stringify(text)} has no name before "="`);
  return [name, toBoolean(text.slice(equals + 1).trim())];
}

function toBoolean(text: string): boolean {
  if (TRUE_WORDS.includes(text)) return true;
  if (FALSE_WORDS.includes(text)) return false;
  throw new RangeError(`${JSON.stringify(text)} is neither true nor false`);
}

function toInteger(text: string): number {
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw new RangeError(`${JSON.stringify(text)} is not an integer`);
  }
  return value;
}

function toShare(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !(value >= 0 && value <= 1)) {
    throw new RangeError(`${JSON.stringify(text)} is not a share between 0 and 1`);
  }
  return value;
}

function toDuration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) {
    throw new RangeError(`${JSON.stringify(text)} is not a duration such as 5m30s`);
  }
  return durationMs;
}

function toBytes(text: string): number {
  const match = /^(\d+)(Ki|Mi|Gi|k|M|G)?$/.exec(text);
  if (match === null) throw new RangeError(`${JSON.stringify(text)} is not a size such as 64Mi`);
  return Number(match[1]) * (BYTE_UNITS[match[2] ?? ""] as number);
}

function oneOf({ oneOf: allowed }: FlagDefinition, text: string): string {
  if (allowed === undefined || allowed.includes(text)) return text;
  const words = allowed.filter((word) => word !== "").join(", ");
  throw new RangeError(`${JSON.stringify(text)} is not one of: ${words}`);
}

function inRange({ min, max }: FlagDefinition, value: number, text: string): number {
  if (min !== undefined && value < min) throw new RangeError(`${text} is too small`);
  if (max !== undefined && value > max)
    throw new RangeError(`${text} is too large (at most ${max})`);
  return value;
}
