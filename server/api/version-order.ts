/**
 * The order of API versions by name, most preferred first: stable before beta before alpha, each by
 * its numbers; other names come last, alphabetically.
 */

const STABILITY: Readonly<Record<string, number>> = { "": 0, beta: 1, alpha: 2 };

/** For sorting; negative: `a` is preferred. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [parseVersion(a), parseVersion(b)];
  if (left === undefined || right === undefined) {
    if (left !== undefined) return -1;
    if (right !== undefined) return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  return left.stability - right.stability || right.major - left.major || right.minor - left.minor;
}

/** Parses "v1" or "v2beta3"; undefined for other names. */
function parseVersion(version: string) {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(version);
  if (match === null) return undefined;
  const [, major, level = "", minor = "0"] = match;
  return { stability: STABILITY[level] ?? 0, major: Number(major), minor: Number(minor) };
}
