/**
 * Ranges of sizes and their arithmetic for the estimate. kube-apiserver counts in unsigned 64-bit integers
 * that stay at their maximum; here that maximum is 2^64, and numbers above 2^53 are approximate, which
 * no limit is near.
 */

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Stands for "no bound", and for every result that is not below it. */
export const ENDLESS = 2 ** 64;
export const UNKNOWN: Range = { min: 0, max: ENDLESS };

export const exactly = (size: number): Range => ({ min: size, max: size });

export const sum = (left: number, right: number): number => Math.min(left + right, ENDLESS);
export const product = (left: number, right: number): number =>
  left === 0 || right === 0 ? 0 : Math.min(left * right, ENDLESS);
/** Rounded up. */
export const scaled = (size: number, factor: number): number =>
  Math.min(Math.ceil(size * factor), ENDLESS);

export const sumOf = (left: Range, right: Range): Range => ({
  min: sum(left.min, right.min),
  max: sum(left.max, right.max),
});
export const productOf = (left: Range, right: Range): Range => ({
  min: product(left.min, right.min),
  max: product(left.max, right.max),
});
export const union = (left: Range, right: Range): Range => ({
  min: Math.min(left.min, right.min),
  max: Math.max(left.max, right.max),
});
