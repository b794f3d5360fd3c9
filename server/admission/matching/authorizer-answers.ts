/**
 * AuthorizerAnswers: lets expressions, which never wait, ask an authorizer that may have to. A question
 * without an answer yet ends the evaluation; when the answer is there, the expression is evaluated
 * again from its beginning, and finds it.
 *
 *   evaluate ─► check(q1): unknown, end ─► await q1 ─► evaluate ─► check(q1): known, check(q2): ...
 *
 * Answers are kept for one attempt of one write. How many questions there are is bounded by what an
 * evaluation may cost.
 */
import {
  type AuthorizationAnswer,
  type AuthorizationQuestion,
  AuthorizerValue,
} from "../../cel/functions/authorization.js";
import type { UserInfo } from "../../request/user-info.js";

/** Whether a user may do something; at once where it can. */
export type AskForPermission = (
  user: UserInfo,
  question: AuthorizationQuestion,
  signal: AbortSignal,
) => AuthorizationAnswer | Promise<AuthorizationAnswer>;

/** Ends an evaluation; no failure of it. */
class AnswerAwaited {
  readonly arrival: Promise<void>;

  constructor(arrival: Promise<void>) {
    this.arrival = arrival;
  }
}

export class AuthorizerAnswers {
  readonly #ask: AskForPermission;
  readonly #user: UserInfo;
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, AuthorizationAnswer>();
  /** What expressions are bound to. */
  readonly value = new AuthorizerValue((question) => this.#answer(question));

  constructor(ask: AskForPermission, user: UserInfo, signal: AbortSignal) {
    this.#ask = ask;
    this.#user = user;
    this.#signal = signal;
  }

  #answer(question: AuthorizationQuestion): AuthorizationAnswer {
    const key = JSON.stringify(question);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const answer = this.#ask(this.#user, question, this.#signal);
    if (!(answer instanceof Promise)) {
      this.#known.set(key, answer);
      return answer;
    }
    const arrival = answer.then(
      (arrived) => void this.#known.set(key, arrived),
      (error: unknown) => {
        const failed = { isAllowed: false, reason: "", error: (error as Error).message };
        this.#known.set(key, failed);
      },
    );
    throw new AnswerAwaited(arrival);
  }
}

/** Runs what evaluates expressions, as often as it takes. */
export function whenAnswered<T>(run: () => T): T | Promise<T> {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof AnswerAwaited)) throw error;
    return error.arrival.then(() => whenAnswered(run));
  }
}

/** For those who catch what expressions throw. */
export function rethrowAwaited(error: unknown): void {
  if (error instanceof AnswerAwaited) throw error;
}
