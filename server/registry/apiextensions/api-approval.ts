/**
 * The community's API groups are protected: a definition in one of them carries an annotation with
 * the approval's URL, or one that says it is unapproved.
 */
import { invalidValue, requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";

export interface Approval {
  readonly state: "missing" | "invalid" | "bypassed" | "approved";
  readonly reason: string;
}

export function isProtectedGroup(group: string, { groupDomain, labelDomain }: Naming): boolean {
  return [groupDomain, labelDomain].some(
    (domain) => group === domain || group.endsWith(`.${domain}`),
  );
}

function annotationOf({ labelDomain }: Naming): string {
  return `api-approved.${labelDomain}`;
}

const PROPOSAL = "https://github.com/kubernetes/enhancements/pull/1111";

export function approvalOf({ metadata }: ApiObject, naming: Naming): Approval {
  const annotation = annotationOf(naming);
  const value = metadata.annotations?.[annotation] ?? "";
  if (value === "") {
    const reason = `protected groups must have approval annotation "${annotation}", see ${PROPOSAL}`;
    return { state: "missing", reason };
  }
  if (value.startsWith("unapproved")) {
    return { state: "bypassed", reason: `not approved: ${JSON.stringify(value)}` };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/\s]+/i.test(value) && URL.canParse(value)) {
    return { state: "approved", reason: `approved in ${value}` };
  }
  const reason = `protected groups must have approval annotation "${annotation}" with either a URL or a reason starting with "unapproved", see ${PROPOSAL}`;
  return { state: "invalid", reason };
}

/** A definition that was stored without approval may stay unapproved. */
export function checkApproval(
  next: ApiObject,
  current: ApiObject | undefined,
  group: string,
  naming: Naming,
): FieldError[] {
  if (!isProtectedGroup(group, naming)) return [];
  const { state, reason } = approvalOf(next, naming);
  if (current !== undefined && approvalOf(current, naming).state === state) return [];
  const annotation = annotationOf(naming);
  const field = `metadata.annotations[${annotation}]`;
  if (state === "missing") return [requiredValue(field, reason)];
  if (state !== "invalid") return [];
  return [invalidValue(field, next.metadata.annotations?.[annotation], reason)];
}
