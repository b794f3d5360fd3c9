/**
 * sortedKeys: an object's keys in order. Each object with a map has its keys sorted when it is written, and
 * most maps have a handful: for those Array.sort takes two to five times as long and allocates
 * half a kilobyte.
 */

/** Behind so many keys Array.sort is faster, however they come. */
const FEW = 16;

/** @param compare absent = by UTF-16 code units, as Array.sort does */
export function sortedKeys(object: object, compare?: (a: string, b: string) => number): string[] {
  const keys = Object.keys(object);
  if (keys.length > FEW) {
    // What was stored comes back sorted.
    return compare === undefined && areSorted(keys) ? keys : keys.sort(compare);
  }
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at] as string;
    let place = at;
    for (; place > 0; place--) {
      const before = keys[place - 1] as string;
      const isBehind = compare === undefined ? before > key : compare(before, key) > 0;
      if (!isBehind) break;
      keys[place] = before;
    }
    keys[place] = key;
  }
  return keys;
}

/** Whether the texts are in the order of their UTF-16 code units. */
export function areSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at++) {
    if ((keys[at - 1] as string) > (keys[at] as string)) return false;
  }
  return true;
}
