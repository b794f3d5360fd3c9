/**
 * Verbosity: the level of logging, by the numbers of kube-apiserver. Made with the logger, read
 * wherever a log line depends on it, and changeable at run time (server/http/debug-flags.ts).
 *
 *   0  what an operator must know      3  and a line for every request      4  and what helps to debug
 */

export type LogLevel = "debug" | "info" | "warn" | "error";

/** From this level on every request is logged. */
export const REQUEST_VERBOSITY = 3;
/** From this level on debug messages are logged. */
export const DEBUG_VERBOSITY = 4;
export const VERBOSITY_MAX = 10;

const QUIET: readonly LogLevel[] = ["warn", "error"];

export class Verbosity {
  /** Whether every request is logged, and not only failed ones. */
  logsRequests = false;
  readonly #configured: LogLevel;
  readonly #apply: (level: LogLevel) => void;
  #value = 0;

  /**
   * @param configured the log level at verbosity 0
   * @param apply called with the least severe level to log
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
    // Request lines need at least the info level.
    return this.logsRequests && QUIET.includes(this.#configured) ? "info" : this.#configured;
  }
}
