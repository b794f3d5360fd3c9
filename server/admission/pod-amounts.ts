/** What a pod asks for altogether, by resource: pure. As upstream counts for limits of pods. */
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  type Quantity,
} from "../schema/quantity.js";

/** Amounts by resource, such as { cpu: "100m" }. */
export type Amounts = Readonly<Record<string, string>>;

export interface Container {
  name?: string;
  restartPolicy?: string;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
}

export interface PodContainers {
  /** null until the rules of the type refuse it: plugins see pods before that. */
  readonly containers?: readonly Container[] | null;
  readonly initContainers?: readonly Container[];
}

type Sum = Map<string, Quantity>;

/**
 * Containers run side by side; init containers one after the other before them, unless they are told
 * to stay, and then beside all that follows.
 */
export function podAmounts(
  { containers, initContainers = [] }: PodContainers,
  what: "requests" | "limits",
): ReadonlyMap<string, Quantity> {
  const total: Sum = new Map();
  for (const container of containers ?? []) add(total, amountsOf(container, what));
  const staying: Sum = new Map();
  const highest: Sum = new Map();
  for (const container of initContainers) {
    const own = amountsOf(container, what);
    let peak = new Map(staying);
    add(peak, own);
    if (container.restartPolicy === "Always") {
      add(total, own);
      add(staying, own);
      peak = new Map(staying);
    }
    raise(highest, peak);
  }
  raise(total, highest);
  return total;
}

/** What is no amount counts as nothing: the rules of the type refuse it. */
export function amountsOf({ resources }: Container, what: "requests" | "limits"): Sum {
  return parseAmounts(resources?.[what] ?? {});
}

export function parseAmounts(amounts: Amounts): Sum {
  const parsed: Sum = new Map();
  for (const [name, text] of Object.entries(amounts)) {
    const quantity = parseQuantity(text);
    if (quantity !== undefined) parsed.set(name, quantity);
  }
  return parsed;
}

function add(total: Sum, amounts: Sum): void {
  for (const [name, quantity] of amounts) {
    const known = total.get(name);
    total.set(name, known === undefined ? quantity : addQuantities(known, quantity));
  }
}

function raise(total: Sum, amounts: Sum): void {
  for (const [name, quantity] of amounts) {
    const known = total.get(name);
    if (known === undefined || compareQuantities(quantity, known) > 0) total.set(name, quantity);
  }
}
