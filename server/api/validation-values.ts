/**
 * Checks of single values that many types share: bounded numbers, ports, IP addresses and blocks,
 * paths, map keys. Each adds its errors to `errors`, with kube-apiserver's texts. Pure.
 */
import { isIP } from "node:net";
import { invalidValue, invalidValues, requiredValue, unsupportedValue } from "./field-errors.js";
import type { FieldError } from "./status.js";
import { checkDnsLabel, checkDnsSubdomain, checkPathSegmentName } from "./validation-names.js";

/** An integer field; beyond 2^53 a bigint. */
export type Whole = number | bigint;
/** A member that may be missing or null. */
export type Maybe<T> = T | null | undefined;

export const NOT_NEGATIVE = "must be greater than or equal to 0";
const INT32_MAX = 2 ** 31 - 1;
const PORT_MAX = 65_535;
const PORT_NAME_CHARS_MAX = 15;
const CONFIG_KEY_CHARS_MAX = 253;
const PARENT = "..";

/**
 * For lists without duplicates. A look at the items before each one would cost the square of their number.
 * @returns whether it was called with the key before
 */
export function repeats<Key = string>(): (key: Key) => boolean {
  const seen = new Set<Key>();
  return (key) => seen.size === seen.add(key).size;
}

/** "must be between 1 and 65535, inclusive" */
export function rangeText(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

function validateNonNegative(value: Maybe<Whole>, field: string, errors: FieldError[]): void {
  if (value !== undefined && value !== null && value < 0) {
    errors.push(invalidValue(field, value, NOT_NEGATIVE));
  }
}

/** User and group ids, and other non-negative int32 values in int64 fields. */
export function validateId(value: Maybe<Whole>, field: string, errors: FieldError[]): void {
  if (value === undefined || value === null) return;
  if (value < 0 || value > INT32_MAX) {
    errors.push(invalidValue(field, value, rangeText(0, INT32_MAX)));
  }
}

export function validatePort(value: Maybe<Whole>, field: string, errors: FieldError[]): void {
  const port = value ?? 0;
  if (port >= 1 && port <= PORT_MAX) return;
  errors.push(invalidValue(field, port, rangeText(1, PORT_MAX)));
}

/** The port of a service that this server calls; default 443. */
export function validateServicePort(port: Maybe<Whole>, field: string, errors: FieldError[]): void {
  if (port === undefined || port === null || (port >= 1 && port <= PORT_MAX)) return;
  errors.push(invalidValue(field, port, `port is not valid: ${rangeText(1, PORT_MAX)}`));
}

/** The errors of a port's name (RFC 6335). */
export function checkPortName(name: string): string[] {
  const messages: string[] = [];
  if (name.length > PORT_NAME_CHARS_MAX) {
    messages.push(`must be no more than ${PORT_NAME_CHARS_MAX} characters`);
  }
  if (!/^[-a-z0-9]+$/.test(name)) {
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) messages.push("must contain at least one letter (a-z)");
  if (name.includes("--")) messages.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) {
    messages.push("must not begin or end with a hyphen");
  }
  return messages;
}

/** A port's number or name. */
export function validatePortOrName(
  value: Maybe<Whole | string>,
  field: string,
  errors: FieldError[],
): void {
  if (typeof value === "string") {
    errors.push(...invalidValues(field, value, checkPortName(value)));
  } else validatePort(value, field, errors);
}

/** 4 or 6 for a canonical address, 0 for anything else. */
export function ipVersion(text: string): 0 | 4 | 6 {
  // A zone names an interface of one machine, so it is invalid here.
  return text.includes("%") ? 0 : (isIP(text) as 0 | 4 | 6);
}

/** Old objects have leading zeros ("010.0.0.1"). */
function isPaddedIp(text: string): boolean {
  if (!/^\d{1,10}(\.\d{1,10}){3}$/.test(text)) return false;
  return text.split(".").every((part) => Number(part) <= 255);
}

/** The family and prefix length of a block such as "10.0.0.0/8"; undefined when it is invalid. */
export function parseCidr(text: string): { version: 4 | 6; bits: number } | undefined {
  const slash = text.indexOf("/");
  if (slash < 0) return undefined;
  const address = text.slice(0, slash);
  const version = ipVersion(address) || (isPaddedIp(address) ? 4 : 0);
  const size = text.slice(slash + 1);
  if (version === 0 || !/^\d{1,3}$/.test(size)) return undefined;
  const bits = Number(size);
  return bits > (version === 4 ? 32 : 128) ? undefined : { version, bits };
}

