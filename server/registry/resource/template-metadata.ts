/** Rules for the metadata in a template of claims: labels and annotations are all that it may have. Pure. */
import { forbiddenField } from "../../api/field-errors.js";
import type { ObjectMeta } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import { validateAnnotations, validateLabels } from "../../api/validation-metadata.js";

const ALLOWED: ReadonlySet<string> = new Set(["labels", "annotations"]);

export function validateClaimMetadata(
  metadata: ObjectMeta | undefined,
  field: string,
  errors: FieldError[],
): void {
  validateAnnotations(metadata?.annotations ?? {}, `${field}.annotations`, errors);
  validateLabels(metadata?.labels ?? {}, `${field}.labels`, errors);
  for (const [name, value] of Object.entries(metadata ?? {})) {
    const isGiven = name === "deletionGracePeriodSeconds" && value === 0;
    if (ALLOWED.has(name) || (isEmpty(value) && !isGiven)) continue;
    // The one field whose name kube-apiserver spells otherwise.
    const shown = name === "uid" ? "uID" : name;
    errors.push(forbiddenField(`${field}.${shown}`, "cannot be set"));
  }
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === 0) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
