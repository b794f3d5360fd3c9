/** sortInSteps: sorts lists of any length in steps. Stretches are sorted, and two and two merged; equal items keep their order. */
import { STRETCH, type Steps } from "./steps.js";

/** @returns a new list */
export function* sortInSteps<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<Item[]> {
  let runs: Item[][] = [];
  for (let at = 0; at < items.length; at += STRETCH) {
    if (at > 0) yield;
    runs.push(items.slice(at, at + STRETCH).sort(compare));
  }
  while (runs.length > 1) {
    const merged: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Steps<Item[]> {
  const merged: Item[] = [];
  let ofLeft = 0;
  let ofRight = 0;
  while (merged.length < left.length + right.length) {
    const isLeft =
      ofRight === right.length ||
      (ofLeft < left.length && compare(left[ofLeft] as Item, right[ofRight] as Item) <= 0);
    merged.push((isLeft ? left[ofLeft++] : right[ofRight++]) as Item);
    if (merged.length % STRETCH === 0) yield;
  }
  return merged;
}
