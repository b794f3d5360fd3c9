/**
 * Errors of expressions: a compile error with its position, and an evaluation error. Inside an
 * evaluation failures are `Failure` objects without a stack, because `||` and `&&` swallow thousands of
 * them; the outermost call turns them into `CelEvaluationError`.
 */

export interface Problem {
  /** The problem, without position and excerpt. */
  readonly problem: string;
  readonly offset: number;
}

/** The expression is invalid in its environment. Lines and columns count from one. */
export class CelCompileError extends Error {
  readonly line: number;
  readonly column: number;
  /** The problem, without position and excerpt. */
  readonly problem: string;
  /** Whether the expression is well formed, but has a constant that is not. */
  isOfConstant = false;
  /** Whether the expression is well formed, but of another type than is asked for. */
  isOfType = false;

  /** @param others further problems, ordered by position; included in the message */
  constructor(problem: string, source: string, offset: number, others: readonly Problem[] = []) {
    const { line, column } = locate(source, offset);
    const shown = [{ problem, offset }, ...others].slice(0, PROBLEMS_MAX);
    const texts = shown.map((one) => describe(one, source));
    const left = others.length + 1 - shown.length;
    if (left > 0) texts.push(`${left} more errors were truncated`);
    super(texts.join("\n"));
    this.name = "CelCompileError";
    this.problem = problem;
    this.line = line;
    this.column = column;
  }

  /** For an expression that is well formed, but of another type than is asked for. */
  static ofType(problem: string, source: string): CelCompileError {
    const error = new CelCompileError(problem, source, 0);
    error.isOfType = true;
    return error;
  }

  static ofConstant(problem: string, source: string, offset: number): CelCompileError {
    const error = new CelCompileError(problem, source, offset);
    error.isOfConstant = true;
    return error;
  }
}

/** An evaluation without result: a missing key, a wrong value, a division by zero, or the budget. */
export class CelEvaluationError extends Error {
  /** Whether the budget was exceeded. */
  readonly isOverBudget: boolean;
  /** The cost spent so far. */
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

/** The budget is exceeded; unlike a Failure, nothing swallows it. */
export class BudgetExceeded {
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }
}

/** Problems that one message shows; kube-apiserver's limit, as is the next. */
const PROBLEMS_MAX = 100;
/** Longer lines are not quoted. */
const EXCERPT_MAX = 16_384;

function describe({ problem, offset }: Problem, source: string): string {
  const { line, column, text } = locate(source, offset);
  const head = `ERROR: <input>:${line}:${column}: ${problem}`;
  if (Buffer.byteLength(text) > EXCERPT_MAX) return head;
  // Below a character of several bytes stands a wide mark.
  const [...above] = text;
  const marks = above.slice(0, column - 1).map((one) => (one < "\u0080" ? "." : "\uff0e"));
  const end = (above[column - 1] ?? "") < "\u0080" ? "^" : "\uff3e";
  return `${head}\n | ${text.replaceAll("\t", " ")}\n | ${marks.join("")}${end}`;
}

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
    text,
  };
}
