/** Usage: amounts by the names that quotas have for them. Pure, exact arithmetic. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantities,
  ZERO_QUANTITY,
} from "../../schema/quantity.js";

/** Such as `pods` -> 1, `requests.cpu` -> 100m. */
export type Usage = ReadonlyMap<string, Quantity>;

/** As objects hold it. */
export type UsageTexts = Readonly<Record<string, string>>;

export const ONE: Quantity = Object.freeze({ digits: 1n, scale: 0, format: "decimal" });

/** A whole number of things. */
export function countOf(count: number): Quantity {
  return { digits: BigInt(count), scale: 0, format: "decimal" };
}

/** What is no amount is left out: the rules of the types refuse it. */
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

/** By how much `next` is more than `before`; names of which it is not are left out. */
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

/** Sorted by name, as objects hold it. */
export function formatUsage(usage: Usage): Record<string, string> {
  return Object.fromEntries(
    [...usage.keys()]
      .sort()
      .map((name) => [name, formatQuantity(usage.get(name) ?? ZERO_QUANTITY)]),
  );
}

/** For people: "cpu=1,pods=2", of the names that are asked for. */
export function describeUsage(usage: Usage, names: readonly string[]): string {
  return [...names]
    .sort()
    .map((name) => `${name}=${formatQuantity(usage.get(name) ?? ZERO_QUANTITY)}`)
    .join(",");
}
