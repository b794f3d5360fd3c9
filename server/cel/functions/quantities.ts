/** The quantity extension: exact arithmetic and comparison of resource quantities ("500m", "1Gi"). */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
} from "../../schema/quantity.js";
import { FLAT, PARSED } from "../cost/call-costs.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { INT_MAX, INT_MIN, OpaqueValue } from "../values.js";

class QuantityValue extends OpaqueValue {
  override readonly typeName = "kubernetes.Quantity";
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }

  override toJson(): string {
    return formatQuantity(this.quantity);
  }
}

/** undefined unless the quantity is a 64-bit integer. */
function asInteger({ quantity: { digits, scale } }: QuantityValue): bigint | undefined {
  const value = scale >= 0 ? digits * 10n ** BigInt(Math.min(scale, 40)) : divided(digits, -scale);
  return value === undefined || value > INT_MAX || value < INT_MIN ? undefined : value;
}

function divided(digits: bigint, places: number): bigint | undefined {
  const divisor = 10n ** BigInt(places);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

function negated({ digits, scale, format }: Quantity): Quantity {
  return { digits: -digits, scale, format };
}

function sum(left: Quantity, right: Quantity): QuantityValue {
  return new QuantityValue(addQuantities(left, right));
}

function ofInt(value: bigint): Quantity {
  return { digits: value, scale: 0, format: "decimal" };
}

const TYPE = "kubernetes.Quantity";
type Q = QuantityValue;

export const QUANTITIES: readonly Overload[] = [
  fn(
    "quantity",
    "string",
    TYPE,
    (text: string) => {
      const quantity = parseQuantity(text);
      if (quantity === undefined) {
        throw new Failure("quantity parse error: quantities must match the regular expression");
      }
      return new QuantityValue(quantity);
    },
    PARSED,
  ),
  fn("isQuantity", "string", "bool", (text: string) => parseQuantity(text) !== undefined, PARSED),
  fn(
    "sign",
    TYPE,
    "int",
    ({ quantity: { digits } }: Q) => (digits === 0n ? 0n : digits < 0n ? -1n : 1n),
    FLAT,
  ),
  method("isInteger", TYPE, "bool", (value: Q) => asInteger(value) !== undefined, FLAT),
  method(
    "asInteger",
    TYPE,
    "int",
    (value: Q) => {
      const integer = asInteger(value);
      if (integer === undefined) throw new Failure("cannot convert value to integer");
      return integer;
    },
    FLAT,
  ),
  method(
    "asApproximateFloat",
    TYPE,
    "double",
    ({ quantity: { digits, scale } }: Q) => Number(`${digits}e${scale}`),
    FLAT,
  ),
  method(
    "isGreaterThan",
    `${TYPE}, ${TYPE}`,
    "bool",
    (a: Q, b: Q) => compareQuantities(a.quantity, b.quantity) > 0,
    FLAT,
  ),
  method(
    "isLessThan",
    `${TYPE}, ${TYPE}`,
    "bool",
    (a: Q, b: Q) => compareQuantities(a.quantity, b.quantity) < 0,
    FLAT,
  ),
  method(
    "compareTo",
    `${TYPE}, ${TYPE}`,
    "int",
    (a: Q, b: Q) => BigInt(compareQuantities(a.quantity, b.quantity)),
    FLAT,
  ),
  method("add", `${TYPE}, ${TYPE}`, TYPE, (a: Q, b: Q) => sum(a.quantity, b.quantity), FLAT),
  method("add", `${TYPE}, int`, TYPE, (a: Q, b: bigint) => sum(a.quantity, ofInt(b)), FLAT),
  method(
    "sub",
    `${TYPE}, ${TYPE}`,
    TYPE,
    (a: Q, b: Q) => sum(a.quantity, negated(b.quantity)),
    FLAT,
  ),
  method("sub", `${TYPE}, int`, TYPE, (a: Q, b: bigint) => sum(a.quantity, ofInt(-b)), FLAT),
];
