/** Optional values: creation, tests and fallbacks. The planner implements `or` and `orValue`. */
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
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
  fn("optional.of", "A", "optional<A>", (value: Value) => new Optional(value)),
  fn("optional.none", "", "optional<A>", () => Optional.none),
  fn("optional.ofNonZeroValue", "A", "optional<A>", (value: Value) =>
    isZero(value) ? Optional.none : new Optional(value),
  ),
  method("hasValue", "optional<A>", "bool", ({ value }: Optional) => value !== undefined),
  method("value", "optional<A>", "A", ({ value }: Optional) => {
    if (value === undefined) throw new Failure("optional.none() dereference");
    return value;
  }),
  method("or", "optional<A>, optional<A>", "optional<A>", planned),
  method("orValue", "optional<A>, A", "A", planned),
  fn("optional.unwrap", "list<optional<A>>", "list<A>", unwrapAll, {
    cost: ([size = 1]) => size,
  }),
  method("unwrapOpt", "list<optional<A>>", "list<A>", unwrapAll, { cost: ([size = 1]) => size }),
];

function unwrapAll(list: ListValue): Value {
  const items: Value[] = [];
  for (const item of list) {
    if (!(item instanceof Optional)) throw new Failure("no such overload: optional.unwrap");
    if (item.value !== undefined) items.push(item.value);
  }
  return new ListValue(items);
}
