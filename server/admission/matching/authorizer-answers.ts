/**
 * AuthorizerAnswers: lets synchronous expressions ask an asynchronous authorizer. An unanswered question
 * aborts the evaluation; once the answer has arrived, the expression is evaluated again from the start and
 * finds it.
 *
 *   evaluate ─► check(q1): unknown, end ─► await q1 ─► evaluate ─► check(q1): known, check(q2): ...
 *
 * Answers are kept for one attempt of one write. The cost limit of an evaluation bounds the number of
 * questions.
 */
import {
  type AuthorizationAnswer,
  type AuthorizationQuestion,
  AuthorizerValue,
} from "../../cel/functions/authorization.js";
import type { UserInfo } from "../../request/user-info.js";

/** Asks whether a user may do something; synchronous where possible. */
export type AskForPermission = (
  user: UserInfo,
  question: AuthorizationQuestion,
  signal: AbortSignal,
) => AuthorizationAnswer | Promise<AuthorizationAnswer>;

/** Aborts an evaluation until an answer arrives, or its next turn; not an error. */
export class AnswerAwaited {
  readonly arrival: Promise<void>;
  /** Of the request: who has gone gets no further evaluation. */
  readonly signal: AbortSignal;

  constructor(arrival: Promise<void>, signal: AbortSignal) {
    this.arrival = arrival;
    this.signal = signal;
  }
}

export class AuthorizerAnswers {
  readonly #ask: AskForPermission;
  readonly #user: UserInfo;
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, AuthorizationAnswer>();
  /** The value bound to the `authorizer` variable. */
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
    throw new AnswerAwaited(arrival, this.#signal);
  }
}

/** Runs an evaluation, again after each missing answer has arrived. @throws the request's end */
export function whenAnswered<T>(run: () => T): T | Promise<T> {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof AnswerAwaited)) throw error;
    return error.arrival.then(() => {
      error.signal.throwIfAborted();
      return whenAnswered(run);
    });
  }
}

/** For callers that catch errors of expressions. */
export function rethrowAwaited(error: unknown): void {
  if (error instanceof AnswerAwaited) throw error;
}
