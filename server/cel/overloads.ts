/**
 * Overload: a function's signature for the checker, the estimate and the evaluation, with its types,
 * its code and its costs: none can be declared without both of them. The tables of functions/ consist of
 * these.
 */
import type { RE2JS } from "re2js";
import type { Charge } from "./comparison.js";
import type { CallCosts } from "./cost/call-costs.js";
import { parseType, splitTypes, type Type } from "./types.js";
import type { Value } from "./values.js";

/** The context of a function call besides its arguments. */
export interface CallContext {
  /** Counts work that the costs of the table do not bound; call it before the work is done. */
  readonly charge: Charge;
  /** Formats of time zones, which take long to make. */
  readonly zones: Map<string, Intl.DateTimeFormat>;
  /** Returns a compiled pattern and counts the matching of `text`. @throws {Failure} */
  regex(pattern: string, text: string): RE2JS;
}

export interface Overload {
  readonly name: string;
  /** Called as `x.f(y)`; the receiver is the first parameter. */
  readonly isMethod: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
  /** @throws {Failure} */
  readonly invoke: (args: readonly Value[], context: CallContext) => Value;
  readonly costs: CallCosts;
}

type Implementation = (...args: never[]) => Value;

/** What is declared of an overload: parameters, result, code and costs. */
type Declaration = readonly [
  name: string,
  parameters: string,
  result: string,
  implementation: Implementation,
  costs: CallCosts,
];

/** A function called as `name(...)`; names may have dots ("optional.of"). */
export function fn(...declaration: Declaration): Overload {
  return overload(false, declaration);
}

/** A function called as `x.name(...)`. */
export function method(...declaration: Declaration): Overload {
  return overload(true, declaration);
}

function overload(
  isMethod: boolean,
  [name, parameters, result, implementation, costs]: Declaration,
): Overload {
  // The checker and the run-time dispatch guarantee the arguments' types.
  const call = implementation as unknown as (...args: readonly unknown[]) => Value;
  return {
    name,
    isMethod,
    parameters: splitTypes(parameters).map(parseType),
    result: parseType(result),
    invoke: (args, context) => call(...args, context),
    costs,
  };
}
