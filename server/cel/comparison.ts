/**
 * Equality and order of values: numbers compare across types, strings by code point, maps and lists by
 * content. Comparing content is charged as it proceeds.
 */
import { compareTexts } from "../../storage/base/compare-texts.js";
import { TRAVERSAL_FACTOR } from "./costs.js";
import { Failure } from "./errors.js";
import {
  Duration,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from "./values.js";
import { UnorderedListValue } from "./values-of-schemas.js";

/** Counts work that no cost bounds. @throws {BudgetExceeded} */
export type Charge = (cost: number) => void;

export function equal(left: Value, right: Value, charge: Charge): boolean {
  if (typeof left === "string") {
    if (typeof right !== "string") return false;
    chargeText(left, right, charge);
    return left === right;
  }
  if (left === right) return true;
  if (left === null || right === null) return false;
  const leftNumber = numberOf(left);
  if (leftNumber !== undefined) {
    const rightNumber = numberOf(right);
    return rightNumber !== undefined && orderOf(leftNumber, rightNumber) === 0;
  }
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (left instanceof ListValue) {
    return right instanceof ListValue && equalLists(left, right, charge);
  }
  if (left instanceof MapValue) return right instanceof MapValue && equalMaps(left, right, charge);
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof Uint8Array) {
    if (!(right instanceof Uint8Array)) return false;
    chargeText(left, right, charge);
    return Buffer.compare(left, right) === 0;
  }
  if (left instanceof Optional) {
    if (!(right instanceof Optional)) return false;
    if (left.value === undefined || right.value === undefined) return left.value === right.value;
    return equal(left.value, right.value, charge);
  }
  return left instanceof OpaqueValue && right instanceof OpaqueValue
    ? left.typeName === right.typeName && left.equals(right)
    : false;
}

function equalLists(left: ListValue, right: ListValue, charge: Charge): boolean {
  if (left.size !== right.size) return false;
  if (left instanceof UnorderedListValue) {
    return left.holdsAll(right, (mine, other) => {
      charge(1);
      return equal(mine, other, charge);
    });
  }
  for (let index = 0; index < left.size; index++) {
    charge(1);
    if (!equal(left.at(index), right.at(index), charge)) return false;
  }
  return true;
}

function equalMaps(left: MapValue, right: MapValue, charge: Charge): boolean {
  if (left.size !== right.size) return false;
  for (const key of left.keys()) {
    charge(1);
    const mine = left.get(key);
    const other = right.get(key);
    if (mine === undefined || other === undefined) {
      if (mine !== other) return false;
    } else if (!equal(mine, other, charge)) return false;
  }
  return true;
}

function numberOf(value: Value): bigint | number | undefined {
  if (typeof value === "bigint" || typeof value === "number") return value;
  return value instanceof Uint ? value.value : undefined;
}

/** An int compared with a double counts as a double, as specified. NaN is unordered. */
function orderOf(leftValue: bigint | number, rightValue: bigint | number): number {
  const isMixed = typeof leftValue !== typeof rightValue;
  const left = isMixed ? Number(leftValue) : leftValue;
  const right = isMixed ? Number(rightValue) : rightValue;
  if (left < right) return -1;
  if (left > right) return 1;
  return left <= right ? 0 : Number.NaN;
}

interface HasLength {
  readonly length: number;
}

/** Strings and bytes are compared up to the end of the shorter one. */
function chargeText(left: HasLength, right: HasLength, charge: Charge): void {
  charge(Math.ceil(Math.min(left.length, right.length) * TRAVERSAL_FACTOR));
}

/** Negative, zero or positive; NaN if a NaN is compared. @throws {Failure} */
export function compare(left: Value, right: Value, charge: Charge): number {
  const leftNumber = numberOf(left);
  const rightNumber = numberOf(right);
  if (leftNumber !== undefined && rightNumber !== undefined) {
    return orderOf(leftNumber, rightNumber);
  }
  if (typeof left === "string" && typeof right === "string") {
    chargeText(left, right, charge);
    return compareTexts(left, right);
  }
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right);
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    chargeText(left, right, charge);
    return Buffer.compare(left, right);
  }
  const isTimes = left instanceof Timestamp && right instanceof Timestamp;
  const isDurations = left instanceof Duration && right instanceof Duration;
  if (isTimes || isDurations) {
    return left.nanos < right.nanos ? -1 : left.nanos > right.nanos ? 1 : 0;
  }
  throw new Failure("no such overload");
}