/** The errors of a ConfigMap's or Secret's key, which becomes a file name. */
export function checkConfigKey(key: string): string[] {
  if (/^[-._a-zA-Z0-9]{1,253}$/.test(key) && !key.startsWith(PARENT) && key !== ".") return [];
  const messages: string[] = [];
  if (key.length > CONFIG_KEY_CHARS_MAX) {
    messages.push(`must be no more than ${CONFIG_KEY_CHARS_MAX} characters`);
  }
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) {
    messages.push(
      "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    );
  }
  if (key === ".") messages.push("must not be '.'");
  else if (key === PARENT) messages.push("must not be '..'");
  else if (key.startsWith(PARENT)) messages.push("must not start with '..'");
  return messages;
}

/** A relative path below an unknown directory, without "..". */
export function validateLocalPath(path: string, field: string, errors: FieldError[]): void {
  if (path.startsWith("/")) errors.push(invalidValue(field, path, "must be a relative path"));
  validateNoBacksteps(path, field, errors);
}

export function validateNoBacksteps(path: string, field: string, errors: FieldError[]): void {
  if (path.includes(PARENT) && path.split("/").includes(PARENT)) {
    errors.push(invalidValue(field, path, "must not contain '..'"));
  }
}

export function validateDnsLabel(value: string, field: string, errors: FieldError[]): void {
  errors.push(...invalidValues(field, value, checkDnsLabel(value)));
}

export function validateDnsSubdomain(value: string, field: string, errors: FieldError[]): void {
  errors.push(...invalidValues(field, value, checkDnsSubdomain(value)));
}

/** A name that may be a part of a path. */
export function validatePathSegment(value: string, field: string, errors: FieldError[]): void {
  errors.push(...invalidValues(field, value, checkPathSegmentName(value, false)));
}

/** One of several words. Missing is no mistake here, and empty is one. */
export function validateChoice(
  value: Maybe<string>,
  field: string,
  choices: readonly string[],
  errors: FieldError[],
): void {
  if (value === undefined || value === null || choices.includes(value)) return;
  errors.push(unsupportedValue(field, value, choices));
}

/** One of several words, which must be there: the message names them where it is missing. */
export function validateWord(
  value: string,
  field: string,
  choices: readonly string[],
  errors: FieldError[],
): void {
  if (value !== "") validateChoice(value, field, choices, errors);
  else {
    const words = choices.map((choice) => `"${choice}"`).join(" ");
    errors.push(requiredValue(field, `valid values: [${words}]`));
  }
}

const PERCENT_TEXT = /^\d+%$/;
const PERCENT_RULE =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** The number in a percentage; undefined for whole numbers. */
export function percentOf(value: Maybe<Whole | string>): number | undefined {
  return typeof value === "string" && PERCENT_TEXT.test(value)
    ? Number(value.slice(0, -1))
    : undefined;
}

/** A percentage such as "25%" or a count, never negative. */
export function validateAmountOrPercent(
  value: Maybe<Whole | string>,
  field: string,
  errors: FieldError[],
): void {
  if (typeof value !== "string") validateNonNegative(value, field, errors);
  else if (!PERCENT_TEXT.test(value)) errors.push(invalidValue(field, value, PERCENT_RULE));
}

/** Percentages of at most 100 %. */
export function validateNotMoreThanAll(
  value: Maybe<Whole | string>,
  field: string,
  errors: FieldError[],
): void {
  if ((percentOf(value) ?? 0) > 100) {
    errors.push(invalidValue(field, value, "must not be greater than 100%"));
  }
}

const PATH_OF_NAME = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** A name below a domain, such as "acme.io/foo", as controllers have it. */
export function validateDomainPath(text: string, field: string, errors: FieldError[]): void {
  const slash = text.indexOf("/");
  if (slash <= 0 || slash === text.length - 1) {
    const why = 'must be a domain-prefixed path (such as "acme.io/foo")';
    errors.push(invalidValue(field, text, why));
    return;
  }
  const host = text.slice(0, slash);
  validateDnsSubdomain(host, field, errors);
  const path = text.slice(slash + 1);
  if (PATH_OF_NAME.test(path)) return;
  const why = `Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')`;
  errors.push(invalidValue(field, path, why));
}
