/** Names and lists that the kinds of the resource group share: drivers, pools, attributes. Pure. */
import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooLongValue,
  tooManyItems,
} from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { type Maybe, validateDnsLabel, validateDnsSubdomain } from "../../api/validation-values.js";
import { validateDriverName } from "../core/validate-volumes.js";

const POOL_BYTES_MAX = 253;
const IDENTIFIER_BYTES_MAX = 32;

export interface ListCheck<T> {
  /** undefined = no bound of its own. */
  readonly max: number | undefined;
  readonly field: string;
  readonly errors: FieldError[];
  /** What is unique in the list, and how it is shown; absent = nothing is. */
  readonly keyOf?: (item: T) => string;
  readonly showKey?: (item: T) => unknown;
}

/** Checks each item, and that there are not too many and none twice. */
export function validateList<T>(
  items: Maybe<readonly T[]>,
  { max, field, errors, keyOf, showKey }: ListCheck<T>,
  check: (item: T, field: string) => void,
): void {
  const list = items ?? [];
  if (max !== undefined && list.length > max) {
    errors.push(tooManyItems(field, list.length, max));
    return;
  }
  list.forEach((item, index) => {
    check(item, `${field}[${index}]`);
  });
  if (keyOf === undefined) return;
  const known = new Set<string>();
  for (const [index, item] of list.entries()) {
    const key = keyOf(item);
    if (known.has(key)) errors.push(duplicateValue(`${field}[${index}]`, showKey?.(item) ?? key));
    known.add(key);
  }
}

/** Of a driver; unlike for volumes there has to be one. */
export function validateDriver(driver: Maybe<string>, field: string, errors: FieldError[]): void {
  if ((driver ?? "") === "") errors.push(requiredValue(field));
  else validateDriverName(driver as string, field, errors);
}

/** Domains between slashes. */
export function validatePoolName(pool: Maybe<string>, field: string, errors: FieldError[]): void {
  const name = pool ?? "";
  if (name === "") {
    errors.push(requiredValue(field));
    return;
  }
  if (Buffer.byteLength(name) > POOL_BYTES_MAX) errors.push(tooLongValue(field, POOL_BYTES_MAX));
  for (const part of name.split("/")) {
    validateDnsSubdomain(part, field, errors);
  }
}

/** Of devices, requests and sets of counters. */
export function validateLabelName(name: Maybe<string>, field: string, errors: FieldError[]): void {
  validateDnsLabel(name ?? "", field, errors);
}

/** An identifier, after the domain of its driver or alone. More slashes are accepted, as kube-apiserver does. */
export function validateQualifiedName(name: string, field: string, errors: FieldError[]): void {
  const parts = name.split("/", 3);
  if (parts.length > 2) return;
  if (parts.length === 1) {
    validateIdentifier(name, field, errors);
    return;
  }
  const [domain = "", identifier = ""] = parts;
  if (domain === "") errors.push(invalidValue(field, "", "the domain must not be empty"));
  else validateDriver(domain, field, errors);
  if (identifier === "") errors.push(invalidValue(field, "", "the name must not be empty"));
  else validateIdentifier(identifier, field, errors);
}

export function validateFullName(name: string, field: string, errors: FieldError[]): void {
  validateQualifiedName(name, field, errors);
  if (name.includes("/")) return;
  const why = "a fully qualified name must be a domain and a name separated by a slash";
  errors.push(invalidValue(field, name, why));
}

const IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*";

function validateIdentifier(name: string, field: string, errors: FieldError[]): void {
  if (Buffer.byteLength(name) > IDENTIFIER_BYTES_MAX) {
    errors.push(tooLongValue(field, IDENTIFIER_BYTES_MAX));
  }
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return;
  const what =
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'";
  const examples = "e.g. 'my_name',  or 'MY_NAME',  or 'MyName'";
  const why = `${what} (${examples}, regex used for validation is '${IDENTIFIER}')`;
  errors.push(invalidValue(field, name, why));
}

const LONGEST_KEY = 63 + 1 + IDENTIFIER_BYTES_MAX;
const CUT = "...";

/** The path of a map's entry; a key that is too long is cut in its middle. */
export function entryPath(field: string, key: string): string {
  if (key.length <= LONGEST_KEY) return `${field}[${key}]`;
  const left = LONGEST_KEY - CUT.length;
  const end = key.slice(key.length - Math.floor(left / 2));
  return `${field}[${key.slice(0, Math.floor((left + 1) / 2))}${CUT}${end}]`;
}
