/** The total resources of a pod, counted as kube-apiserver does for limits of pods. Pure. */
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
  /** May be null, because plugins run before validation. */
  readonly containers?: readonly Container[] | null;
  readonly initContainers?: readonly Container[];
}

type Sum = Map<string, Quantity>;

/**
 * Containers run in parallel. Init containers run before them, one after another; restartable ones keep
 * running alongside all that follow.
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

/** Skips text that is not a quantity; validation of the type refuses it. */
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
