/** Costs of the functions that make lists, compare all their items, or take them for sets. */
import { LIST_COST, TRAVERSAL_FACTOR as TRAVERSAL } from "../costs.js";
import { ListValue, type Value } from "../values.js";
import {
  byOverload,
  type CallCosts,
  type Estimate,
  type Part,
  type Running,
  sizeOf,
} from "./call-costs.js";
import { ENDLESS, exactly, productOf, type Range, scaled, sum, UNKNOWN } from "./ranges.js";

function made(factor: number, size: Range): Estimate {
  return { cost: sum(scaled(size.max, factor), 1 + LIST_COST), size };
}
const runningMade = (factor: number, size: number): number =>
  Math.floor(size * factor) + 1 + LIST_COST;
const sizeAt = (parts: readonly Part[], index: number): Range => parts[index]?.size ?? UNKNOWN;

/** A literal's number; negative ones count as 0. */
function literalAt(parts: readonly Part[], index: number, otherwise: number): number {
  const literal = parts[index]?.literal;
  return typeof literal === "bigint" ? Math.max(0, Number(literal)) : otherwise;
}

const byResult: Running = { ofResult: (result) => runningMade(1, sizeOf(result)) };

export const SLICED: CallCosts = byOverload((parts) => {
  const from = literalAt(parts, 1, 0);
  const to = literalAt(parts, 2, sizeAt(parts, 0).max);
  return made(1, exactly(to < from ? ENDLESS : to - from));
}, byResult);
export const COUNTED: CallCosts = byOverload(
  (parts) => made(1, exactly(literalAt(parts, 0, ENDLESS))),
  byResult,
);
export const REVERSED: CallCosts = byOverload((parts) => made(1, sizeAt(parts, 0)), byResult);
export const FLATTENED: CallCosts = byOverload(
  (parts) => made(parts.length > 1 ? literalAt(parts, 1, ENDLESS) : 1, sizeAt(parts, 0)),
  ([list, depth]) => runningMade(typeof depth === "bigint" ? Number(depth) : 1, sizeOf(list)),
);

const SELF_COMPARED = 2;

/** Every item with every other, to sort a list or to find equal items. */
export function runningSelfCompared(list: Value | undefined): number {
  const size = sizeOf(list);
  if (!(list instanceof ListValue) || size === 0) return runningMade(SELF_COMPARED, 0);
  const first = list.at(0);
  const isText = typeof first === "string" || first instanceof Uint8Array;
  return runningMade(isText ? SELF_COMPARED + TRAVERSAL : SELF_COMPARED, size * size);
}

export const DISTINCT: CallCosts = byOverload(
  (parts) => {
    const size = sizeAt(parts, 0);
    return made(SELF_COMPARED, productOf(size, size));
  },
  ([list]) => runningSelfCompared(list),
);

/** @param at which argument has the values that are compared */
export function sorted(type: string, at: 0 | 1): CallCosts {
  const isText = type === "string" || type === "bytes";
  const factor = isText ? SELF_COMPARED + TRAVERSAL : SELF_COMPARED;
  return byOverload(
    (parts) => {
      const size = sizeAt(parts, at);
      return made(factor, productOf(size, size));
    },
    (args) => runningSelfCompared(args[at]),
  );
}

/** `sets`: each item of one list with each of the other, once or in both directions. */
export function crossedSets(directions: 1 | 2): CallCosts {
  return byOverload(
    (parts) => ({
      cost: sum(scaled(productOf(sizeAt(parts, 0), sizeAt(parts, 1)).max, directions), 1),
    }),
    ([left, right]) => 1 + sizeOf(left) * sizeOf(right) * directions,
  );
}
