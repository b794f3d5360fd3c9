/**
 * What the loops of macros cost besides their parts, by what kube-apiserver expands them into: a turn asks
 * whether to go on, and joins its value to what was collected so far.
 */
import type { MacroName } from "./macro-name.js";

export interface LoopCost {
  /** Of each turn. */
  readonly turn: number;
  /** Of a turn whose element passes. */
  readonly kept: number;
  /** Of finding that the answer is known, where elements are left. */
  readonly stop: number;
  readonly result: number;
}

const quantifier = (asking: number): LoopCost => ({
  turn: asking + 1,
  kept: 0,
  stop: asking,
  result: 1,
});
const collecting = (kept: number): LoopCost => ({ turn: 0, kept, stop: 0, result: 1 });
/** Adding a list of one item to another. */
const APPENDING = 12;

export const LOOP_COSTS: Readonly<Record<MacroName, LoopCost>> = {
  all: quantifier(2),
  exists: quantifier(3),
  existsOne: { turn: 0, kept: 2, stop: 0, result: 2 },
  map: collecting(APPENDING),
  transformList: collecting(APPENDING),
  sortBy: collecting(APPENDING),
  filter: collecting(APPENDING + 1),
  transformMap: collecting(3),
  transformMapEntry: collecting(2),
};
