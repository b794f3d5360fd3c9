/**
 * Recounts the usage of a quota. Reads the objects of a namespace as of one moment, and lets others have the
 * thread between two of them.
 */
import type { ApiObject } from "../../api/meta.js";
import type { Quantity } from "../../schema/quantity.js";
import { ZERO_QUANTITY } from "../../schema/quantity.js";
import type { Evaluator } from "./evaluator.js";
import type { QuotaObject } from "./quota-object.js";
import { hasScopes, isInScopes } from "./scopes.js";
import { addTo, countOf, parseUsage, type Usage } from "./usage.js";

/** The objects of one resource in the quota's namespace. */
export interface Countable {
  readonly evaluator: Evaluator;
  /** As of the start of the recount, whenever it is iterated. */
  readonly objects: Iterable<ApiObject>;
  readonly count: number;
}

/**
 * Recounts the quota resources that have an evaluator; the others keep their recorded usage.
 * @param yieldIfLong awaited before each object, as one may be a megabyte; see ShortTurns
 */
export async function recount(
  quota: QuotaObject,
  countables: readonly Countable[],
  nowMs: number,
  yieldIfLong: () => Promise<void> | undefined,
): Promise<Usage> {
  const hard = Object.keys(quota.spec?.hard ?? {});
  const known = parseUsage(quota.status?.used);
  const used = new Map<string, Quantity>();
  for (const name of hard) {
    const isCounted = countables.some(({ evaluator }) => evaluator.uses(name));
    const last = isCounted ? ZERO_QUANTITY : known.get(name);
    if (last !== undefined) used.set(name, last);
  }
  for (const { evaluator, objects, count } of countables) {
    const names = hard.filter((name) => evaluator.uses(name));
    if (names.length === 0) continue;
    if (evaluator.isCount === true) {
      const isCounted = !hasScopes(quota);
      if (isCounted) addTo(used, new Map(names.map((name) => [name, countOf(count)])));
      continue;
    }
    const total = new Map<string, Quantity>();
    for (const object of objects) {
      const yielded = yieldIfLong();
      if (yielded !== undefined) await yielded;
      const usage = usageOf(quota, evaluator, object, nowMs);
      if (usage !== undefined) addTo(total, usage);
    }
    // Pods and claims of devices may use the same.
    addTo(used, new Map(names.map((name) => [name, total.get(name) ?? ZERO_QUANTITY])));
  }
  return used;
}

/**
 * The object's usage of the quota. An object changed from outside may have any content below its
 * metadata; an unreadable one is left out and the others count.
 */
function usageOf(
  quota: QuotaObject,
  evaluator: Evaluator,
  object: ApiObject,
  nowMs: number,
): Usage | undefined {
  try {
    return isInScopes(quota, evaluator, object) ? evaluator.usage(object, nowMs) : undefined;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
