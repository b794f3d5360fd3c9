/** What the facts find in the version that a client sent, told in the places of the stored version. */
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";

/** Places are the stored version's, because the rules written in code know those, and each problem is told once. */
export function servedProblems(
  { codec, conversion }: Pick<StoredResource, "codec" | "conversion">,
  served: ApiObject,
): readonly FieldError[] {
  const errors = codec.validate(served);
  const storedField = conversion?.storedField;
  if (storedField === undefined || errors.length === 0) return errors;
  return errors.map((error) => ({ ...error, field: storedField(error.field) }));
}
