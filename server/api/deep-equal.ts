/** Equality of JSON values, at once and in steps. */
import { STRETCH, type Steps } from "../../storage/base/steps.js";

/**
 * Equality of JSON values, for "has the spec changed": members in any order, list items in the same
 * order; an undefined member equals a missing one.
 */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && equalLists(a, b);
  }
  return equalMembers(a as Record<string, unknown>, b as Record<string, unknown>);
}

/** @param isLong whether it is worth while to compare in steps */
export function* isEqual(a: unknown, b: unknown, isLong: boolean): Steps<boolean> {
  return isLong ? yield* equalInSteps(a, b) : deepEqual(a, b);
}

/** The same in steps, for values of any size. */
export function* equalInSteps(a: unknown, b: unknown): Steps<boolean> {
  const isSmall = (value: unknown) => typeof value !== "object" || value === null;
  if (a === b || isSmall(a) || isSmall(b) || Array.isArray(a) !== Array.isArray(b)) {
    return deepEqual(a, b);
  }
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  if (Array.isArray(a) && a.length !== right.length) return false;
  let seen = 0;
  for (const key in left) {
    if (++seen % STRETCH === 0) yield;
    const other = Object.hasOwn(right, key) ? right[key] : undefined;
    if (!(isSmall(left[key]) ? left[key] === other : yield* equalInSteps(left[key], other))) {
      return false;
    }
  }
  for (const key in right) {
    if (++seen % STRETCH === 0) yield;
    if (right[key] !== undefined && !Object.hasOwn(left, key)) return false;
  }
  return true;
}

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
}

function equalMembers(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const key in a) {
    if (!deepEqual(a[key], Object.hasOwn(b, key) ? b[key] : undefined)) return false;
  }
  for (const key in b) {
    if (b[key] !== undefined && !Object.hasOwn(a, key)) return false;
  }
  return true;
}
