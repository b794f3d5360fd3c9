/** What nodes cost that are no functions, in evaluations and in estimates alike. */
import type { MacroName } from "./syntax.js";

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
