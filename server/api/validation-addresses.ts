/**
 * The strict rules of 1.36 for addresses and blocks: no leading zeros, which some software reads as octal, and
 * no IPv4 address mapped into IPv6, which passes checks of either family. A value that the object already has
 * may stay (`unlessHeld`).
 */
import { invalidValue } from "./field-errors.js";
import {
  formatIp,
  type IpAddress,
  isCanonicalV4Block,
  isCanonicalV6,
  isCanonicalV6Block,
  isMappedIp,
  parseBlock,
  parseIp,
} from "./ip-address.js";
import type { FieldError } from "./status.js";
import { ipVersion, type Maybe, parseCidr } from "./validation-values.js";

const NOT_AN_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** As `validateIp`, where also what the object has is judged again. */
export function validateIpAnew(value: Maybe<string>, field: string, errors: FieldError[]): void {
  const text = value ?? "";
  const why = ipProblem(text);
  if (why !== undefined) errors.push(invalidValue(field, text, why));
}

/** For fields that are older than the strict rules: any spelling of a valid address. */
export function validateIp(value: Maybe<string>, field: string, errors: FieldError[]): void {
  const text = value ?? "";
  const why = ipProblem(text);
  if (why === undefined) return;
  // No older rule took what is no address at all.
  const held = parseIp(text) === undefined ? {} : { unlessHeld: text };
  errors.push({ ...invalidValue(field, text, why), ...held });
}

/** The one canonical spelling. */
export function validateCanonicalIp(text: string, field: string, errors: FieldError[]): void {
  for (const why of checkCanonicalIp(text)) errors.push(invalidValue(field, text, why));
}

/** As `validateCanonicalIp`, for names. */
export function checkCanonicalIp(text: string): string[] {
  if (isCanonicalV6(text)) return [];
  const why = ipProblem(text);
  if (why !== undefined) return [why];
  const canonical = formatIp(parseIp(text) as IpAddress);
  return text === canonical ? [] : [`must be in canonical form ("${canonical}")`];
}

function ipProblem(text: string): string | undefined {
  // Of IPv4 only what has no zeros in front is known by this.
  if (ipVersion(text) === 4 || isCanonicalV6(text)) return undefined;
  const address = parseIp(text);
  if (address === undefined) return NOT_AN_IP;
  if (ipVersion(text) === 0) return "must not have leading 0s";
  return isMappedIp(address) ? "must not be an IPv4-mapped IPv6 address" : undefined;
}

/** For fields that are older than the strict rules: any spelling of a block without further bits. */
export function validateCidr(value: Maybe<string>, field: string, errors: FieldError[]): void {
  const text = value ?? "";
  const why = cidrProblem(text);
  if (why === undefined) return;
  const held = parseBlock(text) === undefined ? {} : { unlessHeld: text };
  errors.push({ ...invalidValue(field, text, why), ...held });
}

/** As `validateCidr`, where also what the object has is judged again. */
export function validateCidrAnew(value: Maybe<string>, field: string, errors: FieldError[]): void {
  const text = value ?? "";
  const why = cidrProblem(text);
  if (why !== undefined) errors.push(invalidValue(field, text, why));
}

/** The one canonical spelling. */
export function validateCanonicalCidr(text: string, field: string, errors: FieldError[]): void {
  const why = cidrProblem(text) ?? spellingProblem(text);
  if (why !== undefined) errors.push(invalidValue(field, text, why));
}

function spellingProblem(text: string): string | undefined {
  const block = parseBlock(text);
  if (block === undefined) return NOT_A_CIDR;
  const { version, first, bits } = block;
  const canonical = `${formatIp({ version, value: first })}/${bits}`;
  return text === canonical ? undefined : `must be in canonical form ("${canonical}")`;
}

function cidrProblem(text: string): string | undefined {
  if (isCanonicalV4Block(text) || isCanonicalV6Block(text)) return undefined;
  const block = parseBlock(text);
  if (block === undefined || parseCidr(text) === undefined) return NOT_A_CIDR;
  const [ip = "", bits = ""] = text.split("/");
  if (ipVersion(ip) === 0 || (bits.length > 1 && bits.startsWith("0"))) {
    return "must not have leading 0s in IP or prefix length";
  }
  const address = parseIp(ip) as IpAddress;
  if (isMappedIp(address)) return "must not have an IPv4-mapped IPv6 address";
  return address.value === block.first
    ? undefined
    : "must not have bits set beyond the prefix length";
}
