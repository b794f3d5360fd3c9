/**
 * The error for an applier that changes fields of other owners (S1-SSA-11): 409 with a cause per
 * field, in the wording that clients show.
 */
import { StatusError } from "../api/status.js";
import { type FieldSet, visitPaths } from "./field-set.js";
import type { ManagedEntry } from "./managed-fields.js";
import { compareTexts, describePath } from "./path-element.js";

/** The fields of one owner that the apply would change. */
export interface Conflict {
  readonly owner: ManagedEntry;
  readonly fields: FieldSet;
}

/** Causes listed in one answer; the message counts all. */
const CAUSES_MAX = 1000;

export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const sorted = [...conflicts].sort((a, b) => compareTexts(orderOf(a.owner), orderOf(b.owner)));
  const owners = sorted.map(({ owner, fields }) => {
    const paths: string[] = [];
    visitPaths(fields, (path) => paths.push(describePath(path)));
    return { name: nameOf(owner), paths };
  });
  const count = owners.reduce((sum, { paths }) => sum + paths.length, 0);
  const causes = owners
    .flatMap(({ name, paths }) => paths.map((field) => ({ name, field })))
    .slice(0, CAUSES_MAX)
    .map(({ name, field }) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${name}`,
      field,
    }));
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: messageOf(count, owners),
    reason: "Conflict",
    details: { causes },
    code: 409,
  });
}

function messageOf(
  count: number,
  owners: readonly { readonly name: string; readonly paths: readonly string[] }[],
): string {
  const [first] = owners;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.name}: ${first.paths.join("")}`;
  }
  const lines: string[] = [];
  for (const { name, paths } of owners) {
    if (lines.length >= CAUSES_MAX) break;
    lines.push(`conflicts with ${name}:`, ...paths.slice(0, CAUSES_MAX).map((path) => `- ${path}`));
  }
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

/**
 * `"kubectl-edit" with subresource "status" using apps/v1`; appliers are identified by name only.
 */
function nameOf({ manager, subresource, operation, apiVersion }: ManagedEntry): string {
  const where = subresource === "" ? "" : ` with subresource ${JSON.stringify(subresource)}`;
  const version = operation === "Update" ? ` using ${apiVersion}` : "";
  return `${JSON.stringify(manager)}${where}${version}`;
}

function orderOf({ manager, operation, apiVersion, subresource }: ManagedEntry): string {
  return JSON.stringify([manager, operation, operation === "Apply" ? "" : apiVersion, subresource]);
}
