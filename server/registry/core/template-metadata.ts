/**
 * Metadata of a claim that a volume makes: only labels and annotations say anything there, and everything else is
 * refused, since it would be ignored.
 */

import { forbiddenField } from "../../api/field-errors.js";
import type { FieldError } from "../../api/status.js";
import { validateAnnotations, validateLabels } from "../../api/validation-metadata.js";

/** All other members, in the order and the spelling in which they are reported. */
const UNUSED = [
  ["name", "name"],
  ["generateName", "generateName"],
  ["namespace", "namespace"],
  ["selfLink", "selfLink"],
  ["uid", "uID"],
  ["resourceVersion", "resourceVersion"],
  ["generation", "generation"],
  ["creationTimestamp", "creationTimestamp"],
  ["deletionTimestamp", "deletionTimestamp"],
  ["deletionGracePeriodSeconds", "deletionGracePeriodSeconds"],
  ["ownerReferences", "ownerReferences"],
  ["finalizers", "finalizers"],
  ["managedFields", "managedFields"],
] as const;

export function validateClaimTemplateMetadata(
  metadata: Readonly<Record<string, unknown>>,
  field: string,
  errors: FieldError[],
): void {
  const { annotations, labels } = metadata as Record<string, Record<string, string> | undefined>;
  validateAnnotations(annotations ?? {}, `${field}.annotations`, errors);
  validateLabels(labels ?? {}, `${field}.labels`, errors);
  for (const [member, shown] of UNUSED) {
    const isGiven = member === "deletionGracePeriodSeconds" && metadata[member] === 0;
    if (isGiven || isSet(metadata[member]))
      errors.push(forbiddenField(`${field}.${shown}`, "cannot be set"));
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" && value !== 0;
}
