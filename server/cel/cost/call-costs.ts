/**
 * CallCosts: what a call of an overload costs, estimated and when it runs. Every overload has both. The
 * rules and numbers are kube-apiserver's: where they look odd (a prefix test is estimated by the prefix and
 * charged by the text), that is what decides there whether a definition is accepted.
 */
import { REGEX_FACTOR as PATTERN, TRAVERSAL_FACTOR as TRAVERSAL } from "../costs.js";
import type { Type } from "../types.js";
import {
  codePointLength,
  ListValue,
  MapValue,
  OpaqueValue,
  Optional,
  type Value,
} from "../values.js";
import { ENDLESS, exactly, productOf, type Range, scaled, sum, sumOf, union } from "./ranges.js";

/** An argument in an estimate. */
export interface Part {
  readonly size: Range;
  /** Whether anything is known about the size. */
  readonly isSized: boolean;
  readonly type: Type;
  /** Of a literal. */
  readonly literal: Value | undefined;
  /** The items of a typed list. */
  items(): { readonly size: Range; readonly type: Type } | undefined;
}

export interface Estimate {
  readonly cost: number;
  /** Of the result, if the overload bounds it. */
  readonly size?: Range;
}

/** The same for all arguments, by the arguments, or by what the call makes of them. */
export type Running =
  | number
  | ((args: readonly Value[]) => number)
  | { readonly ofResult: (result: Value) => number };

export interface CallCosts {
  /** @param parts the arguments, a receiver first */
  readonly estimate: (parts: readonly Part[]) => Estimate;
  readonly running: Running;
  /** Whether it also applies where the overload shows only at run time; else such calls cost 1. */
  readonly isByName: boolean;
}

/** The size of a value for the cost of functions. */
export function sizeOf(value: Value | undefined): number {
  if (typeof value === "string") return codePointLength(value);
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof ListValue || value instanceof MapValue) return value.size;
  return value instanceof OpaqueValue ? value.size : 1;
}

/** The same where an optional counts as its value. */
export function sizeWithin(value: Value | undefined): number {
  return value instanceof Optional && value.value !== undefined
    ? sizeWithin(value.value)
    : sizeOf(value);
}

type Estimator = CallCosts["estimate"];

/** A cost that kube-apiserver finds by the function's name: it holds for every overload. */
export const byName = (estimate: Estimator, running: Running): CallCosts => ({
  estimate,
  running,
  isByName: true,
});
/** A cost that kube-apiserver finds by the overload. */
export const byOverload = (estimate: Estimator, running: Running): CallCosts => ({
  estimate,
  running,
  isByName: false,
});

const NOTHING: Part = {
  size: exactly(1),
  isSized: true,
  type: { kind: "dyn" },
  literal: undefined,
  items: () => undefined,
};
const at = (parts: readonly Part[], index: number): Part => parts[index] ?? NOTHING;

const one: Estimator = () => ({ cost: 1 });
/** Everything that does not go through its arguments. */
export const FLAT: CallCosts = byOverload(one, 1);

const through =
  (factor: number, keepsSize: boolean): Estimator =>
  ([part = NOTHING]) => ({
    cost: scaled(part.size.max, factor),
    ...(keepsSize && { size: part.size }),
  });

/** Goes through its first argument; the result is no larger, or has no size. */
export const TRAVERSED: CallCosts = byName(through(TRAVERSAL, true), ([value]) =>
  Math.ceil(sizeOf(value) * TRAVERSAL),
);
export const PARSED: CallCosts = byName(through(TRAVERSAL, false), TRAVERSED.running);
export const PARSED_TWICE: CallCosts = byName(through(2 * TRAVERSAL, false), ([value]) =>
  Math.ceil(sizeOf(value) * 2 * TRAVERSAL),
);

/** From text to bytes and back: a character has up to four bytes. */
export const TO_BYTES: CallCosts = byOverload(
  ([{ size } = NOTHING]) => ({
    cost: scaled(size.max, TRAVERSAL),
    size: { min: size.min, max: Math.min(size.max * 4, ENDLESS) },
  }),
  ([value]) => Math.ceil(sizeWithin(value) * TRAVERSAL),
);
export const TO_TEXT: CallCosts = byOverload(
  ([{ size } = NOTHING]) => ({
    cost: scaled(size.max, TRAVERSAL),
    size: { min: Math.floor(size.min / 4), max: size.max },
  }),
  TO_BYTES.running,
);
/** Each character may be escaped. kube-apiserver's maximum overflows to 0 for an unbounded text. */
export const QUOTED: CallCosts = byOverload(
  ([{ size } = NOTHING]) => ({
    cost: scaled(size.max, TRAVERSAL),
    size: { min: size.min + 2, max: size.max >= ENDLESS ? 0 : size.max * 2 + 2 },
  }),
  TO_BYTES.running,
);
export const FORMATTED: CallCosts = byOverload(through(TRAVERSAL, false), TO_BYTES.running);

/** `startsWith`, `endsWith`. */
export const AFFIX: CallCosts = byOverload(
  (parts) => ({ cost: scaled(at(parts, 1).size.max, TRAVERSAL) }),
  TO_BYTES.running,
);
export const CONTAINS: CallCosts = byOverload(
  (parts) => ({
    cost: crossed(
      scaled(at(parts, 0).size.max, TRAVERSAL),
      scaled(at(parts, 1).size.max, TRAVERSAL),
    ),
  }),
  ([text, search]) =>
    Math.ceil(sizeWithin(text) * TRAVERSAL) * Math.ceil(sizeWithin(search) * TRAVERSAL),
);

