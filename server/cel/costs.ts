/** What nodes cost that are no functions, and factors of functions, in evaluations and estimates alike. */
import type { MacroName } from "./macro-name.js";

/** What upstream charges for making a list, and a map. */
export const LIST_COST = 10;
export const MAP_COST = 30;
/** What a turn of a loop costs besides its body: the condition and the collecting. */
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

/** What going through a string or bytes once costs, by upstream's factor. */
export const TRAVERSAL_FACTOR = 0.1;
/** What a regular expression costs for each of its characters, by upstream's factor. */
export const REGEX_FACTOR = 0.25;
