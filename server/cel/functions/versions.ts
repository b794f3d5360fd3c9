/** The semver extension: versions as semver.org defines them (2.0.0), their parts and their order. */
import { FLAT, PARSED } from "../cost/call-costs.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { OpaqueValue } from "../values.js";

/** Longer versions are rejected, because parsing numbers takes time. */
const VERSION_LENGTH_MAX = 256;
const NUMBER = "(0|[1-9]\\d*)";
const IDENTIFIERS = "[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*";
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${IDENTIFIERS}))?(?:\\+(${IDENTIFIERS}))?$`,
);

class VersionValue extends OpaqueValue {
  override readonly typeName = "kubernetes.Semver";
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];
  readonly text: string;

  constructor(numbers: readonly bigint[], prerelease: readonly string[], text: string) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
    this.text = text;
  }

  /** Build metadata is ignored (semver.org, 10). */
  override equals(other: OpaqueValue): boolean {
    return other instanceof VersionValue && compareVersions(this, other) === 0;
  }

  override toJson(): string {
    return this.text;
  }
}

function parseVersion(text: string, isNormalized: boolean): VersionValue | undefined {
  if (text.length > VERSION_LENGTH_MAX) return undefined;
  const match = VERSION.exec(isNormalized ? normalize(text) : text);
  if (match === null) return undefined;
  const numbers = match.slice(1, 4).map((part) => BigInt(part));
  const prerelease = match[4] === undefined ? [] : match[4].split(".");
  if (numbers.some((part) => part >= 2n ** 64n)) return undefined;
  if (prerelease.some((part) => /^0\d+$/.test(part))) return undefined;
  return new VersionValue(numbers, prerelease, match[0]);
}

/** "v1.2" becomes "1.2.0": accepts a leading v, missing numbers and leading zeros. */
function normalize(text: string): string {
  const [, core = "", rest = ""] = /^v?([\d.]*)(.*)$/s.exec(text) ?? [];
  const parts = core.split(".").map((part) => part.replace(/^0+(?=\d)/, ""));
  while (parts.length < 3) parts.push("0");
  return parts.join(".") + rest;
}

function compareVersions(left: VersionValue, right: VersionValue): number {
  for (let at = 0; at < 3; at++) {
    const a = left.numbers[at] ?? 0n;
    const b = right.numbers[at] ?? 0n;
    if (a !== b) return a < b ? -1 : 1;
  }
  const isRelease = left.prerelease.length === 0;
  if (isRelease || right.prerelease.length === 0) {
    return Number(isRelease) - Number(right.prerelease.length === 0);
  }
  const length = Math.min(left.prerelease.length, right.prerelease.length);
  for (let at = 0; at < length; at++) {
    const order = comparePart(left.prerelease[at] ?? "", right.prerelease[at] ?? "");
    if (order !== 0) return order;
  }
  return Math.sign(left.prerelease.length - right.prerelease.length);
}

/** Numbers compare by value and sort before words; words compare bytewise. */
function comparePart(left: string, right: string): number {
  const isNumber = /^\d+$/.test(left);
  if (isNumber !== /^\d+$/.test(right)) return isNumber ? -1 : 1;
  if (left === right) return 0;
  if (isNumber) return BigInt(left) < BigInt(right) ? -1 : 1;
  return left < right ? -1 : 1;
}

function semver(text: string, isNormalized: boolean): VersionValue {
  const version = parseVersion(text, isNormalized);
  if (version === undefined) throw new Failure("no valid semantic version");
  return version;
}

const TYPE = "kubernetes.Semver";
const BOTH = `${TYPE}, ${TYPE}`;
type V = VersionValue;

export const VERSIONS: readonly Overload[] = [
  fn("semver", "string", TYPE, (text: string) => semver(text, false), PARSED),
  fn("semver", "string, bool", TYPE, semver, PARSED),
  fn(
    "isSemver",
    "string",
    "bool",
    (text: string) => parseVersion(text, false) !== undefined,
    PARSED,
  ),
  fn(
    "isSemver",
    "string, bool",
    "bool",
    (text: string, isNormalized: boolean) => parseVersion(text, isNormalized) !== undefined,
    PARSED,
  ),
  ...["major", "minor", "patch"].map((name, at) =>
    method(name, TYPE, "int", ({ numbers }: V) => BigInt.asIntN(64, numbers[at] ?? 0n), FLAT),
  ),
  method("isGreaterThan", BOTH, "bool", (a: V, b: V) => compareVersions(a, b) > 0, FLAT),
  method("isLessThan", BOTH, "bool", (a: V, b: V) => compareVersions(a, b) < 0, FLAT),
  method("compareTo", BOTH, "int", (a: V, b: V) => BigInt(compareVersions(a, b)), FLAT),
];
