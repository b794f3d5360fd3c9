/** The semver extension: versions as semver.org defines them (2.0.0), their parts and their order. */
import { goQuote } from "../../api/go-text.js";
import { FLAT, PARSED } from "../cost/call-costs.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { OpaqueValue } from "../values.js";

/** Longer versions are rejected, because parsing numbers takes time. */
const VERSION_LENGTH_MAX = 256;
const UINT_MAX = 2n ** 64n - 1n;
const NUMBER = /^\d+$/;
const IDENTIFIER = /^[0-9A-Za-z-]+$/;

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

/** @throws {Failure} with what is wrong, in kube-apiserver's words */
function parseVersion(text: string): VersionValue {
  if (text === "") throw new Failure("Version string empty");
  if (text.length > VERSION_LENGTH_MAX) throw new Failure("no valid semantic version");
  const [major = "", minor, rest] = threeParts(text);
  if (minor === undefined || rest === undefined) {
    throw new Failure("No Major.Minor.Patch elements found");
  }
  const numbers = [numberOf("Major", major), numberOf("Minor", minor)];
  const [head, build] = cut(rest, "+");
  const [patch, prerelease] = cut(head, "-");
  numbers.push(numberOf("Patch", patch));
  const identifiers = prerelease?.split(".") ?? [];
  identifiers.forEach(checkPrerelease);
  build?.split(".").forEach(checkBuild);
  return new VersionValue(numbers, identifiers, text);
}

/** Split at the first two points. */
function threeParts(text: string): readonly string[] {
  const [first = "", second, ...others] = text.split(".");
  if (second === undefined) return [first];
  return others.length === 0 ? [first, second] : [first, second, others.join(".")];
}

function cut(text: string, mark: string): readonly [before: string, after: string | undefined] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function numberOf(name: string, text: string): bigint {
  if (text !== "" && !NUMBER.test(text)) {
    const shown = goQuote(text);
    throw new Failure(`Invalid character(s) found in ${name.toLowerCase()} number ${shown}`);
  }
  if (/^0\d/.test(text)) {
    throw new Failure(`${name} number must not contain leading zeroes ${goQuote(text)}`);
  }
  return unsigned(text);
}

function unsigned(text: string): bigint {
  if (text !== "" && BigInt(text) <= UINT_MAX) return BigInt(text);
  const why = text === "" ? "invalid syntax" : "value out of range";
  throw new Failure(`strconv.ParseUint: parsing ${goQuote(text)}: ${why}`);
}

function checkPrerelease(text: string): void {
  if (text === "") throw new Failure("Prerelease is empty");
  if (NUMBER.test(text)) {
    if (/^0\d/.test(text)) {
      throw new Failure(
        `Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`,
      );
    }
    unsigned(text);
  } else if (!IDENTIFIER.test(text)) {
    throw new Failure(`Invalid character(s) found in prerelease ${goQuote(text)}`);
  }
}

function checkBuild(text: string): void {
  if (text === "") throw new Failure("Build meta data is empty");
  if (!IDENTIFIER.test(text)) {
    throw new Failure(`Invalid character(s) found in build meta data ${goQuote(text)}`);
  }
}

/** "v1.2" becomes "1.2.0": accepts a leading v, missing numbers and leading zeros. */
function normalized(text: string): string {
  const parts = threeParts(text.replace(/^v/, "")).map((part) =>
    part.length > 1 ? part.replace(/^0+/, "").replace(/^(?!\d)/, "0") : part,
  );
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) {
    throw new Failure("short version cannot contain PreRelease/Build meta data");
  }
  while (parts.length < 3) parts.push("0");
  return parts.join(".");
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
  return parseVersion(isNormalized ? normalized(text) : text);
}

function isSemver(text: string, isNormalized: boolean): boolean {
  try {
    semver(text, isNormalized);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

const TYPE = "kubernetes.Semver";
const BOTH = `${TYPE}, ${TYPE}`;
type V = VersionValue;

export const VERSIONS: readonly Overload[] = [
  fn("semver", "string", TYPE, (text: string) => semver(text, false), PARSED),
  fn("semver", "string, bool", TYPE, semver, PARSED),
  fn("isSemver", "string", "bool", (text: string) => isSemver(text, false), PARSED),
  fn("isSemver", "string, bool", "bool", isSemver, PARSED),
  ...["major", "minor", "patch"].map((name, at) =>
    method(name, TYPE, "int", ({ numbers }: V) => BigInt.asIntN(64, numbers[at] ?? 0n), FLAT),
  ),
  method("isGreaterThan", BOTH, "bool", (a: V, b: V) => compareVersions(a, b) > 0, FLAT),
  method("isLessThan", BOTH, "bool", (a: V, b: V) => compareVersions(a, b) < 0, FLAT),
  method("compareTo", BOTH, "int", (a: V, b: V) => BigInt(compareVersions(a, b)), FLAT),
];
