/**
 * Compiles the rules at one place of a schema (`x-kubernetes-validations`): checks them against the
 * schema's types and estimates the cost of each. Used for definitions, which are refused with errors,
 * and for objects, which are checked by an accepted definition's rules.
 */
import { lazily } from "../../storage/base/lazily.js";
import { finishNow, type Steps } from "../../storage/base/steps.js";
import {
  CelCompileError,
  type CelProgram,
  type CelType,
  createCelEnvironment,
} from "../cel/environment.js";
import { FieldPathError, parseFieldPath } from "./field-path.js";
import type { ValidationRule } from "./json-schema.js";
import { ruleTypes } from "./rule-types.js";
import type { Structural } from "./structural.js";

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** undefined for an invalid expression: `problem` gives the error. */
  readonly program: CelProgram | undefined;
  readonly problem: string | undefined;
  readonly message: CelProgram | undefined;
  readonly messageProblem: string | undefined;
  /** Uses the old value, so it is evaluated only if there is one. */
  readonly usesOldSelf: boolean;
  /** The path of its errors, relative to the value: ".spec" or "". */
  readonly fieldPath: string;
}

/** kube-apiserver's limit of one evaluation. */
export const EVALUATION_COST_MAX = 1_000_000;

/** @returns undefined when the type at this place supports no rules */
export function compileRules(
  node: Structural,
  isResource: boolean,
): readonly CompiledRule[] | undefined {
  return finishNow(compileRulesInSteps(node, isResource));
}

/** The same, a rule in each step. */
export function* compileRulesInSteps(
  node: Structural,
  isResource: boolean,
): Steps<readonly CompiledRule[] | undefined> {
  const { self, types, declared } = ruleTypes(node, isResource);
  if (self === undefined) return undefined;
  // The bounds of every path are looked up from the value itself, whatever the path starts with.
  const environmentOf = (oldSelf: CelType) =>
    createCelEnvironment({ variables: { self, oldSelf }, types, declared: () => declared });
  const plain = lazily(() => environmentOf(self));
  const withOptional = lazily(() => environmentOf({ optional: self }));
  const made: CompiledRule[] = [];
  for (const rule of node.rules) {
    yield;
    const environment = rule.optionalOldSelf === true ? withOptional() : plain();
    const compiled = attempt(
      () => environment.compile(rule.rule, ["bool"]),
      "cel expression must evaluate to a bool",
    );
    yield;
    const text = rule.messageExpression?.trim() ?? "";
    const hasMessage = text !== "" && compiled.program !== undefined;
    const message = !hasMessage
      ? undefined
      : attempt(() => environment.compile(text, ["string"]), "must evaluate to a string");
    made.push({
      rule,
      ...compiled,
      message: message?.program,
      messageProblem: message?.problem,
      usesOldSelf: compiled.program?.references(["oldSelf"]) === true,
      fieldPath: shownPath(rule, node),
    });
  }
  return made;
}

/** @param typeProblem reports an expression with a result of another type */
function attempt(
  compile: () => CelProgram,
  typeProblem: string,
): {
  readonly program: CelProgram | undefined;
  readonly problem: string | undefined;
} {
  try {
    return { program: compile(), problem: undefined };
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    if (error.isOfType) return { program: undefined, problem: typeProblem };
    const problem = error.isOfConstant
      ? `program instantiation failed: ${error.problem}`
      : `compilation failed: ${error.message}`;
    return { program: undefined, problem };
  }
}

function shownPath({ fieldPath = "" }: ValidationRule, node: Structural): string {
  if (fieldPath === "") return "";
  try {
    return `.${parseFieldPath(fieldPath, node).text}`;
  } catch (error) {
    // New definitions with it are refused; for older ones the error is reported at the value.
    if (error instanceof FieldPathError) return "";
    throw error;
  }
}
