/** ResourceQuota, as far as it is read here. */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { UsageTexts } from "./usage.js";

export interface ScopeTerm {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[] | null;
}

export interface QuotaObject extends ApiObject {
  spec?: {
    readonly hard?: UsageTexts | null;
    readonly scopes?: readonly string[] | null;
    readonly scopeSelector?: { readonly matchExpressions?: readonly ScopeTerm[] | null } | null;
  };
  status?: { readonly hard?: UsageTexts | null; readonly used?: UsageTexts | null };
}

/** Whether the parsed object is a quota; the store may have been changed from outside. */
export function isQuota(value: unknown): value is QuotaObject {
  if (!isRecord(value) || !isRecord(value.metadata)) return false;
  const { spec = {}, status = {} } = value;
  if (!isRecord(spec) || !isRecord(status)) return false;
  const { scopes, scopeSelector } = spec;
  if (![spec.hard, status.hard, status.used].every(isAmounts) || !isTexts(scopes)) return false;
  if (!isMissing(scopeSelector) && !isRecord(scopeSelector)) return false;
  const { matchExpressions } = scopeSelector ?? {};
  if (isMissing(matchExpressions)) return true;
  return Array.isArray(matchExpressions) && matchExpressions.every(isTerm);
}

function isTerm(value: unknown): boolean {
  if (!isRecord(value) || !isTexts(value.values)) return false;
  return typeof value.scopeName === "string" && typeof value.operator === "string";
}

function isAmounts(value: unknown): boolean {
  if (isMissing(value)) return true;
  return isRecord(value) && Object.values(value).every((amount) => typeof amount === "string");
}

function isTexts(value: unknown): boolean {
  if (isMissing(value)) return true;
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}

function isMissing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
