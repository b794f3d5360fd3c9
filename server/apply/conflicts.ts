/**
 * The error for an applier that changes fields of other owners (S1-SSA-11): 409 with a cause per
 * field, in the wording that clients show.
 */

import { compareTexts } from "../../storage/base/compare-texts.js";
import { cutPath } from "../api/shown-value.js";
import { StatusError } from "../api/status.js";
import { countFields, type FieldSet, visitPaths } from "./field-set.js";
import type { ManagedEntry } from "./managed-fields.js";
import { describePath } from "./path-element.js";

/** The fields of one owner that the apply would change. */
export interface Conflict {
  readonly owner: ManagedEntry;
  readonly fields: FieldSet;
}

/** Conflicts listed in one answer; the message counts all. */
const LISTED_MAX = 1000;
/** Bytes of what is listed, in the message and as causes: a Status has at most 64 KiB. */
const LISTED_BYTES_MAX = 48 * 1024;
/** What surrounds the path and the owner's name of one conflict. */
const AROUND_BYTES = 100;

interface Listed {
  readonly name: string;
  readonly paths: readonly string[];
}

/** @param shownVersion of a part with a kind of its own: whoever owns its fields is shown with it */
export function conflictError(
  conflicts: readonly Conflict[],
  shownVersion: string | undefined,
): StatusError {
  const sorted = [...conflicts].sort((a, b) => compareTexts(orderOf(a.owner), orderOf(b.owner)));
  const shown = sorted.map(({ owner, fields }) => ({
    owner: shownVersion === undefined ? owner : { ...owner, apiVersion: shownVersion },
    fields,
  }));
  const owners = listed(shown);
  const count = sorted.reduce((sum, { fields }) => sum + countFields(fields), 0);
  const causes = owners.flatMap(({ name, paths }) =>
    paths.map((field) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${name}`,
      field,
    })),
  );
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

/** The first conflicts, as far as they fit. */
function listed(conflicts: readonly Conflict[]): readonly Listed[] {
  const owners: Listed[] = [];
  let left = LISTED_MAX;
  let bytesLeft = LISTED_BYTES_MAX;
  for (const { owner, fields } of conflicts) {
    const name = nameOf(owner);
    const nameBytes = sizeOf(name);
    const paths: string[] = [];
    visitPaths(fields, (elements) => {
      const path = cutPath(describePath(elements));
      left--;
      bytesLeft -= AROUND_BYTES + nameBytes + 2 * sizeOf(path);
      if (left < 0 || bytesLeft < 0) return false;
      paths.push(path);
      return true;
    });
    if (paths.length === 0) break;
    owners.push({ name, paths });
  }
  return owners;
}

function sizeOf(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}

function messageOf(count: number, owners: readonly Listed[]): string {
  const [first] = owners;
  if (count === 1 && first !== undefined) {
    return `Apply failed with 1 conflict: conflict with ${first.name}: ${first.paths.join("")}`;
  }
  const lines = owners.flatMap(({ name, paths }) => [
    `conflicts with ${name}:`,
    ...paths.map((path) => `- ${path}`),
  ]);
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
