/**
 * How strategies are given their rules: most types have rules for a whole object, some more for what
 * may change, and a status that only its own end point checks.
 */
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";

export interface Rules<T extends ApiObject> {
  /** What holds for every object of the type, on create and on update. */
  readonly object: (next: T, context: StrategyContext) => FieldError[];
  /** What holds for a new one besides: what clients got wrong in old ones is let be. */
  readonly create?: (next: T, context: StrategyContext) => FieldError[];
  /** What holds for a change of it besides. */
  readonly change?: (next: T, current: T, context: StrategyContext) => FieldError[];
  /** What holds for a write to its status end point, where `object` and `change` are not asked. */
  readonly status?: (next: T, current: T, context: StrategyContext) => FieldError[];
}

/**
 * Rules as a strategy has them. The type is what the facts describe for the kind: objects have been
 * decoded by them, so each member has its type or is missing.
 */
export function validated<T extends ApiObject>(
  rules: Rules<T>,
): Required<Pick<ResourceStrategy, "validate" | "validateUpdate">> {
  return {
    validate(next, context) {
      const errors = rules.object(next as T, context);
      if (rules.create !== undefined) errors.push(...rules.create(next as T, context));
      return errors;
    },
    validateUpdate(next, current, context) {
      if (context.subresource === "status") {
        return rules.status?.(next as T, current as T, context) ?? [];
      }
      const errors = rules.object(next as T, context);
      if (rules.change !== undefined) {
        errors.push(...rules.change(next as T, current as T, context));
      }
      return errors;
    },
  };
}
