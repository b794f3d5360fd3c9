/**
 * sortedKeys: an object's keys in order. Each object with a map has its keys sorted when it is written, and
 * most maps have a handful: for those Array.sort takes two to five times as long and allocates
 * half a kilobyte.
 */

import { compareTexts, sortTexts } from "../../storage/base/compare-texts.js";

/** Behind so many keys Array.sort is faster, however they come. */
const FEW = 16;

/** @param compare absent = by bytes */
export function sortedKeys(object: object, compare?: (a: string, b: string) => number): string[] {
  const keys = Object.keys(object);
  if (keys.length > FEW) {
    if (compare !== undefined) return keys.sort(compare);
    // What was stored comes back sorted.
    return areSorted(keys) ? keys : sortTexts(keys);
  }
  const order = compare ?? compareTexts;
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at] as string;
    let place = at;
    for (; place > 0; place--) {
      const before = keys[place - 1] as string;
      if (order(before, key) <= 0) break;
      keys[place] = before;
    }
    keys[place] = key;
  }
  return keys;
}

/** Whether the texts are in the order of their bytes. */
export function areSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at++) {
    if (compareTexts(keys[at - 1] as string, keys[at] as string) > 0) return false;
  }
  return true;
}
