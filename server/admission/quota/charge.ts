/**
 * Charges a write to the quotas of its namespace, or refuses it. Pure: it takes the recorded usage and
 * returns the new one. Refusals have kube-apiserver's messages.
 */
import type { ApiObject } from "../../api/meta.js";
import { addQuantities, compareQuantities, ZERO_QUANTITY } from "../../schema/quantity.js";
import { type AdmissionAttributes, refuse } from "../admission.js";
import type { Evaluator } from "./evaluator.js";
import type { QuotaObject } from "./quota-object.js";
import { isInScopes } from "./scopes.js";
import { addTo, describeUsage, formatUsage, increase, parseUsage, type Usage } from "./usage.js";

/** A quota as read, with the caller's own fields. */
export interface LookedAt {
  readonly quota: QuotaObject;
}

export interface Charged<T extends LookedAt> {
  readonly looked: T;
  /** The quota after the charge. */
  readonly next: QuotaObject;
}

/** @returns the quotas that change. @throws {StatusError} 403 */
export function chargeQuotas<T extends LookedAt>(
  quotas: readonly T[],
  evaluator: Evaluator,
  attributes: AdmissionAttributes,
  nowMs: number,
): Charged<T>[] {
  const { object, oldObject } = attributes;
  if (object === undefined) return [];
  const concerned = quotas.filter(({ quota }) => isConcerned(quota, evaluator, object));
  for (const { quota } of concerned) checkConstraints(quota, evaluator, attributes, object);
  if (concerned.length === 0) return [];
  const usage = evaluator.usage(object, nowMs);
  refuseNegative(usage, attributes);
  const before = oldObject && evaluator.usage(oldObject, nowMs);
  return concerned.flatMap((looked) => {
    const { quota } = looked;
    // An object that was outside of this quota's scopes counts in full.
    const isKnown = before !== undefined && isInScopes(quota, evaluator, oldObject as ApiObject);
    const more = increase(usage, isKnown ? before : new Map());
    const next = chargeOne(quota, more, attributes);
    return next === undefined ? [] : [{ looked, next }];
  });
}

/** Whether a quota limits any resource that the object uses. */
function isConcerned(quota: QuotaObject, evaluator: Evaluator, object: ApiObject): boolean {
  const names = boundNames(quota, evaluator);
  return names.length > 0 && isInScopes(quota, evaluator, object);
}

/** The limits in the status are in force, because the usage is counted for them. */
function boundNames({ status }: QuotaObject, evaluator: Evaluator): string[] {
  return Object.keys(status?.hard ?? {}).filter((name) => evaluator.uses(name));
}

function checkConstraints(
  quota: QuotaObject,
  evaluator: Evaluator,
  attributes: AdmissionAttributes,
  object: ApiObject,
): void {
  const name = quota.metadata.name ?? "";
  const names = boundNames(quota, evaluator).sort();
  const problem = evaluator.problem?.(object, names);
  if (problem !== undefined) throw refuse(attributes, `failed quota: ${name}: ${problem}`);
  if (names.every((one) => quota.status?.used?.[one] !== undefined)) return;
  const resources = names.join(",");
  throw refuse(attributes, `status unknown for quota: ${name}, resources: ${resources}`);
}

function refuseNegative(usage: Usage, attributes: AdmissionAttributes): void {
  const negative = [...usage].filter(([, { digits }]) => digits < 0n).map(([name]) => name);
  if (negative.length === 0) return;
  throw refuse(attributes, `quota usage is negative for resource(s): ${negative.sort().join(",")}`);
}

/** @returns undefined if no limited usage grows. @throws {StatusError} 403 */
function chargeOne(
  quota: QuotaObject,
  more: ReadonlyMap<string, ReturnType<typeof addQuantities>>,
  attributes: AdmissionAttributes,
): QuotaObject | undefined {
  const { status } = quota;
  const hard = parseUsage(status?.hard);
  const requested = new Map([...more].filter(([name]) => hard.has(name)));
  if (requested.size === 0) return undefined;
  const used = parseUsage(status?.used);
  // A status reports what has happened already, so it is charged and not refused.
  if (attributes.subresource !== "status") {
    const exceeded = [...requested].filter(([name, amount]) => {
      const total = addQuantities(used.get(name) ?? ZERO_QUANTITY, amount);
      return compareQuantities(total, hard.get(name) ?? ZERO_QUANTITY) > 0;
    });
    const names = exceeded.map(([name]) => name);
    if (names.length > 0) {
      const [asked, now, most] = [requested, used, hard].map((one) => describeUsage(one, names));
      const why = `exceeded quota: ${quota.metadata.name}, requested: ${asked}, used: ${now}, limited: ${most}`;
      throw refuse(attributes, why);
    }
  }
  const total = new Map(used);
  addTo(total, requested);
  return { ...quota, status: { ...status, used: formatUsage(total) } };
}
