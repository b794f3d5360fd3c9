/**
 * The quality-of-service class of a Pod: Guaranteed when all containers limit CPU and memory and
 * request the same amounts, BestEffort when none requests or limits anything, else Burstable.
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import { compareQuantities, parseQuantity } from "../../schema/quantity.js";
import { valueAt } from "../generic/fields.js";

export type QualityOfService = "Guaranteed" | "Burstable" | "BestEffort";

const COUNTED = ["cpu", "memory"] as const;
type Amounts = Partial<Record<(typeof COUNTED)[number], string>>;

export function qualityOfService(pod: ApiObject): QualityOfService {
  const own = valueAt(pod, ["spec", "resources"]);
  // Pod-level resources take precedence.
  const holders = isRecord(own) ? [{ resources: own }] : containers(pod);
  let asksForSomething = false;
  let isGuaranteed = holders.length > 0;
  for (const holder of holders) {
    const requests = amountsOf(valueAt(holder, ["resources", "requests"]));
    const limits = amountsOf(valueAt(holder, ["resources", "limits"]));
    if (Object.keys(requests).length > 0 || Object.keys(limits).length > 0) {
      asksForSomething = true;
    }
    // A missing request defaults to the limit.
    for (const name of COUNTED) {
      const limit = limits[name];
      if (limit === undefined || !isSame(requests[name] ?? limit, limit)) isGuaranteed = false;
    }
  }
  if (!asksForSomething) return "BestEffort";
  return isGuaranteed ? "Guaranteed" : "Burstable";
}

function containers(pod: ApiObject): Record<string, unknown>[] {
  const lists = ["containers", "initContainers"].map((name) => valueAt(pod, ["spec", name]));
  return lists.flatMap((list) => (Array.isArray(list) ? list.filter(isRecord) : []));
}

function amountsOf(list: unknown): Amounts {
  const amounts: Amounts = {};
  if (!isRecord(list)) return amounts;
  for (const name of COUNTED) {
    const text = list[name];
    if (typeof text === "string" && !isSame(text, "0")) amounts[name] = text;
  }
  return amounts;
}

function isSame(left: string, right: string): boolean {
  if (left === right) return true;
  const [a, b] = [parseQuantity(left), parseQuantity(right)];
  return a !== undefined && b !== undefined && compareQuantities(a, b) === 0;
}
