/**
 * Annotations that say what a pod is to its node, so that no update may add, change or remove them: that it
 * mirrors a file of the node, and the AppArmor profiles of its containers.
 */
import { forbiddenField } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import { Problems } from "../../api/problems.js";
import type { FieldError } from "../../api/status.js";

type Annotations = Readonly<Record<string, string>>;

/** For updates of the pod and of all its subresources. */
export function validatePodAnnotationChange(
  { metadata: { annotations: next } }: ApiObject,
  { metadata: { annotations: before } }: ApiObject,
  naming: Naming,
): FieldError[] {
  const errors = new Problems();
  if (next === before) return errors;
  check(before ?? {}, next ?? {}, naming, "remove or update", errors);
  const added = Object.keys(next ?? {}).filter((key) => !Object.hasOwn(before ?? {}, key));
  const known = Object.fromEntries(added.map((key) => [key, next?.[key] ?? ""]));
  check(known, {}, naming, "add", errors);
  return errors;
}

/** @param kept what may stay as it is */
function check(
  annotations: Annotations,
  kept: Annotations,
  { labelDomain }: Naming,
  what: "add" | "remove or update",
  errors: FieldError[],
): void {
  for (const [key, value] of Object.entries(annotations)) {
    if (Object.hasOwn(kept, key) && kept[key] === value) continue;
    const field = `metadata.annotations[${key}]`;
    if (key.startsWith(`container.apparmor.security.beta.${labelDomain}/`)) {
      errors.push(forbiddenField(field, `may not ${what} AppArmor annotations`));
    }
    if (key === `${labelDomain}/config.mirror`) {
      errors.push(forbiddenField(field, `may not ${what} mirror pod annotation`));
    }
  }
}
