/**
 * Attaches rules to strategies: most types have rules for a whole object, some more for a change,
 * and a status that only its own endpoint checks.
 *
 * Nothing here bounds a rule that looks through a list for each of its items: the square of 20,000 would hold the thread.
 * What bounds a rule is its input (BODY_LIMITS), that problems end at a hundred (api/problems.ts), and linear-rules.test.ts, which
 * fills the lists of every stored kind and counts what its rules read, for a create, a change and a write of the status. Admission
 * plugins it does not run, nor other subresources: they are for who writes them to keep linear.
 */
import type { ApiObject } from "../../api/meta.js";
import type { FieldError } from "../../api/status.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";

export interface Rules<T extends ApiObject> {
  /**
   * Rules for every object of the type, on create and on update. `current` is undefined for a new one; by it, some
   * rules tolerate in an update what was there before.
   */
  readonly object: (next: T, context: StrategyContext, current?: T) => FieldError[];
  /** Additional rules for a new object: existing ones are exempt. */
  readonly create?: (next: T, context: StrategyContext) => FieldError[];
  /** Additional rules for a change. */
  readonly change?: (next: T, current: T, context: StrategyContext) => FieldError[];
  /** Rules for a write to the status endpoint, where `object` and `change` do not apply. */
  readonly status?: (next: T, current: T, context: StrategyContext) => FieldError[];
}

/**
 * Adapts rules to a strategy. The type describes the kind as the facts do: they have decoded the
 * objects, so each member has its type or is missing.
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
      const errors = rules.object(next as T, context, current as T);
      if (rules.change !== undefined) {
        errors.push(...rules.change(next as T, current as T, context));
      }
      return errors;
    },
  };
}
