/**
 * Verbosity: how talkative the process is, by the numbers of the existing API. Made with the logger, read
 * wherever a line depends on it, changed while the process runs (server/http/debug-flags.ts).
 *
 *   0  what an operator must know      3  and a line for every request      4  and what helps to debug
 */

export type LogLevel = "debug" | "info" | "warn" | "error";

/** From here on every request has a line. */
export const REQUEST_VERBOSITY = 3;
/** From here on debug messages show. */
export const DEBUG_VERBOSITY = 4;
export const VERBOSITY_MAX = 10;

const QUIET: readonly LogLevel[] = ["warn", "error"];

export class Verbosity {
  /** Whether each request is logged, and not only those that we failed. */
  logsRequests = false;
  readonly #configured: LogLevel;
  readonly #apply: (level: LogLevel) => void;
  #value = 0;

  /**
   * @param configured what is logged at verbosity 0
   * @param apply told the least important level that is to be logged
   */
  constructor(configured: LogLevel, apply: (level: LogLevel) => void) {
    this.#configured = configured;
    this.#apply = apply;
  }

  get value(): number {
    return this.#value;
  }

  set value(value: number) {
    this.#value = value;
    this.logsRequests = value >= REQUEST_VERBOSITY || this.#configured === "debug";
    this.#apply(this.#level());
  }

  #level(): LogLevel {
    if (this.#value >= DEBUG_VERBOSITY) return "debug";
    // Lines of requests would be in vain at a level that hides them.
    return this.logsRequests && QUIET.includes(this.#configured) ? "info" : this.#configured;
  }
}
