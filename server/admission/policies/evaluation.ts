/**
 * Evaluates one policy on one write with one parameter. Variables are evaluated on first use, and all
 * expressions share one budget. An evaluation has no side effects, because it may run again when an answer
 * of the authorizer arrives, or in its next turn; the caller gets its findings. What it has found by then it keeps.
 */
import type { ApiObject } from "../../api/meta.js";
import { type CelProgram, LateObject, type PausingEvaluation } from "../../cel/environment.js";
import { Failure } from "../../cel/errors.js";
import { rethrowAwaited } from "../matching/authorizer-answers.js";
import { ConditionsRun } from "../matching/conditions.js";
import type { EvaluationTurns } from "../matching/evaluation-turns.js";
import {
  type AuditAnnotation,
  type Compiled,
  type Policy,
  VARIABLES_TYPE,
  type Validation,
} from "./policy.js";

/** The cost limit of one policy evaluation; kube-apiserver's. */
export const POLICY_COST_MAX = 10_000_000;
/** The cost limit of one expression. */
export const EXPRESSION_COST_MAX = 1_000_000;
/** Longer messages are discarded. */
const MESSAGE_BYTES_MAX = 5 * 1024;
const ANNOTATION_BYTES_MAX = 10 * 1024;

const OUT_OF_BUDGET =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** Why a validation rejects a write. */
export interface Objection {
  readonly message: string;
  readonly reason: string;
  /** Position among the validations. */
  readonly index: number;
  /** "false" = the expression is false; the failure policy handles all other causes. */
  readonly cause: "false" | "error" | "budget" | "compile";
  readonly milliseconds: number;
  /** An audit annotation has no value: then nothing but a refusal is possible. */
  readonly isAnnotation?: boolean;
}

export interface Findings {
  readonly objections: readonly Objection[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
}

/** An expression failed to give a value. */
export class ExpressionError extends Error {
  readonly kind: Objection["cause"];

  constructor(message: string, kind: Objection["cause"]) {
    super(message);
    this.kind = kind;
  }
}

/** What an evaluation takes of its surroundings. */
export interface EvaluationParts {
  readonly turns: EvaluationTurns;
  readonly nowMs: () => number;
}

export class Evaluation {
  /** The match conditions, which see no variables and, as kube-apiserver, no namespace. */
  readonly conditions: ConditionsRun;
  readonly startMs: number;
  readonly #bindings: Record<string, unknown>;
  readonly #parts: EvaluationParts;
  readonly #variables: Policy["variables"];
  #areVariablesMade = false;
  /** Expressions that have been begun, and have not ended. */
  readonly #underWay = new Map<
    Compiled,
    { readonly evaluation: PausingEvaluation; readonly limit: number }
  >();
  readonly #objections: Objection[] = [];
  readonly #annotations: { key: string; value: string }[] = [];
  /** How many validations, and then annotations, have been judged. */
  #judged = 0;
  /** The validation under judgement turned out to be false after so long. */
  #falseAfterMs: number | undefined;
  #left = POLICY_COST_MAX;
  #sinceMs: number;

  /** @param bindings all bindings but variables and parameters */
  constructor(
    { variables, variableNames, paramKind, conditions }: Policy,
    bindings: Readonly<Record<string, unknown>>,
    params: ApiObject | null,
    parts: EvaluationParts,
  ) {
    this.#parts = parts;
    this.#variables = variables;
    this.startMs = parts.nowMs();
    this.#sinceMs = this.startMs;
    const own: Record<string, unknown> = { ...bindings };
    if (paramKind !== undefined) own.params = params;
    own.variables = this.#lateVariables(variables, variableNames);
    this.#bindings = own;
    this.conditions = new ConditionsRun(conditions, { ...own, namespaceObject: null });
  }

  /** Replaces the object that the policy sees; variables are evaluated again. */
  renew(object: unknown, { variables, variableNames }: Policy): void {
    this.#bindings.object = object;
    this.#bindings.variables = this.#lateVariables(variables, variableNames);
  }

  /** Goes on where it was aborted. */
  validate({ validations, auditAnnotations }: Policy): Findings {
    const objections = this.#objections;
    const annotations = this.#annotations;
    while (this.#judged < validations.length) {
      const objection = this.#judge(validations[this.#judged] as Validation, this.#judged);
      this.#next();
      if (objection === undefined) continue;
      objections.push(objection);
      if (objection.cause === "budget") return { objections, annotations };
    }
    for (let at = this.#judged - validations.length; at < auditAnnotations.length; at++) {
      // kube-apiserver pays for these from a budget of their own.
      if (at === 0 && this.#underWay.size === 0) this.#left = POLICY_COST_MAX;
      const annotation = auditAnnotations[at] as AuditAnnotation;
      const value = this.#annotation(annotation, objections);
      this.#next();
      if (value !== undefined) annotations.push({ key: annotation.key, value });
    }
    return { objections, annotations };
  }

  #next(): void {
    this.#judged++;
    this.#falseAfterMs = undefined;
    this.#sinceMs = this.#parts.nowMs();
  }

