/** The lists and sets extensions: order, sums, positions, slices, and lists as sets. */
import { type Charge, compare, equal } from "../comparison.js";
import { SCANNED } from "../cost/call-costs.js";
import {
  COUNTED,
  crossedSets,
  DISTINCT,
  FLATTENED,
  REVERSED,
  SLICED,
  sorted,
} from "../cost/list-costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { duration } from "../text.js";
import { Duration, ListValue, Uint, type Value } from "../values.js";
import { int, uint } from "./standard.js";

const COMPARABLE = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"];

function isSorted(list: ListValue, { charge }: CallContext): boolean {
  for (let at = 1; at < list.size; at++) {
    if (compare(list.at(at - 1), list.at(at), charge) > 0) return false;
  }
  return true;
}

function extreme(sign: 1 | -1, name: string) {
  return (list: ListValue, { charge }: CallContext): Value => {
    if (list.size === 0) throw new Failure(`${name} called on empty list`);
    let best = list.at(0);
    for (let at = 1; at < list.size; at++) {
      const item = list.at(at);
      if (compare(item, best, charge) * sign > 0) best = item;
    }
    return best;
  };
}

/** The sum of an empty list depends on its declared type. */
function sum(zero: Value) {
  return (list: ListValue): Value => {
    let total = zero;
    for (const item of list) total = add(total, item);
    return total;
  };
}

function add(left: Value, right: Value): Value {
  if (typeof left === "bigint" && typeof right === "bigint") return int(left + right);
  if (typeof left === "number" && typeof right === "number") return left + right;
  if (left instanceof Uint && right instanceof Uint) return uint(left.value + right.value);
  if (left instanceof Duration && right instanceof Duration) {
    return duration(left.nanos + right.nanos);
  }
  throw new Failure("no such overload: sum");
}

/** Without a declared type the first element determines the sum's type. */
function sumOfAny(list: ListValue): Value {
  if (list.size === 0) return 0n;
  let total = list.at(0);
  for (let at = 1; at < list.size; at++) total = add(total, list.at(at));
  return total;
}

function indexOf(list: ListValue, item: Value, { charge }: CallContext): bigint {
  for (let at = 0; at < list.size; at++) {
    if (equal(list.at(at), item, charge)) return BigInt(at);
  }
  return -1n;
}

function lastIndexOf(list: ListValue, item: Value, { charge }: CallContext): bigint {
  for (let at = list.size - 1; at >= 0; at--) {
    if (equal(list.at(at), item, charge)) return BigInt(at);
  }
  return -1n;
}

function slice(list: ListValue, from: bigint, to: bigint, { charge }: CallContext): ListValue {
  charge(list.size);
  const problem = sliceProblem(list, from, to);
  if (problem !== undefined) throw new Failure(`cannot slice(${from}, ${to}), ${problem}`);
  return new ListValue(list.toArray().slice(Number(from), Number(to)));
}

function sliceProblem(list: ListValue, from: bigint, to: bigint): string | undefined {
  if (from < 0n || to < 0n) return "negative indexes not supported";
  if (from > to) return "start index must be less than or equal to end index";
  return to > list.size ? `list is length ${list.size}` : undefined;
}

function sort(list: ListValue, { charge }: CallContext): ListValue {
  charge(list.size * Math.ceil(Math.log2(list.size + 1)));
  return new ListValue([...list].sort((a, b) => compare(a, b, charge)));
}

function distinct(list: ListValue, { charge }: CallContext): ListValue {
  const items: Value[] = [];
  for (const item of list) {
    if (!contains(items, item, charge)) items.push(item);
  }
  return new ListValue(items);
}

function contains(items: Iterable<Value>, wanted: Value, charge: Charge): boolean {
  for (const item of items) {
    charge(1);
    if (equal(item, wanted, charge)) return true;
  }
  return false;
}

function flatten(list: ListValue, depth: bigint, { charge }: CallContext): ListValue {
  if (depth < 0n) throw new Failure("level must be non-negative");
  const items: Value[] = [];
  const walk = (part: ListValue, left: number) => {
    for (const item of part) {
      charge(1);
      if (item instanceof ListValue && left > 0) walk(item, left - 1);
      else items.push(item);
    }
  };
  walk(list, Number(depth > 64n ? 64n : depth));
  return new ListValue(items);
}

/** The maximum length of a range. */
const RANGE_MAX = 100_000n;

function range(count: bigint, { charge }: CallContext): ListValue {
  if (count > RANGE_MAX) throw new Failure(`range is longer than ${RANGE_MAX}`);
  const size = Math.max(0, Number(count));
  charge(size);
  return new ListValue(Array.from({ length: size }, (_, at) => BigInt(at)));
}

function isSubset(list: ListValue, part: ListValue, charge: Charge): boolean {
  for (const item of part) if (!contains(list, item, charge)) return false;
  return true;
}

export const LISTS: readonly Overload[] = [
  ...COMPARABLE.flatMap((type) => [
    method("isSorted", `list<${type}>`, "bool", isSorted, SCANNED),
    method("min", `list<${type}>`, type, extreme(-1, "min"), SCANNED),
    method("max", `list<${type}>`, type, extreme(1, "max"), SCANNED),
    method("sort", `list<${type}>`, `list<${type}>`, sort, sorted(type, 0)),
  ]),
  method("sum", "list<int>", "int", sumOfAny, SCANNED),
  method("sum", "list<uint>", "uint", sum(new Uint(0n)), SCANNED),
  method("sum", "list<double>", "double", sum(0), SCANNED),
  method("sum", "list<duration>", "duration", sum(new Duration(0n)), SCANNED),
  method("indexOf", "list<A>, A", "int", indexOf, SCANNED),
  method("lastIndexOf", "list<A>, A", "int", lastIndexOf, SCANNED),
  method("slice", "list<A>, int, int", "list<A>", slice, SLICED),
  method("distinct", "list<A>", "list<A>", distinct, DISTINCT),
  method(
    "reverse",
    "list<A>",
    "list<A>",
    (list: ListValue) => new ListValue([...list].reverse()),
    REVERSED,
  ),
  method(
    "flatten",
    "list<list<A>>",
    "list<A>",
    (list: ListValue, context: CallContext) => flatten(list, 1n, context),
    FLATTENED,
  ),
  method("flatten", "list<dyn>, int", "list<dyn>", flatten, FLATTENED),
  fn("lists.range", "int", "list<int>", range, COUNTED),
  fn(
    "sets.contains",
    "list<A>, list<A>",
    "bool",
    (list: ListValue, part: ListValue, { charge }: CallContext) => isSubset(list, part, charge),
    crossedSets(1),
  ),
  fn(
    "sets.equivalent",
    "list<A>, list<A>",
    "bool",
    (left: ListValue, right: ListValue, { charge }: CallContext) =>
      isSubset(left, right, charge) && isSubset(right, left, charge),
    crossedSets(2),
  ),
  fn(
    "sets.intersects",
    "list<A>, list<A>",
    "bool",
    (left: ListValue, right: ListValue, { charge }: CallContext) => {
      for (const item of right) if (contains(left, item, charge)) return true;
      return false;
    },
    crossedSets(1),
  ),
];
