/** Steps of the planner: operators whose evaluation is not a function's. */
import { equal } from "./comparison.js";
import { type CallCosts, FLAT, shorterCost, sizeWithin } from "./cost/call-costs.js";
import { dispatchOf } from "./dispatch.js";
import { Failure } from "./errors.js";
import { boolOf, type Evaluator, type Frame, noOverload } from "./frame.js";
import type { Overload } from "./overloads.js";
import {
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  typeNameOf,
  Uint,
  type Value,
} from "./values.js";

/** `&&` (false decides) and `||` (true decides): a failure on the other side may be irrelevant. */
export function logical(decisive: boolean, left: Evaluator, right: Evaluator): Evaluator {
  return (frame) => {
    let failure: Failure | undefined;
    try {
      const value = left(frame);
      if (value === decisive) return value;
      if (typeof value !== "boolean") failure = noOverload(decisive ? "_||_" : "_&&_", [value]);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      failure = error;
    }
    const value = right(frame);
    if (value === decisive) return value;
    if (failure !== undefined) throw failure;
    if (typeof value !== "boolean") throw noOverload(decisive ? "_||_" : "_&&_", [value]);
    return value;
  };
}

/** Costs its parts only. */
export function conditional(
  condition: Evaluator,
  whenTrue: Evaluator,
  whenFalse: Evaluator,
): Evaluator {
  return (frame) => (boolOf(condition(frame)) ? whenTrue(frame) : whenFalse(frame));
}

export function equality(wanted: boolean, left: Evaluator, right: Evaluator): Evaluator {
  const costOf: CostOf = ([a, b]) => (wanted && a instanceof OpaqueValue ? 1 : shorterCost(a, b));
  return (frame) => {
    let isLeftKnown = false;
    let a: Value = null;
    let b: Value = null;
    try {
      a = left(frame);
      isLeftKnown = true;
      b = right(frame);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      frame.spend(costOf(isLeftKnown ? [a, null] : [null, ...attempted(right, frame)]));
      throw error;
    }
    frame.spend(isSmall(a) && isSmall(b) ? 1 : costOf([a, b]));
    return equal(a, b, frame.charge) === wanted;
  };
}

/** Values that every comparison costs 1 for. */
const isSmall = (value: Value): boolean => typeof value === "bigint" || typeof value === "boolean";

type CostOf = (args: readonly Value[]) => number;

/**
 * The values of a call's arguments. Where one fails, and `||` or `&&` may still decide, the other one and
 * the call are paid for as kube-apiserver does it, which goes on with the failure as a value.
 */
function operands(args: readonly Evaluator[], frame: Frame, costOf: CostOf): Value[] {
  const values: Value[] = [];
  try {
    for (const arg of args) values.push(arg(frame));
    return values;
  } catch (error) {
    if (!(error instanceof Failure) || args.length > 2) throw error;
    const other = values.length === 0 ? args[1] : undefined;
    frame.spend(costOf([...values, null, ...attempted(other, frame)]));
    throw error;
  }
}

function attempted(step: Evaluator | undefined, frame: Frame): Value[] {
  if (step === undefined) return [];
  try {
    return [step(frame)];
  } catch (error) {
    if (error instanceof Failure) return [null];
    throw error;
  }
}

/** What `in` costs: by the list, nothing for one that is constant, and 1 otherwise. */
export type MembershipCost = "size" | "nothing" | "one";

export function membership(left: Evaluator, right: Evaluator, cost: MembershipCost): Evaluator {
  const costOf: CostOf = ([, container]) =>
    cost === "nothing" ? 0 : cost === "one" ? 1 : sizeWithin(container);
  return (frame) => {
    const [item = null, container = null] = operands([left, right], frame, costOf);
    frame.spend(costOf([item, container]));
    if (container instanceof MapValue) return container.get(item) !== undefined;
    if (!(container instanceof ListValue)) throw noOverload("@in", [item, container]);
    for (let at = 0; at < container.size; at++) {
      frame.charge(1);
      if (equal(item, container.at(at), frame.charge)) return true;
    }
    return false;
  };
}

