/** Costs of the extensions for addresses and for asking the authorizer. */
import { LIST_COST, STRUCT_COST, TRAVERSAL_FACTOR } from "../costs.js";
import { byName, type CallCosts, sizeOf } from "./call-costs.js";
import { ENDLESS, scaled, sum } from "./ranges.js";

/** The bytes of the longest address. */
const ADDRESS_BYTES_MAX = 16;

/**
 * Whether a block contains an address, or another block, which has to be masked first.
 * @param isText whether the argument has to be parsed
 */
export function containing(isBlock: boolean, isText: boolean): CallCosts {
  return byName(
    (parts) => {
      let cost = scaled(2 * ADDRESS_BYTES_MAX, TRAVERSAL_FACTOR);
      if (isBlock) cost += scaled(ADDRESS_BYTES_MAX, TRAVERSAL_FACTOR) + 1;
      const text = isText ? scaled(parts[1]?.size.max ?? ENDLESS, TRAVERSAL_FACTOR) : 0;
      return { cost: sum(cost, text) };
    },
    ([block, other]) => {
      const size = sizeOf(block);
      let cost = Math.ceil((size + size) * TRAVERSAL_FACTOR);
      if (isBlock) cost += Math.ceil(size * TRAVERSAL_FACTOR) + 1;
      return cost + (isText ? Math.ceil(sizeOf(other) * TRAVERSAL_FACTOR) : 0);
    },
  );
}

/** Allows two checks in one evaluation. */
const CHECK_COST = 350_000;

export const CHECKED: CallCosts = byName(() => ({ cost: CHECK_COST }), CHECK_COST);

/** The shortest requirement of a selector has two characters. */
const REQUIREMENTS_PER_CHARACTER = 0.5;
const REQUIREMENT_COST = LIST_COST + STRUCT_COST;

function selectorCost(length: number): number {
  const requirements = scaled(length, REQUIREMENTS_PER_CHARACTER);
  const cost = sum(LIST_COST, scaled(length, TRAVERSAL_FACTOR));
  return sum(cost, scaled(requirements, REQUIREMENT_COST));
}

export const SELECTED: CallCosts = byName(
  (parts) => ({ cost: selectorCost(parts[1]?.size.max ?? ENDLESS) }),
  (args) => selectorCost(sizeOf(args[1])),
);
