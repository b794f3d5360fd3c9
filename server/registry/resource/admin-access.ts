/**
 * Administrators' access to devices: a claim may use devices that others hold only in a namespace whose
 * label allows it. Requests of claims and templates are checked, and what a scheduler allocates.
 */
import { forbiddenField } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import type { FieldError } from "../../api/status.js";
import type {
  Allocation,
  ClaimSpec,
  ResourceClaim,
  ResourceClaimTemplate,
} from "./device-types.js";

/** Which parts of a write may ask for such access. */
export type AdminAccessPart = "claim" | "template" | "status";

/** The field that newly asks for administrators' access; undefined if none does. */
export function adminAccessField(
  part: AdminAccessPart,
  next: ApiObject,
  current: ApiObject | undefined,
): string | undefined {
  if (part === "status") {
    // An allocation never changes once it is there.
    const before = (current as ResourceClaim | undefined)?.status?.allocation;
    if (adminResult(before) >= 0) return undefined;
    const index = adminResult((next as ResourceClaim).status?.allocation);
    return index < 0 ? undefined : `status.allocation.devices.results[${index}].adminAccess`;
  }
  // The spec of a claim and of a template never changes.
  if (current !== undefined) return undefined;
  const spec =
    part === "claim" ? (next as ResourceClaim).spec : (next as ResourceClaimTemplate).spec?.spec;
  const index = adminRequest(spec);
  return index < 0 ? undefined : `spec.devices.requests[${index}].adminAccess`;
}

function adminRequest(spec: ClaimSpec | undefined): number {
  const requests = spec?.devices?.requests ?? [];
  return requests.findIndex(({ exactly }) => exactly?.adminAccess === true);
}

function adminResult(allocation: Allocation | null | undefined): number {
  const results = allocation?.devices?.results ?? [];
  return results.findIndex(({ adminAccess }) => adminAccess === true);
}

/** @param namespace the claim's own; undefined if it is missing */
export function checkAdminAccess(
  field: string,
  namespace: ApiObject | undefined,
  { labelDomain }: Naming,
): FieldError[] {
  const label = `resource.${labelDomain}/admin-access`;
  if (namespace?.metadata.labels?.[label] === "true") return [];
  const why = `admin access to devices requires the \`${label}: true\` label on the containing namespace`;
  return [forbiddenField(field, why)];
}
