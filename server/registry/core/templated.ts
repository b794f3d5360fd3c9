/**
 * What all kinds with a template of pods share: gated fields are dropped from it before all else is prepared, and a new
 * generation is told the template's warnings.
 */
import type { ApiObject } from "../../api/meta.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { valueAt } from "../generic/fields.js";
import { isNewGeneration } from "../generic/status-parts.js";
import { dropGatedSpecFields } from "./gated-pod-fields.js";
import { dropOldAnnotations } from "./pod-annotations.js";
import type { PodTemplateSpec } from "./pod-types.js";
import { templateWarnings } from "./pod-warnings.js";

/**
 * @param at where the template is, dotted
 * @param isNew whether an update is told the template's warnings
 */
export function templated(
  at: string,
  strategy: ResourceStrategy,
  isNew = isNewGeneration,
): ResourceStrategy {
  const path = at.split(".");
  const specPath = [...path, "spec"];
  return {
    ...strategy,
    prepareForCreate(next, context) {
      dropGatedSpecFields(valueAt(next, specPath), undefined);
      dropOldAnnotations(metadataAt(next, path), context.naming);
      strategy.prepareForCreate?.(next, context);
    },
    prepareForUpdate(next, current, context) {
      dropGatedSpecFields(valueAt(next, specPath), valueAt(current, specPath));
      dropOldAnnotations(metadataAt(next, path), context.naming);
      strategy.prepareForUpdate?.(next, current, context);
    },
    warnings(next, current, context) {
      const own = strategy.warnings?.(next, current, context) ?? [];
      if (current !== undefined && !isNew(next, current)) return own;
      const template = (valueAt(next, path) ?? {}) as PodTemplateSpec;
      return [...own, ...templateWarnings(template, at, context.naming)];
    },
  };
}

function metadataAt(object: ApiObject, path: readonly string[]) {
  return valueAt(object, [...path, "metadata"]) as
    | { annotations?: Record<string, string> }
    | undefined;
}
