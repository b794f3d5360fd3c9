/**
 * WatchTicker: one timer for all watches, which have their bookmarks and their end by it (watch.ts says
 * when). Otherwise thousands of idle watches would keep two timers each.
 */
import { type Clock, runAtIntervals } from "../../../storage/base/clock.js";
import { type Catalog, isShownAlike } from "../../kinds/catalog.js";
import type { StoredResource } from "../../kinds/served-resource.js";

/** Precise enough for a timeout of one second. */
const TICK_MS = 200;

export interface Tick {
  readonly resource: StoredResource;
  tick(nowMs: number): void;
  /** The objects are no longer served, or in another form: later events are not sent. */
  endHere(): void;
  /** Ends the stream after the pending events. */
  finish(): void;
  /** Ends the stream, because the server shuts down. */
  end(): void;
}

export class WatchTicker {
  readonly #clock: Clock;
  readonly #watches = new Set<Tick>();
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.monotonic();
  }

  get size(): number {
    return this.#watches.size;
  }

  add(watch: Tick): void {
    this.#watches.add(watch);
    // A watch opened on a kept connection would delay the shutdown until it is cut.
    if (this.#isOver) setImmediate(() => this.#end(watch));
  }

  remove(watch: Tick): void {
    this.#watches.delete(watch);
  }

  /** Ends all watches cleanly for a shutdown (S1-WATCH-27), including later ones. */
  endAll(): void {
    this.#isOver = true;
    for (const watch of this.#watches) this.#end(watch);
  }

  /**
   * Ends all watches spread over a time, so that the clients do not all reconnect to the other
   * replicas at once. Watches that are opened meanwhile end last.
   */
  async endAllOver(durationMs: number, signal: AbortSignal): Promise<void> {
    for (let left = Math.ceil(durationMs / TICK_MS); left > 0; left--) {
      const share = Math.ceil(this.#watches.size / (left + 1));
      for (const watch of [...this.#watches].slice(0, share)) this.#end(watch);
      if (this.#watches.size === 0) return;
      await this.#clock.sleep(TICK_MS, signal);
    }
    this.endAll();
  }

  /**
   * Ends the watches of resources that the catalog no longer has, or has in another form. Call it in
   * the turn of the catalog's change: later events would be sent in the old form.
   */
  finishOutdated(catalog: Catalog): void {
    const outdated: Tick[] = [];
    for (const watch of this.#watches)
      if (!isShownAlike(catalog, watch.resource)) outdated.push(watch);
    for (const watch of outdated) watch.endHere();
    // One turn later, so that the feed does not wait for their pending events.
    setImmediate(() => {
      for (const watch of outdated) watch.finish();
    });
  }

  #end(watch: Tick): void {
    // It is removed when its response closes, which may take a while.
    this.#watches.delete(watch);
    watch.end();
  }

  /** Looks at all watches once. */
  tick(): void {
    const now = this.now();
    for (const watch of this.#watches) watch.tick(now);
  }

  run(signal: AbortSignal): Promise<void> {
    return runTickers(this.#clock, () => [this], signal);
  }
}

/** Ticks until the signal aborts; one timer for the watches of many. */
export function runTickers(
  clock: Clock,
  tickers: () => readonly Pick<WatchTicker, "tick">[],
  signal: AbortSignal,
): Promise<void> {
  const tickAll = () => {
    for (const ticker of tickers()) ticker.tick();
  };
  return runAtIntervals({ clock, intervalMs: TICK_MS }, tickAll, signal);
}
