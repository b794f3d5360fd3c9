/** Costs of nodes other than functions, and factors for functions, in evaluations and estimates. */
import type { MacroName } from "./macro-name.js";

/** Upstream's cost of creating a list and a map. */
export const LIST_COST = 10;
export const MAP_COST = 30;
/** The cost of a loop turn besides its body: the condition and the collecting. */
export const TURN_COST: Readonly<Record<MacroName, number>> = {
  all: 3,
  exists: 3,
  existsOne: 3,
  map: 12,
  filter: 12,
  transformList: 12,
  transformMap: 12,
  transformMapEntry: 12,
  sortBy: 12,
};

/** The cost per character of traversing a string or bytes; upstream's factor. */
export const TRAVERSAL_FACTOR = 0.1;
/** The cost per character of a regular expression; upstream's factor. */
export const REGEX_FACTOR = 0.25;

/** Comparing so many characters, where the step that does it has paid for the first ones. */
export function costBeyondStep(characters: number): number {
  return Math.max(0, Math.ceil(characters * TRAVERSAL_FACTOR) - 1);
}
