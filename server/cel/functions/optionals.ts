/** Optional values: creation, tests and fallbacks. The planner implements `or` and `orValue`. */
import { FLAT } from "../cost/call-costs.js";
import { Failure } from "../errors.js";
import { type CallContext, fn, method, type Overload } from "../overloads.js";
import { ListValue, MapValue, Optional, Uint, type Value } from "../values.js";

function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0n || value === 0) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0;
  return false;
}

function planned(): never {
  throw new Failure("not a function");
}

export const OPTIONALS: readonly Overload[] = [
  fn("optional.of", "A", "optional<A>", (value: Value) => new Optional(value), FLAT),
  fn("optional.none", "", "optional<A>", () => Optional.none, FLAT),
  fn(
    "optional.ofNonZeroValue",
    "A",
    "optional<A>",
    (value: Value) => (isZero(value) ? Optional.none : new Optional(value)),
    FLAT,
  ),
  method("hasValue", "optional<A>", "bool", ({ value }: Optional) => value !== undefined, FLAT),
  method(
    "value",
    "optional<A>",
    "A",
    ({ value }: Optional) => {
      if (value === undefined) throw new Failure("optional.none() dereference");
      return value;
    },
    FLAT,
  ),
  method("or", "optional<A>, optional<A>", "optional<A>", planned, FLAT),
  method("orValue", "optional<A>, A", "A", planned, FLAT),
  fn("optional.unwrap", "list<optional<A>>", "list<A>", unwrapAll, FLAT),
  method("unwrapOpt", "list<optional<A>>", "list<A>", unwrapAll, FLAT),
  method("first", "list<A>", "optional<A>", (list: ListValue) => itemOf(list, 0), FLAT),
  method("last", "list<A>", "optional<A>", (list: ListValue) => itemOf(list, list.size - 1), FLAT),
];

function itemOf(list: ListValue, at: number): Optional {
  return list.size === 0 ? Optional.none : new Optional(list.at(at));
}

function unwrapAll(list: ListValue, { charge }: CallContext): Value {
  charge(list.size);
  const items: Value[] = [];
  for (const item of list) {
    if (!(item instanceof Optional)) throw new Failure("no such overload: optional.unwrap");
    if (item.value !== undefined) items.push(item.value);
  }
  return new ListValue(items);
}