  /** The value of an expression as JSON. @throws {ExpressionError} */
  evaluate(expression: string, compiled: Compiled): unknown {
    return this.#run(expression, compiled, (program, limit) =>
      program.begin(this.#bindings, limit),
    );
  }

  #judge(validation: Validation, index: number): Objection | undefined {
    const { expression, program, reason } = validation;
    try {
      if (this.#falseAfterMs === undefined) {
        if (this.evaluate(expression, program) === true) return undefined;
        this.#falseAfterMs = this.#milliseconds;
      }
      const milliseconds = this.#falseAfterMs;
      return { message: this.#message(validation), reason, index, cause: "false", milliseconds };
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      const { message, kind: cause } = error;
      return { message, reason: "", index, cause, milliseconds: this.#milliseconds };
    }
  }

  get #milliseconds(): number {
    return this.#parts.nowMs() - this.#sinceMs;
  }

  /** The message of a false expression: the message expression's value, else the message, else the expression. */
  #message({ messageProgram, message, expression }: Validation): string {
    const made = messageProgram === undefined ? "" : this.#text(messageProgram);
    return made || message.trim() || `failed expression: ${expression.trim()}`;
  }

  #text(program: Compiled): string {
    try {
      const value = this.evaluate("", program);
      const text = typeof value === "string" ? value.trim() : "";
      return text.includes("\n") || Buffer.byteLength(text) > MESSAGE_BYTES_MAX ? "" : text;
    } catch (error) {
      if (error instanceof ExpressionError) return "";
      throw error;
    }
  }

  #annotation(
    { expression, program }: AuditAnnotation,
    objections: Objection[],
  ): string | undefined {
    try {
      const value = this.evaluate(expression, program);
      if (typeof value !== "string" || value.trim() === "") return undefined;
      return Buffer.from(value.trim()).subarray(0, ANNOTATION_BYTES_MAX).toString();
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      const { message, kind: cause } = error;
      const milliseconds = this.#milliseconds;
      const isAnnotation = true;
      objections.push({ message, reason: "", index: -1, cause, milliseconds, isAnnotation });
      return undefined;
    }
  }

  #run(
    expression: string,
    compiled: Compiled,
    begin: (program: CelProgram, limit: number) => PausingEvaluation,
  ): unknown {
    const { turns } = this.#parts;
    if (!this.#areVariablesMade && compiled.charsLeft() > 0) {
      // It is compiled where all of these are declared.
      for (const variable of this.#variables) turns.make(variable.program);
      this.#areVariablesMade = true;
    }
    const program = turns.make(compiled);
    if (program instanceof Error) {
      throw new ExpressionError(`compilation error: ${program.message}`, "compile");
    }
    let underWay = this.#underWay.get(compiled);
    if (underWay === undefined) {
      if (this.#left <= 0) throw new ExpressionError(OUT_OF_BUDGET, "budget");
      const limit = Math.min(this.#left, EXPRESSION_COST_MAX);
      underWay = { evaluation: begin(program, limit), limit };
      this.#underWay.set(compiled, underWay);
    }
    const { evaluation, limit } = underWay;
    try {
      // The cost of variables that it reads is charged to them.
      const { value, cost } = turns.finish(evaluation);
      this.#left -= cost;
      this.#underWay.delete(compiled);
      return value;
    } catch (error) {
      rethrowAwaited(error);
      this.#underWay.delete(compiled);
      if (error instanceof ExpressionError) throw error;
      const { isOverBudget, message } = error as { isOverBudget?: boolean; message: string };
      if (isOverBudget === true) {
        this.#left -= limit;
        if (this.#left <= 0) throw new ExpressionError(OUT_OF_BUDGET, "budget");
      }
      const text = `expression '${expression}' resulted in error: ${message}`;
      throw new ExpressionError(text, "error");
    }
  }

  /** An object whose members are evaluated once, on first read. */
  #lateVariables(variables: Policy["variables"], names: readonly string[]): LateObject {
    const known = new Map<string, { readonly value: unknown } | Failure>();
    return new LateObject(VARIABLES_TYPE, names, (name) => {
      let state = known.get(name);
      if (state === undefined) {
        state = this.#variable(name, variables);
        known.set(name, state);
      }
      if (state instanceof Failure) throw state;
      return state.value;
    });
  }

  #variable(name: string, variables: Policy["variables"]): { readonly value: unknown } | Failure {
    const variable = variables.find((one) => one.name === name);
    if (variable === undefined) return { value: undefined };
    try {
      const value = this.#run(variable.expression, variable.program, (program, limit) =>
        program.beginForBinding(this.#bindings, limit),
      );
      return { value };
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      return new Failure(`composited variable "${name}" fails to evaluate: ${error.message}`);
    }
  }
}
