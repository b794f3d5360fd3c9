/**
 * Rules get stricter, and what was stored under older ones must still be changed elsewhere: a problem
 * that the stored object has at the same place, in the same words, is no reason to refuse an update.
 */
import type { ResourceStrategy } from "../../kinds/strategy.js";

type Validation = Required<Pick<ResourceStrategy, "validate" | "validateUpdate">>;

export function withoutOldProblems(rules: Validation): Validation {
  return {
    ...rules,
    validateUpdate(next, current, context) {
      const problems = rules.validateUpdate(next, current, context);
      if (problems.length === 0) return problems;
      const known = new Set(
        rules.validate(current, context).map(({ field, message }) => `${field}\0${message}`),
      );
      return problems.filter(({ field, message }) => !known.has(`${field}\0${message}`));
    },
  };
}
