/** ResourceQuota, as far as it is read here. */
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
