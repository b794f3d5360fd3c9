/**
 * The rules of one place of a schema (`x-kubernetes-validations`), compiled: checked against the types
 * of the schema, with an estimate of what each can cost. For definitions, which are told what is wrong
 * with theirs, and for objects, which are held to those of a definition that was accepted.
 */
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
  /** undefined where the text is no expression: `problem` says why. */
  readonly program: CelProgram | undefined;
  readonly problem: string | undefined;
  readonly message: CelProgram | undefined;
  readonly messageProblem: string | undefined;
  /** Asks about the old value, so that it is asked only where there is one. */
  readonly usesOldSelf: boolean;
  /** Where errors are told, below the value: ".spec" or "". */
  readonly fieldPath: string;
}

/** Upstream's limit of one evaluation. */
export const EVALUATION_COST_MAX = 1_000_000;

/** @returns undefined when the place is of a type that no rule can be asked of */
export function compileRules(
  node: Structural,
  isResource: boolean,
): readonly CompiledRule[] | undefined {
  const { self, types, sizes } = ruleTypes(node, isResource);
  if (self === undefined) return undefined;
  const sizeLimits: Record<string, number> = {};
  for (const [path, size] of sizes) {
    sizeLimits[`self${path}`] = size;
    sizeLimits[`oldSelf${path}`] = size;
  }
  const environmentOf = (oldSelf: CelType) =>
    createCelEnvironment({ variables: { self, oldSelf }, types, sizeLimits });
  const plain = lazily(() => environmentOf(self));
  const withOptional = lazily(() => environmentOf({ optional: self }));
  return node.rules.map((rule): CompiledRule => {
    const environment = rule.optionalOldSelf === true ? withOptional() : plain();
    const compiled = attempt(
      () => environment.compile(rule.rule, ["bool"]),
      "cel expression must evaluate to a bool",
    );
    const text = rule.messageExpression?.trim() ?? "";
    const hasMessage = text !== "" && compiled.program !== undefined;
    const message = !hasMessage
      ? undefined
      : attempt(() => environment.compile(text, ["string"]), "must evaluate to a string");
    return {
      rule,
      ...compiled,
      message: message?.program,
      messageProblem: message?.problem,
      usesOldSelf: compiled.program?.references(["oldSelf"]) === true,
      fieldPath: shownPath(rule, node),
    };
  });
}

function lazily<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** @param typeProblem told of an expression that gives a value of another type */
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
    const isOfOtherType = error.problem.startsWith("must evaluate to");
    const problem = isOfOtherType ? typeProblem : `compilation failed: ${error.message}`;
    return { program: undefined, problem };
  }
}

function shownPath({ fieldPath = "" }: ValidationRule, node: Structural): string {
  if (fieldPath === "") return "";
  try {
    const { text } = parseFieldPath(fieldPath, node);
    return text.startsWith("[") ? text : `.${text}`;
  } catch (error) {
    // Refused in definitions; of one that was stored before that rule the error is told of the value.
    if (error instanceof FieldPathError) return "";
    throw error;
  }
}
