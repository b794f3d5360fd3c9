/**
 * What may be used only where a quota covers it, by the settings of ResourceQuota: usage whose name contains
 * one of some texts, and objects in some scopes. Without a quota for it, the write is refused. Pure.
 */
import type { ApiObject } from "../../api/meta.js";
import { type AdmissionAttributes, refuse } from "../admission.js";
import type { Evaluator } from "./evaluator.js";
import type { QuotaObject, ScopeTerm } from "./quota-object.js";
import { isInScopes, termsOf } from "./scopes.js";

export interface LimitedResource {
  readonly apiGroup: string;
  readonly resource: string;
  /** Parts of names of usage. */
  readonly matchContains: readonly string[];
  readonly matchScopes: readonly ScopeTerm[];
}

/** @throws {StatusError} 403 for what no quota of the namespace covers */
export function requireCover(
  limited: readonly LimitedResource[],
  quotas: readonly QuotaObject[],
  evaluator: Evaluator,
  attributes: AdmissionAttributes,
  nowMs: number,
): void {
  const { object, resource } = attributes;
  if (object === undefined || limited.length === 0) return;
  const concerned = limited.filter(
    (one) => one.apiGroup === resource.group && one.resource === resource.resource,
  );
  const names = concerned.length === 0 ? [] : limitedNames(concerned, evaluator, object, nowMs);
  if (names.length > 0) {
    const covering = quotas.filter((quota) => isInScopes(quota, evaluator, object));
    const covered = new Set(covering.flatMap(({ status }) => Object.keys(status?.hard ?? {})));
    const bare = names.filter((name) => !covered.has(name)).sort();
    if (bare.length > 0)
      throw refuse(attributes, `insufficient quota to consume: ${bare.join(",")}`);
  }
  const wanted = limited.flatMap(({ matchScopes }) => inScope(matchScopes, evaluator, object));
  if (wanted.length === 0) return;
  const matched = quotas.flatMap((quota) => inScope(termsOf(quota), evaluator, object));
  const known = new Set(matched.map(({ scopeName }) => scopeName));
  const bare = wanted.filter(({ scopeName }) => !known.has(scopeName));
  if (bare.length === 0) return;
  const shown = bare.map(
    ({ scopeName, operator, values }) => `{${scopeName} ${operator} [${(values ?? []).join(" ")}]}`,
  );
  throw refuse(attributes, `insufficient quota to match these scopes: [${shown.join(" ")}]`);
}

/** What the object uses of what is limited. */
function limitedNames(
  limited: readonly LimitedResource[],
  evaluator: Evaluator,
  object: ApiObject,
  nowMs: number,
): string[] {
  const parts = limited.flatMap(({ matchContains }) => matchContains);
  return [...evaluator.usage(object, nowMs)]
    .filter(([name, { digits }]) => digits > 0n && parts.some((part) => name.includes(part)))
    .map(([name]) => name);
}

function inScope(
  terms: readonly ScopeTerm[],
  evaluator: Evaluator,
  object: ApiObject,
): readonly ScopeTerm[] {
  return terms.filter((term) => evaluator.isInScope?.(object, term) === true);
}
