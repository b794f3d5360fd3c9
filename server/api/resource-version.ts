/**
 * Compares resourceVersions as clients may (S1-VER-02..05, enhancement 5504): they are opaque unless
 * both look like a version of the store. Then they are decimal numbers of any length, compared as
 * text, so that nothing is rounded.
 */

const COMPARABLE = /^[1-9][0-9]*$/;

/** Whether a version can be ordered, and not only tested for equality. */
export function isComparableVersion(version: string): boolean {
  return COMPARABLE.test(version);
}

/**
 * Negative: `a` is older; positive: newer; 0: the same. undefined: one of them can only be tested
 * for equality. Both must be of the same type and group.
 */
export function compareResourceVersions(a: string, b: string): number | undefined {
  if (!isComparableVersion(a) || !isComparableVersion(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
