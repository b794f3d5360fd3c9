/**
 * SubjectAccessReview requests to a webhook and their answers, in v1 and v1beta1 (S2-AZ-09/10/19,
 * S2-AZC-09, S2-AZC-22). The canonical text is also the key of cached decisions, so equal questions
 * always have equal text.
 */
import type { Naming } from "../../api/naming.js";
import { type FieldRequirement, parseFieldSelector } from "../../api/selector-fields.js";
import { parseLabelSelector } from "../../api/selector-labels.js";
import type { Requirement } from "../../api/selector-rules.js";
import { type Review, ReviewError } from "../../client/review-client.js";
import type { UserInfo } from "../../request/user-info.js";
import type { AuthorizationResult, AuthorizedRequest } from "../authorizer.js";

export type AccessReviewVersion = "v1" | "v1beta1";

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values?: readonly string[];
}

/** Empty members are omitted, as in the existing system. */
export interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: { readonly requirements: readonly SelectorRequirement[] };
  labelSelector?: { readonly requirements: readonly SelectorRequirement[] };
}

export type RequestAttributes =
  | { readonly resourceAttributes: ResourceAttributes }
  | { readonly nonResourceAttributes: { readonly path: string; readonly verb: string } };

/** Verbs for which selectors narrow the request. */
const VERBS_WITH_SELECTORS: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

export function toRequestAttributes(info: AuthorizedRequest): RequestAttributes {
  if (!info.isResourceRequest) {
    return { nonResourceAttributes: { path: info.path, verb: info.verb } };
  }
  const attributes: ResourceAttributes = {};
  if (info.namespace !== "") attributes.namespace = info.namespace;
  if (info.verb !== "") attributes.verb = info.verb;
  if (info.group !== "") attributes.group = info.group;
  if (info.version !== "") attributes.version = info.version;
  if (info.resource !== "") attributes.resource = info.resource;
  if (info.subresource !== "") attributes.subresource = info.subresource;
  if (info.name !== "") attributes.name = info.name;
  const { query } = info;
  if (query !== undefined && !query.isEmpty && VERBS_WITH_SELECTORS.has(info.verb)) {
    const fields = fieldRequirements(query.get("fieldSelector") ?? "");
    if (fields.length > 0) attributes.fieldSelector = { requirements: fields };
    const labels = labelRequirements(query.get("labelSelector") ?? "");
    if (labels.length > 0) attributes.labelSelector = { requirements: labels };
  }
  return { resourceAttributes: attributes };
}

/** Selectors only narrow the request: an unreadable one is omitted, and the request fails later. */
function fieldRequirements(text: string): SelectorRequirement[] {
  if (text === "") return [];
  let parsed: FieldRequirement[];
  try {
    parsed = parseFieldSelector(text);
  } catch {
    return [];
  }
  return parsed.map(({ path, operator, value }) => ({
    key: path,
    operator: operator === "equals" ? "In" : "NotIn",
    values: [value],
  }));
}

function labelRequirements(text: string): SelectorRequirement[] {
  if (text === "") return [];
  let parsed: Requirement[];
  try {
    parsed = parseLabelSelector(text);
  } catch {
    return [];
  }
  return parsed.flatMap((requirement): SelectorRequirement[] => {
    switch (requirement.operator) {
      case "in":
      case "notin":
        return [
          {
            key: requirement.key,
            operator: requirement.operator === "in" ? "In" : "NotIn",
            values: requirement.values,
          },
        ];
      case "exists":
        return [{ key: requirement.key, operator: "Exists" }];
      case "missing":
        return [{ key: requirement.key, operator: "DoesNotExist" }];
      default:
        // The review cannot express numeric comparisons.
        return [];
    }
  });
}

/** The user's part of the spec; keys of `extra` are sorted. */
export function toUserAttributes(user: UserInfo, version: AccessReviewVersion) {
  const extra = Object.entries(user.extra).sort(([a], [b]) => (a < b ? -1 : 1));
  const groupsKey = version === "v1beta1" ? "group" : "groups";
  return {
    ...(user.name === "" ? {} : { user: user.name }),
    ...(user.groups.length === 0 ? {} : { [groupsKey]: user.groups }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
    ...(user.uid === "" ? {} : { uid: user.uid }),
  };
}

export function toAccessReview(
  request: RequestAttributes,
  user: UserInfo,
  version: AccessReviewVersion,
  naming: Naming,
): Review {
  return {
    apiVersion: `authorization.${naming.groupDomain}/${version}`,
    kind: "SubjectAccessReview",
    spec: { ...request, ...toUserAttributes(user, version) },
    status: { allowed: false },
  };
}

/** @throws {ReviewError} the status is not one of a SubjectAccessReview */
export function parseAccessReviewStatus(
  status: Readonly<Record<string, unknown>>,
): AuthorizationResult {
  const { allowed = false, denied = false, reason = "" } = status;
  if (typeof allowed !== "boolean") throw malformed("allowed is not a boolean");
  if (typeof denied !== "boolean") throw malformed("denied is not a boolean");
  if (typeof reason !== "string") throw malformed("reason is not a string");
  if (allowed && denied) {
    // A contradictory answer allows nothing.
    const error = new ReviewError(
      "error",
      "webhook subject access review returned both allow and deny response",
    );
    return { decision: "deny", reason, error };
  }
  return { decision: denied ? "deny" : allowed ? "allow" : "no-opinion", reason };
}

function malformed(why: string): ReviewError {
  return new ReviewError("error", `the webhook's answer is malformed: ${why}`);
}
