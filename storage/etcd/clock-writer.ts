/**
 * Progress for etcd versions whose progress notifications cannot be trusted. A write of one tiny key
 * is an event like any other, so a watch that shows it has shown everything before it. Any number of
 * requests share at most one write at a time and few a second. Run by EtcdStore.
 */
import type { Clock } from "../base/clock.js";
import type { Lifecycle } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";

/** Minimum interval of writes: as often as a barrier can need one, without flooding etcd's log. */
const WRITE_INTERVAL_MS_MIN = 10;

export class ClockWriter {
  readonly #write: (signal: AbortSignal) => Promise<void>;
  readonly #clock: Clock;
  readonly #lifecycle: Lifecycle;
  readonly #logger: Logger;
  #isRunning = false;
  #isWanted = false;

  constructor(options: {
    readonly write: (signal: AbortSignal) => Promise<void>;
    readonly clock: Clock;
    readonly lifecycle: Lifecycle;
    readonly logger: Logger;
  }) {
    this.#write = options.write;
    this.#clock = options.clock;
    this.#lifecycle = options.lifecycle;
    this.#logger = options.logger;
  }

  /** Asks for a write that starts after now. */
  request(): void {
    this.#isWanted = true;
    if (this.#isRunning || this.#lifecycle.signal.aborted) return;
    this.#isRunning = true;
    this.#lifecycle.spawn("etcd clock key", "restart", (signal) => this.#run(signal));
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      while (this.#isWanted && !signal.aborted) {
        this.#isWanted = false;
        // A lost write is a lost progress request, which callers repeat.
        await this.#write(signal).catch((error: unknown) => {
          this.#logger.debug({ err: error }, "the clock key was not written");
        });
        await this.#clock.sleep(WRITE_INTERVAL_MS_MIN, signal);
      }
    } finally {
      this.#isRunning = false;
    }
  }
}
