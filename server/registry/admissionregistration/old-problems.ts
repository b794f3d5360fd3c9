/**
 * Rules get stricter, and objects stored under older rules must stay changeable: a problem that the
 * stored object already has, at the same place and in the same words, does not refuse an update.
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
