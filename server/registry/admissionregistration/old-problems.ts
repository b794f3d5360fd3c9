/**
 * Rules get stricter, and objects stored under older rules must stay changeable: a problem that the
 * stored object already has, at the same place and in the same words, does not refuse an update.
 */

import type { Steps } from "../../../storage/base/steps.js";
import { LongWork } from "../../api/long-work.js";
import type { FieldError } from "../../api/status.js";
import type { ResourceStrategy, StrategyContext } from "../../kinds/strategy.js";

type Validation = Required<Pick<ResourceStrategy, "validate" | "validateUpdate">>;

export function withoutOldProblems(rules: Validation): Validation {
  return {
    ...rules,
    validateUpdate(next, current, context) {
      const { long } = context;
      if (long?.isOfLarge === true) {
        long.leave(function* (errors) {
          const problems = yield* allOf((own) => rules.validateUpdate(next, current, own), context);
          if (problems.length === 0) return;
          const known = yield* allOf((own) => rules.validate(current, own), context);
          errors.push(...without(known, problems));
        });
        return [];
      }
      const problems = rules.validateUpdate(next, current, context);
      if (problems.length === 0) return problems;
      return without(rules.validate(current, context), problems);
    },
  };
}

function without(known: readonly FieldError[], problems: readonly FieldError[]): FieldError[] {
  const keys = new Set(known.map(({ field, message }) => `${field}\0${message}`));
  return problems.filter(({ field, message }) => !keys.has(`${field}\0${message}`));
}

/** What rules find, and what they leave. */
function* allOf(
  rules: (context: StrategyContext) => FieldError[],
  context: StrategyContext,
): Steps<FieldError[]> {
  const long = new LongWork();
  const found = rules({ ...context, long });
  yield;
  return [...found, ...(yield* long.finish())];
}
