/**
 * Overload: a function's signature for the checker, the estimate and the evaluation, with its types,
 * its code and its cost by argument sizes. The tables of functions/ consist of these.
 */
import type { RE2JS } from "re2js";
import type { Charge } from "./comparison.js";
import { REGEX_FACTOR, TRAVERSAL_FACTOR } from "./costs.js";
import { parseType, splitTypes, type Type } from "./types.js";
import type { Value } from "./values.js";

/** The context of a function call besides its arguments. */
export interface CallContext {
  /** Call before spending work or memory that grows with the arguments. */
  readonly charge: Charge;
  /** Returns a compiled pattern and charges for matching `text`. @throws {Failure} */
  regex(pattern: string, text: string): RE2JS;
}

/** Characters, bytes, items or entries of each argument; 1 for other types. */
export type Sizes = readonly number[];

export interface Overload {
  readonly name: string;
  /** Called as `x.f(y)`; the receiver is the first parameter. */
  readonly isMethod: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** @throws {Failure} */
  readonly invoke: (args: readonly Value[], context: CallContext) => Value;
  /** The cost of a call beyond the base cost of calls. */
  readonly cost: (sizes: Sizes) => number;
  /** An upper bound of the size of the result. */
  readonly resultSize: (sizes: Sizes) => number;
}

export interface OverloadOptions {
  readonly cost?: (sizes: Sizes) => number;
  readonly resultSize?: (sizes: Sizes) => number;
}

type Implementation = (...args: never[]) => Value;

/** A function called as `name(...)`; names may have dots ("optional.of"). */
export function fn(
  name: string,
  parameters: string,
  result: string,
  implementation: Implementation,
  options?: OverloadOptions,
): Overload {
  return overload(name, false, parameters, result, implementation, options);
}

/** A function called as `x.name(...)`. */
export function method(
  name: string,
  parameters: string,
  result: string,
  implementation: Implementation,
  options?: OverloadOptions,
): Overload {
  return overload(name, true, parameters, result, implementation, options);
}

function overload(
  name: string,
  isMethod: boolean,
  parameters: string,
  result: string,
  implementation: Implementation,
  { cost = noCost, resultSize = largest }: OverloadOptions = {},
): Overload {
  // The checker and the run-time dispatch guarantee the arguments' types.
  const call = implementation as unknown as (...args: readonly unknown[]) => Value;
  return {
    name,
    isMethod,
    parameters: splitTypes(parameters).map(parseType),
    result: parseType(result),
    invoke: (args, context) => call(...args, context),
    cost,
    resultSize,
  };
}

/** Marks functions with a constant cost, so that no sizes are computed. */
export const noCost = () => 0;
const largest = (sizes: Sizes) => Math.max(1, ...sizes);

export const traversal = ([size = 1]: Sizes) => Math.ceil(size * TRAVERSAL_FACTOR);
export const bothTraversals = ([left = 1, right = 1]: Sizes) =>
  Math.ceil((left + right) * TRAVERSAL_FACTOR);
export const sumOfSizes = (sizes: Sizes) => sizes.reduce((sum, size) => sum + size, 0);
export const searchCost = ([text = 1, search = 1]: Sizes) =>
  Math.ceil(text * TRAVERSAL_FACTOR) * Math.max(1, Math.ceil(search * TRAVERSAL_FACTOR));
export const matchCost = ([text = 1, pattern = 1]: Sizes) =>
  Math.ceil((text + 1) * TRAVERSAL_FACTOR) * Math.ceil(pattern * REGEX_FACTOR);