/** Costs 1, but nothing where an optional index finds nothing. */
export function index(left: Evaluator, right: Evaluator, isOptional: boolean): Evaluator {
  return (frame) => {
    const target = left(frame);
    if (target instanceof Optional) {
      if (target.value === undefined) return target;
      return optional(itemAt(target.value, right(frame)), frame);
    }
    const key = right(frame);
    const found = itemAt(target, key);
    if (isOptional) return optional(found, frame);
    frame.spend(1);
    if (found !== undefined) return found;
    throw new Failure(
      target instanceof ListValue
        ? `index out of bounds: ${show(key)}`
        : `no such key: ${show(key)}`,
    );
  };
}

/** `a.b` and `a.?b`: like an index. */
export function selection(operand: Evaluator, field: string, isOptional: boolean): Evaluator {
  return (frame) => {
    const target = operand(frame);
    if (target instanceof Optional) {
      return target.value === undefined ? target : optional(lookUp(target.value, field), frame);
    }
    const found = lookUp(target, field);
    if (isOptional) return optional(found, frame);
    frame.spend(1);
    if (found === undefined) throw new Failure(`no such key: ${field}`);
    return found;
  };
}

/** `has(a.b)` costs 1 for the member and nothing for what it is a member of. */
export function presence(operand: Evaluator, field: string, cost: number): Evaluator {
  return (frame) => {
    const target = operand(frame);
    if (target instanceof Optional && target.value === undefined) return false;
    frame.spend(cost);
    return lookUp(target instanceof Optional ? target.value : target, field) !== undefined;
  };
}

export function orElse(receiver: Evaluator, alternative: Evaluator, isValue: boolean): Evaluator {
  return (frame) => {
    const target = receiver(frame);
    if (!(target instanceof Optional)) throw noOverload(isValue ? "orValue" : "or", [target]);
    if (target.value !== undefined) return isValue ? target.value : target;
    return alternative(frame);
  };
}

export function invocation(
  name: string,
  overloads: readonly Overload[],
  args: readonly Evaluator[],
): Evaluator {
  const dispatch = dispatchOf(overloads);
  const { running } = costsOf(overloads);
  const costOf: CostOf =
    typeof running === "function" ? running : () => (typeof running === "number" ? running : 0);
  return (frame) => {
    const values = operands(args, frame, costOf);
    const overload = dispatch(values);
    if (typeof running === "number") frame.spendFlat(running);
    else frame.spend(costOf(values));
    if (overload === undefined) throw noOverload(name, values);
    const result = overload.invoke(values, frame);
    if (typeof running === "object") frame.spend(running.ofResult(result));
    return result;
  };
}

/** Where several overloads fit, only costs that go by the name are known in advance. */
function costsOf(overloads: readonly Overload[]): CallCosts {
  const [first] = overloads;
  if (first === undefined) return FLAT;
  const isKnown = overloads.length === 1 || overloads.every(({ costs }) => costs.isByName);
  return isKnown ? first.costs : FLAT;
}

function itemAt(target: Value, key: Value): Value | undefined {
  if (target instanceof MapValue) return target.get(key);
  if (!(target instanceof ListValue)) throw noOverload("_[_]", [target, key]);
  const at = key instanceof Uint ? key.value : key;
  const isNumber = typeof at === "bigint" || (typeof at === "number" && Number.isInteger(at));
  if (!isNumber) throw new Failure(`unsupported index type '${typeNameOf(key)}' in list`);
  return at >= 0 && at < target.size ? target.at(Number(at)) : undefined;
}

function lookUp(target: Value | undefined, field: string): Value | undefined {
  if (target instanceof MapValue) return target.get(field);
  if (target === undefined) return undefined;
  throw new Failure(`no such overload: ${typeNameOf(target)}.${field}`);
}

function optional(value: Value | undefined, frame: Frame): Optional {
  if (value === undefined) return Optional.none;
  frame.spend(1);
  return new Optional(value);
}

function show(key: Value): string {
  if (typeof key === "string") return key.length > 100 ? `${key.slice(0, 100)}...` : key;
  return key instanceof Uint ? key.value.toString() : String(key);
}
