/**
 * AnswersTogether: the small answers of a turn of the event loop are written at its end, one after the other. A write to
 * a socket wakes who waits for it, which costs more than the write itself. Of several writes in a row only
 * the first one does, and what their readers ask next arrives together as well (docs/dev/decisions/0068).
 *
 *     one by one    read a, answer a, wake; read b, answer b, wake; ...
 *     together      read a, read b, read c; answer a, wake; answer b; answer c
 */
import type { ServerResponse } from "node:http";

/** So many wait at most; that one lets them go at once. */
const WAITING_MAX = 64;

interface Answer {
  readonly res: ServerResponse;
  readonly body: string;
}

export class AnswersTogether {
  /** A new array each turn: an old one would let all answers get old (docs/dev/decisions/0059). */
  #waiting: Answer[] = [];

  /**
   * Ends a response over HTTP/1.1 whose headers are given. Sessions of HTTP/2 gather their frames themselves.
   * @param body bytes as Latin-1
   */
  end(res: ServerResponse, body: string): void {
    if (this.#waiting.length === 0) setImmediate(this.#endAll);
    this.#waiting.push({ res, body });
    if (this.#waiting.length === WAITING_MAX) this.#endAll();
  }

  readonly #endAll = (): void => {
    const answers = this.#waiting;
    this.#waiting = [];
    for (const { res, body } of answers) res.end(body, "latin1");
  };
}
