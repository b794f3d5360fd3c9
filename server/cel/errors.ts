/**
 * What expressions fail with: an error of the text, with its place, and an error of one evaluation.
 * Inside an evaluation failures travel as `Failure`, which carries no stack, because `||` and `&&`
 * swallow them by the thousand; the outermost call turns them into `CelEvaluationError`.
 */

/** The text is no expression of its environment. Lines and columns count from one. */
export class CelCompileError extends Error {
  readonly line: number;
  readonly column: number;
  /** What is wrong, without place and excerpt. */
  readonly problem: string;

  constructor(problem: string, source: string, offset: number) {
    const { line, column, text } = locate(source, offset);
    const excerpt = `\n | ${text}\n | ${".".repeat(Math.min(column, EXCERPT_MAX) - 1)}^`;
    super(`ERROR: <input>:${line}:${column}: ${problem}${excerpt}`);
    this.name = "CelCompileError";
    this.problem = problem;
    this.line = line;
    this.column = column;
  }
}

/** One evaluation has no result: a missing key, a wrong value, a division by zero, or the budget. */
export class CelEvaluationError extends Error {
  /** Whether it was stopped because it cost more than it may. */
  readonly isOverBudget: boolean;
  /** What was spent until then. */
  readonly cost: number;

  constructor(message: string, { cost = 0, isOverBudget = false } = {}) {
    super(message);
    this.name = "CelEvaluationError";
    this.isOverBudget = isOverBudget;
    this.cost = cost;
  }
}

/** A failure inside an evaluation, cheap to make and to catch. */
export class Failure {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The budget is used up: unlike a Failure nothing swallows it. */
export class BudgetExceeded {
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }
}

/** How much of a line an error quotes. */
const EXCERPT_MAX = 200;

function locate(
  source: string,
  offset: number,
): { readonly line: number; readonly column: number; readonly text: string } {
  const before = source.slice(0, offset);
  const start = before.lastIndexOf("\n") + 1;
  const end = source.indexOf("\n", offset);
  const text = source.slice(start, end < 0 ? undefined : end);
  return {
    line: before.split("\n").length,
    column: [...source.slice(start, offset)].length + 1,
    text: text.length > EXCERPT_MAX ? `${text.slice(0, EXCERPT_MAX)}...` : text,
  };
}
