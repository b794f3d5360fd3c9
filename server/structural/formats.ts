/**
 * The string formats that a custom resource's schema may use. Other formats, and those of numbers,
 * are ignored, as in kube-apiserver.
 */
import { isIPv6 } from "node:net";
import { parseGoDuration } from "../api/go-duration.js";
import { parseBlock, parseIp } from "../api/ip-address.js";
import { checkDnsLabel, checkDnsSubdomain } from "../api/validation-names.js";
import { parseWordDuration } from "../api/word-duration.js";

type Check = (text: string) => boolean;

/** Longer texts match no format, so that no pattern takes long. */
const LENGTH_MAX = 4_096;

const MAIL = /^(?:"[^"]*"\s*|[^<>@",;:\\()[\]]*)<([^<>\s]+)>$/;
const ATOM = String.raw`[^\s@<>()[\]\\,;:".]+`;
const ADDRESS = new RegExp(
  String.raw`^(?:${ATOM}(?:\.${ATOM})*|"(?:[^"\\]|\\.)+")@(?:${ATOM}(?:\.${ATOM})*|\[[^\s[\]\\]+\])$`,
);
/** One label with at most one inner hyphen, the second character; or labels below one of letters alone. */
const HOSTNAME =
  /^(?:[a-zA-Z0-9\p{S}\p{L}]-?[a-zA-Z0-9\p{S}\p{L}]{0,62}|[a-zA-Z0-9\p{S}\p{L}]|(?:[a-zA-Z0-9\p{S}\p{L}](?:[-a-zA-Z0-9\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const MAC = [
  /^(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}$/,
  /^(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){6}[0-9a-fA-F]{2}$/,
  /^(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){18}[0-9a-fA-F]{2}$/,
  /^(?:[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})$/,
  /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}$/,
  /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){3}$/,
  /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){9}$/,
];
const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[^\n]\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/u;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const RGB_PART = "(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])";

const matches =
  (pattern: RegExp): Check =>
  (text) =>
    text.length <= LENGTH_MAX && pattern.test(text);

/** By name, without dashes. */
const FORMATS: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["bsonobjectid", matches(/^[0-9a-fA-F]{24}$/)],
  ["uri", isRequestUri],
  ["email", isMail],
  ["hostname", (text) => isShort(text, 255) && HOSTNAME.test(text) && hasShortLabels(text)],
  // An IPv4 address within an IPv6 one counts as well.
  ["ipv4", (text) => text.includes(".") && parseIp(text) !== undefined],
  ["ipv6", (text) => isIPv6(text) && !text.includes("%")],
  ["cidr", (text) => parseBlock(text) !== undefined],
  ["mac", (text) => text.length <= LENGTH_MAX && MAC.some((pattern) => pattern.test(text))],
  ["uuid", uuid("[0-9a-f]", "[0-9a-f]")],
  ["uuid3", uuid("3", "[0-9a-f]")],
  ["uuid4", uuid("4", "[89ab]")],
  ["uuid5", uuid("5", "[89ab]")],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", matches(/^\d{3}[- ]\d{2}[- ]\d{4}$/)],
  ["hexcolor", matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  [
    "rgbcolor",
    matches(new RegExp(`^rgb\\(\\s*${RGB_PART}\\s*,\\s*${RGB_PART}\\s*,\\s*${RGB_PART}\\s*\\)$`)),
  ],
  ["byte", (text) => text !== "" && text.length % 4 === 0 && BASE64.test(text)],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
  ["k8sshortname", (text) => checkDnsLabel(text).length === 0],
  ["k8slongname", (text) => checkDnsSubdomain(text).length === 0],
]);

/** The check of a format; undefined for ignored ones. */
export function formatCheck(format: string): Check | undefined {
  return FORMATS.get(format.replaceAll("-", ""));
}

const NUMBER_FORMATS: Readonly<Record<string, readonly string[]>> = {
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

/** Whether a format is checked for values of the type, or known to add nothing. */
export function isKnownFormat(format: string, type: string): boolean {
  if (type === "" || type === "string") return formatCheck(format) !== undefined;
  return NUMBER_FORMATS[type]?.includes(format) === true;
}

function isRequestUri(text: string): boolean {
  if (/[^!-~\u0080-\uffff]/.test(text)) return false;
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0] ?? "";
  const rest = text.slice(scheme.length);
  // What follows a scheme without a slash is not looked at.
  if (!rest.startsWith("/")) return scheme !== "";
  if (/%(?![0-9a-fA-F]{2})/.test(rest)) return false;
  return (
    scheme === "" || !rest.startsWith("//") || isAuthority(/^[^/?]*/.exec(rest.slice(2))?.[0] ?? "")
  );
}

/** A host and its port; an address with colons stands in brackets. */
function isAuthority(authority: string): boolean {
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  if (host.startsWith("[")) return /^\[[^\]]*\](?::\d*)?$/.test(host);
  return !/[[\]]/.test(host) && /^[^:]*(?::\d*)?$/.test(host);
}

function isMail(text: string): boolean {
  if (text.length > LENGTH_MAX) return false;
  const address = MAIL.exec(text)?.[1] ?? text.trim();
  return ADDRESS.test(address);
}

function hasShortLabels(host: string): boolean {
  return host.split(".").every((label) => isShort(label, 63));
}

function isShort(text: string, bytesMax: number): boolean {
  return text.length <= bytesMax && Buffer.byteLength(text) <= bytesMax;
}

function uuid(version: string, variant: string): Check {
  const pattern = new RegExp(
    `^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`,
    "i",
  );
  return (text) => pattern.test(text);
}

function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, "");
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 9; at++) sum += (at + 1) * Number(digits[at]);
  sum += digits[9] === "X" ? 100 : 10 * Number(digits[9]);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, "");
  if (!/^\d{13}$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < 12; at++) sum += (at % 2 === 0 ? 1 : 3) * Number(digits[at]);
  return (10 - (sum % 10)) % 10 === Number(digits[12]);
}

const CREDIT_CARD =
  /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|62\d{14})$/;

function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, "");
  if (!CREDIT_CARD.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    const doubled = at % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

function isRealDay(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDate(text: string): boolean {
  const match = DATE.exec(text);
  return match !== null && isRealDay(Number(match[1]), Number(match[2]), Number(match[3]));
}

function isDateTime(text: string): boolean {
  const match = text.length > 64 ? null : DATE_TIME.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number);
  return isRealDay(year, month, day) && hour < 24 && minute < 60 && second < 60;
}

function isDuration(text: string): boolean {
  if (parseWordDuration(text) !== undefined) return true;
  return parseGoDuration(text) !== undefined;
}
