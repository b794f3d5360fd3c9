/**
 * Problems: the one list in which validators collect what they find wrong in a client's value. A problem is
 * counted and measured when it is found, and finding ends at the bound: a body of 3 MB has room for a million
 * mistakes, nobody reads that many, and finding them all would hold the thread for everybody (H4).
 *
 *   collectProblems(() => validateSpec(spec))   the problems; at most PROBLEMS_MAX and a few
 *   errors.push(requiredValue(...))             throws ProblemsFull once the list is full
 */
import type { FieldError } from "./status.js";

/** Problems that one list takes. */
export const PROBLEMS_MAX = 100;
/** UTF-16 units of their paths and messages. */
const PROBLEM_CHARS_MAX = 16 * 1024;

/** Ends a validation whose list is full: the refusal is certain, and long enough. */
export class ProblemsFull extends Error {
  override readonly name = "ProblemsFull";
  readonly problems: readonly FieldError[];

  constructor(problems: readonly FieldError[]) {
    super("a value has more problems than are reported");
    this.problems = problems;
  }
}

export class Problems extends Array<FieldError> {
  #chars = 0;

  /** What is derived from the list (`map`, `filter`) is an ordinary array. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  /** @throws {ProblemsFull} when the list is full */
  override push(...found: FieldError[]): number {
    for (const problem of found) {
      super.push(problem);
      this.#chars += problem.field.length + problem.message.length;
      if (this.length > PROBLEMS_MAX || this.#chars > PROBLEM_CHARS_MAX) {
        throw new ProblemsFull([...this]);
      }
    }
    return this.length;
  }
}

/** @returns what the validation returns, or what it had found when a list was full */
export function collectProblems(validate: () => readonly FieldError[]): readonly FieldError[] {
  try {
    return validate();
  } catch (error) {
    if (error instanceof ProblemsFull) return error.problems;
    throw error;
  }
}