function crossed(left: number, right: number): number {
  return left === 0 || right === 0 ? 0 : Math.min(left * right, ENDLESS);
}

/** One is added to the text's length, so that an empty text does not make a pattern free. */
function matching(parts: readonly Part[]): number {
  const text = scaled(sum(at(parts, 0).size.max, 1), TRAVERSAL);
  return crossed(text, scaled(at(parts, 1).size.max, PATTERN));
}
export const matchingCost = (text: number, pattern: number): number =>
  Math.ceil((1 + text) * TRAVERSAL) * Math.ceil(pattern * PATTERN);

export const MATCHES: CallCosts = byOverload(
  (parts) => ({ cost: matching(parts) }),
  ([text, pattern]) => matchingCost(sizeWithin(text), sizeWithin(pattern)),
);
export const FOUND: CallCosts = byName(
  (parts) => ({ cost: matching(parts), size: { min: 0, max: at(parts, 0).size.max } }),
  ([text, pattern]) => matchingCost(sizeOf(text), sizeOf(pattern)),
);

/** `x in list`. */
export const MEMBERSHIP: CallCosts = byOverload(
  (parts) => ({ cost: at(parts, 1).size.max }),
  (args) => sizeWithin(args[1]),
);

const shorter = (parts: readonly Part[]) =>
  scaled(Math.min(at(parts, 0).size.max, at(parts, 1).size.max), TRAVERSAL);
export const shorterCost = (left: Value | undefined, right: Value | undefined): number =>
  Math.ceil(Math.min(sizeWithin(left), sizeWithin(right)) * TRAVERSAL);

/** Order of texts and bytes, and `!=`. */
export const COMPARED: CallCosts = byOverload(
  (parts) => ({ cost: shorter(parts) }),
  ([left, right]) => shorterCost(left, right),
);

/** Extension types whose equality costs 1; the others compare as texts do. */
const EQUAL_AT_ONCE: ReadonlySet<string> = new Set([
  "net.IP",
  "net.CIDR",
  "kubernetes.Quantity",
  "kubernetes.Semver",
  "kubernetes.authorization.Authorizer",
  "kubernetes.authorization.PathCheck",
  "kubernetes.authorization.GroupCheck",
  "kubernetes.authorization.ResourceCheck",
  "kubernetes.authorization.Decision",
]);
const FORMAT_SIZE_MAX = 64;

export const EQUALITY: CallCosts = byOverload(
  (parts) => {
    const [left = NOTHING, right = NOTHING] = parts;
    const name = left.type.kind === "named" ? left.type.name : undefined;
    if (name !== undefined && right.type.kind === "named" && right.type.name === name) {
      if (EQUAL_AT_ONCE.has(name)) return { cost: 1 };
      if (name === "kubernetes.NamedFormat") return { cost: scaled(FORMAT_SIZE_MAX, TRAVERSAL) };
      if (name === "kubernetes.URL") {
        return { cost: scaled(right.isSized ? right.size.max : 1, TRAVERSAL) };
      }
    }
    return { cost: shorter(parts) };
  },
  ([left, right]) => (left instanceof OpaqueValue ? 1 : shorterCost(left, right)),
);

/** `+` of texts and bytes, which copies both. */
export const CONCATENATED: CallCosts = byOverload(
  (parts) => {
    const size = sumOf(at(parts, 0).size, at(parts, 1).size);
    return { cost: scaled(size.max, TRAVERSAL), size };
  },
  ([left, right]) => Math.ceil((sizeWithin(left) + sizeWithin(right)) * TRAVERSAL),
);
/** `+` of lists. */
export const APPENDED: CallCosts = byOverload(
  (parts) => ({ cost: 1, size: sumOf(at(parts, 0).size, at(parts, 1).size) }),
  1,
);
/** `?:` costs its parts; the estimate adds them. */
export const CHOSEN: CallCosts = byOverload(
  (parts) => ({ cost: 0, size: union(at(parts, 1).size, at(parts, 2).size) }),
  0,
);
export const FREE: CallCosts = byOverload(() => ({ cost: 0 }), 0);

/** Goes through lists and maps in depth. */
export function traversalCost(value: Value): number {
  if (typeof value === "string") return Math.floor(Buffer.byteLength(value) * TRAVERSAL);
  if (value instanceof Uint8Array) return Math.floor(value.length * TRAVERSAL);
  let cost = 0;
  if (value instanceof ListValue) {
    for (const item of value) cost += traversalCost(item);
    return cost;
  }
  if (!(value instanceof MapValue)) return 1;
  for (const key of value.keys()) {
    const member = value.get(key);
    cost += traversalCost(key) + (member === undefined ? 1 : traversalCost(member));
  }
  return cost;
}

/** `sum`, `min`, `indexOf` and the like, of lists and of texts. */
export const SCANNED: CallCosts = byName(
  (parts) => {
    const list = at(parts, 0);
    const items = list.items();
    if (items === undefined) return { cost: scaled(list.size.max, TRAVERSAL) };
    const isText =
      items.type.kind === "simple" && (items.type.name === "string" || items.type.name === "bytes");
    const each = isText ? sum(1, scaled(items.size.max, TRAVERSAL)) : 1;
    return { cost: productOf(list.size, exactly(each)).max };
  },
  ([value = null]) => traversalCost(value),
);
