/**
 * WatchLatency: measures the time of events from their commit in the store until the operating system has
 * them, by stage, on a few hundred deliveries a second:
 *
 *     commit --store--> the view has it --view--> handed to a client's socket --socket--> taken
 *            \_______________________________ total _______________________________________/
 *
 * *store* is measured on the commits of this replica (storage/cache/feed-lag.ts) and applied to others'
 * events as well. *view* is large for slow clients, *socket* when the machine's buffers are full. Events from
 * before a watch was opened are not counted.
 */

import type { ObjectEvent } from "../../../storage/cache/event-ring.js";
import type { FeedLag } from "../../../storage/cache/feed-lag.js";

/** Target interval of measured deliveries; a higher rate skips more of them. */
const SAMPLE_INTERVAL_MS = 5;
const STRIDE_MAX = 2 ** 16;

/** Histograms in seconds. */
export interface StageTimes {
  readonly view: { observe(seconds: number): void };
  readonly socket: { observe(seconds: number): void };
  readonly total: { observe(seconds: number): void };
}

export class WatchLatency {
  readonly #times: StageTimes;
  readonly #lag: Pick<FeedLag, "commitOf">;
  /** One in this many deliveries is measured. */
  #stride = 1;
  #left = 1;
  #lastAtMs = 0;

  constructor(times: StageTimes, lag: Pick<FeedLag, "commitOf">) {
    this.#times = times;
    this.#lag = lag;
  }

  /**
   * Called for each event before it is written.
   * @returns for a measured delivery, the function to call when the operating system has it
   */
  start({ revision, appendedAtMs }: ObjectEvent, openedAtMs: number): (() => void) | undefined {
    if (--this.#left > 0) return undefined;
    const nowMs = performance.now();
    const isSoon = nowMs - this.#lastAtMs < SAMPLE_INTERVAL_MS;
    this.#lastAtMs = nowMs;
    this.#stride = isSoon ? Math.min(STRIDE_MAX, this.#stride * 2) : Math.ceil(this.#stride / 2);
    this.#left = this.#stride;
    if (appendedAtMs < openedAtMs) return undefined;
    return () => {
      const { view, socket, total } = this.#times;
      const flushedAtMs = performance.now();
      view.observe((nowMs - appendedAtMs) / 1000);
      socket.observe((flushedAtMs - nowMs) / 1000);
      const committedAtMs = this.#lag.commitOf(revision, appendedAtMs);
      total.observe(Math.max(0, flushedAtMs - committedAtMs) / 1000);
    };
  }
}
