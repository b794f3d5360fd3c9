/** The quantity extension: exact arithmetic and comparison of resource quantities ("500m", "1Gi"). */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  QUANTITY_RULE,
  type Quantity,
} from "../../schema/quantity.js";
import { FLAT, PARSED } from "../cost/call-costs.js";
import { Failure } from "../errors.js";
import { fn, method, type Overload } from "../overloads.js";
import { INT_MAX, INT_MIN, OpaqueValue } from "../values.js";

/**
 * kube-apiserver holds most quantities as a 64-bit integer times a power of ten, and others as large decimals.
 * Only the first may be integers, and only those that were written without decimals.
 */
class QuantityValue extends OpaqueValue {
  override readonly typeName = "kubernetes.Quantity";
  readonly quantity: Quantity;
  readonly isLarge: boolean;

  constructor(quantity: Quantity, isLarge: boolean) {
    super();
    this.quantity = quantity;
    this.isLarge = isLarge;
  }

  override equals(other: OpaqueValue): boolean {
    return other instanceof QuantityValue && compareQuantities(this.quantity, other.quantity) === 0;
  }

  override toJson(): string {
    return formatQuantity(this.quantity);
  }
}

/** Decimals of large ones. */
const LARGE_DECIMALS = 9;

function quantityOf(text: string): QuantityValue {
  const quantity = parseQuantity(text);
  if (quantity === undefined) throw new Failure(QUANTITY_RULE);
  if (!isLarge(text)) return new QuantityValue(quantity, false);
  const { digits, scale } = quantity;
  const isScaled = digits === 0n || scale < -LARGE_DECIMALS;
  const scaled = isScaled
    ? quantity
    : {
        ...quantity,
        digits: digits * 10n ** BigInt(scale + LARGE_DECIMALS),
        scale: -LARGE_DECIMALS,
      };
  return new QuantityValue(scaled, true);
}

const PARTS = /^[+-]?(\d*)(?:\.(\d*))?(?:([KMGTPE])i|([eE][+-]?\d+)|([a-zA-Z]?))$/;
const DECIMAL_DIGITS_MAX = 18;
const BINARY_DIGITS_MAX = 14;
const EXPONENTS: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  "": 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

/** Whether a text has more digits than kube-apiserver reads into an integer, or decimals of a binary unit. */
function isLarge(text: string): boolean {
  const [, whole = "", decimals = "", unit, power, suffix = ""] = PARTS.exec(text) ?? [];
  const digits = Math.max(whole.replace(/^0+/, "").length, 1);
  if (unit !== undefined) {
    const bits = ("KMGTPE".indexOf(unit) + 1) * 10;
    return decimals !== "" || digits + Math.floor(bits * 0.3) > BINARY_DIGITS_MAX;
  }
  const exponent = power === undefined ? (EXPONENTS[suffix] ?? 0) : Number(power.slice(1));
  const isLong = digits + decimals.length > DECIMAL_DIGITS_MAX;
  return isLong || exponent - decimals.length < -LARGE_DECIMALS;
}

/** undefined unless the quantity is a 64-bit integer. */
function asInteger({ quantity: { digits, scale }, isLarge }: QuantityValue): bigint | undefined {
  if (isLarge || scale < 0) return undefined;
  const value = digits * 10n ** BigInt(Math.min(scale, 40));
  return isInt(value) ? value : undefined;
}

function isInt(value: bigint): boolean {
  return value <= INT_MAX && value >= INT_MIN;
}

/** As Go has it: of parts, each of which is the nearest double. */
function powerOfTen(exponent: number): number {
  const magnitude = Math.abs(exponent);
  const low = Number(`1e${magnitude % 32}`);
  const high = magnitude - (magnitude % 32);
  return exponent < 0 ? Number(`1e-${high}`) / low : Number(`1e${high}`) * low;
}

function negated({ quantity, isLarge }: QuantityValue): QuantityValue {
  const { digits, scale, format } = quantity;
  return new QuantityValue({ digits: -digits, scale, format }, isLarge);
}

function sum(left: QuantityValue, right: QuantityValue): QuantityValue {
  const isSmall = !left.isLarge && !right.isLarge;
  if (isSmall && right.quantity.digits === 0n) return left;
  const total = addQuantities(left.quantity, right.quantity);
  if (isSmall && left.quantity.digits === 0n)
    return new QuantityValue({ ...total, ...unitsOf(right) }, false);
  const scale = Math.min(left.quantity.scale, right.quantity.scale);
  const parts = [left, right].map(
    ({ quantity }) => quantity.digits * 10n ** BigInt(quantity.scale - scale),
  );
  const digits = parts.reduce((one, other) => one + other, 0n);
  return new QuantityValue(
    { ...total, digits, scale },
    !isSmall || ![...parts, digits].every(isInt),
  );
}

function unitsOf({ quantity: { digits, scale } }: QuantityValue) {
  return { digits, scale };
}

function ofInt(value: bigint): QuantityValue {
  return new QuantityValue({ digits: value, scale: 0, format: "decimal" }, false);
}

const TYPE = "kubernetes.Quantity";
type Q = QuantityValue;

export const QUANTITIES: readonly Overload[] = [
  fn("quantity", "string", TYPE, quantityOf, PARSED),
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
    ({ quantity: { digits, scale } }: Q) =>
      scale === 0 ? Number(digits) : Number(digits) * powerOfTen(scale),
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
  method("add", `${TYPE}, ${TYPE}`, TYPE, (a: Q, b: Q) => sum(a, b), FLAT),
  method("add", `${TYPE}, int`, TYPE, (a: Q, b: bigint) => sum(a, ofInt(b)), FLAT),
  method("sub", `${TYPE}, ${TYPE}`, TYPE, (a: Q, b: Q) => sum(a, negated(b)), FLAT),
  method("sub", `${TYPE}, int`, TYPE, (a: Q, b: bigint) => sum(a, ofInt(-b)), FLAT),
];
