/**
 * Resources of a pod as a whole: sums over its containers, as a scheduler counts them, and the
 * defaults that follow for `spec.resources`.
 */

import type { JsonObject } from "../../api/meta.js";
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  ZERO_QUANTITY,
} from "../quantity.js";
import { itemsIn, objectIn } from "./rule.js";

type Amounts = Map<string, Quantity>;

function amountsOf(container: JsonObject, list: "limits" | "requests"): Amounts {
  const amounts: Amounts = new Map();
  for (const [key, text] of Object.entries(
    objectIn(objectIn(container, "resources"), list) ?? {},
  )) {
    const quantity = parseQuantity(String(text));
    if (quantity !== undefined) amounts.set(key, quantity);
  }
  return amounts;
}

function plus(left: Amounts, right: Amounts): Amounts {
  const sum: Amounts = new Map(left);
  for (const [key, amount] of right) {
    sum.set(key, addQuantities(sum.get(key) ?? ZERO_QUANTITY, amount));
  }
  return sum;
}

function larger(left: Amounts, right: Amounts): Amounts {
  const out: Amounts = new Map(left);
  for (const [key, amount] of right) {
    const other = out.get(key);
    if (other === undefined || compareQuantities(amount, other) > 0) out.set(key, amount);
  }
  return out;
}

/**
 * The containers' maximum concurrent need: all containers and sidecars together, or one init
 * container with the sidecars started before it.
 */
export function containerTotals(spec: JsonObject, list: "limits" | "requests"): Amounts {
  let sidecars: Amounts = new Map();
  let initPeak: Amounts = new Map();
  for (const container of itemsIn(spec, "initContainers")) {
    const amounts = amountsOf(container, list);
    if (container.restartPolicy === "Always") sidecars = plus(sidecars, amounts);
    else initPeak = larger(initPeak, plus(sidecars, amounts));
  }
  let running = sidecars;
  for (const container of itemsIn(spec, "containers")) {
    running = plus(running, amountsOf(container, list));
  }
  return larger(running, initPeak);
}

const isHugePages = (key: string) => key.startsWith("hugepages-");
const isComputed = (key: string) => key === "cpu" || key === "memory";

/** Huge pages cannot be overcommitted, so the pod's limit is the sum for its containers. */
export function defaultHugePageLimits(pod: JsonObject): void {
  const spec = objectIn(pod, "spec");
  const resources = objectIn(spec, "resources");
  if (spec === undefined || resources === undefined) return;
  const [limits, requests] = [objectIn(resources, "limits"), objectIn(resources, "requests")];
  if (limits === undefined && requests === undefined) return;
  const filled: JsonObject = { ...limits };
  for (const [key, total] of containerTotals(spec, "limits")) {
    if (!isHugePages(key) || filled[key] !== undefined || requests?.[key] !== undefined) continue;
    filled[key] = formatQuantity(total);
  }
  if (Object.keys(filled).length > 0) resources.limits = filled;
}

export function defaultPodRequests(pod: JsonObject): void {
  const spec = objectIn(pod, "spec");
  const resources = objectIn(spec, "resources");
  const limits = objectIn(resources, "limits");
  if (spec === undefined || resources === undefined || limits === undefined) return;
  const requests: JsonObject = { ...objectIn(resources, "requests") };
  for (const [key, total] of containerTotals(spec, "requests")) {
    if (isComputed(key) && requests[key] === undefined) requests[key] = formatQuantity(total);
  }
  for (const [key, limit] of Object.entries(limits)) {
    const isOfPods = isComputed(key) || isHugePages(key);
    if (isOfPods && requests[key] === undefined && limit !== undefined) requests[key] = limit;
  }
  if (Object.keys(requests).length > 0) resources.requests = requests;
}
