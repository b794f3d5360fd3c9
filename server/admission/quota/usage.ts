/** Usage: amounts by quota resource name. Pure, exact arithmetic. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantities,
  ZERO_QUANTITY,
} from "../../schema/quantity.js";

/** For example `pods` -> 1, `requests.cpu` -> 100m. */
export type Usage = ReadonlyMap<string, Quantity>;

/** In the form that objects have. */
export type UsageTexts = Readonly<Record<string, string>>;

export const ONE: Quantity = Object.freeze({ digits: 1n, scale: 0, format: "decimal" });

/** An integral quantity. */
export function countOf(count: number): Quantity {
  return { digits: BigInt(count), scale: 0, format: "decimal" };
}

/** Skips text that is not a quantity; validation of the type refuses it. */
export function parseUsage(texts: UsageTexts | null | undefined): Map<string, Quantity> {
  const usage = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(texts ?? {})) {
    const quantity = parseQuantity(text);
    if (quantity !== undefined) usage.set(name, quantity);
  }
  return usage;
}

export function addTo(total: Map<string, Quantity>, usage: Usage): void {
  for (const [name, quantity] of usage) {
    const known = total.get(name);
    total.set(name, known === undefined ? quantity : addQuantities(known, quantity));
  }
}

/** The growth from `before` to `next`; names without growth are left out. */
export function increase(next: Usage, before: Usage): Map<string, Quantity> {
  const more = new Map<string, Quantity>();
  for (const [name, quantity] of next) {
    const difference = subtractQuantities(quantity, before.get(name) ?? ZERO_QUANTITY);
    if (difference.digits > 0n) more.set(name, difference);
  }
  return more;
}

export function isSameUsage(left: Usage, right: Usage): boolean {
  if (left.size !== right.size) return false;
  for (const [name, quantity] of left) {
    const other = right.get(name);
    if (other === undefined || compareQuantities(quantity, other) !== 0) return false;
  }
  return true;
}

/** Sorted by name, in the form that objects have. */
export function formatUsage(usage: Usage): Record<string, string> {
  return Object.fromEntries(
    [...usage.keys()]
      .sort()
      .map((name) => [name, formatQuantity(usage.get(name) ?? ZERO_QUANTITY)]),
  );
}

/** For messages: "cpu=1,pods=2", limited to the given names. */
export function describeUsage(usage: Usage, names: readonly string[]): string {
  return [...names]
    .sort()
    .map((name) => `${name}=${formatQuantity(usage.get(name) ?? ZERO_QUANTITY)}`)
    .join(",");
}
