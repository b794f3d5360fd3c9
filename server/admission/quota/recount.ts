/**
 * What there is altogether: the usage of a quota, counted anew. Takes the objects of a namespace as
 * they were at one moment and hands the thread back in between.
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
  /** As of the moment at which the recount began, whenever they are read. */
  readonly objects: Iterable<ApiObject>;
  readonly count: number;
}

/** So many objects are looked at in one turn: about a millisecond. */
const OBJECTS_PER_TURN = 50;

/** The names of a quota that somebody counts are counted; of others stays what is known. */
export async function recount(
  quota: QuotaObject,
  countables: readonly Countable[],
  nowMs: number,
  pause: () => Promise<void>,
): Promise<Usage> {
  const hard = Object.keys(quota.spec?.hard ?? {});
  const known = parseUsage(quota.status?.used);
  const used = new Map<string, Quantity>();
  for (const name of hard) {
    const isCounted = countables.some(({ evaluator }) => evaluator.uses(name));
    const last = isCounted ? ZERO_QUANTITY : known.get(name);
    if (last !== undefined) used.set(name, last);
  }
  let looked = 0;
  for (const { evaluator, objects, count } of countables) {
    const names = hard.filter((name) => evaluator.uses(name));
    if (names.length === 0) continue;
    if (evaluator.isCount === true) {
      const isCounted = !hasScopes(quota);
      if (isCounted) for (const name of names) used.set(name, countOf(count));
      continue;
    }
    const total = new Map<string, Quantity>();
    for (const object of objects) {
      if (++looked % OBJECTS_PER_TURN === 0) await pause();
      const usage = usageOf(quota, evaluator, object, nowMs);
      if (usage !== undefined) addTo(total, usage);
    }
    for (const name of names) used.set(name, total.get(name) ?? ZERO_QUANTITY);
  }
  return used;
}

/**
 * What the object uses of the quota. One that was written behind our back may be anything under its
 * metadata: then it is left out, as one that cannot be read, and the others count.
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
