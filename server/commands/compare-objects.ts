/** What differs between two versions of an object, field by field. Pure. */
import { compareFields, formatFieldPath } from "../api/changed-fields.js";
import type { JsonObject, JsonValue } from "../api/meta.js";

export interface FieldChange {
  /** "spec.containers[0].image" */
  readonly path: string;
  /** undefined = it was not there. */
  readonly before: JsonValue | undefined;
  /** undefined = it is not there any more. */
  readonly after: JsonValue | undefined;
}

/** More are not shown. */
const CHANGES_MAX = 1_000;

/** Without what changes with every write. */
export function compareObjects(before: JsonObject, after: JsonObject): FieldChange[] {
  const changes: FieldChange[] = [];
  compareFields(before, after, (steps, was, is) => {
    const path = formatFieldPath(steps);
    changes.push({
      path,
      before: was as JsonValue | undefined,
      after: is as JsonValue | undefined,
    });
    return changes.length < CHANGES_MAX;
  });
  return changes;
}
