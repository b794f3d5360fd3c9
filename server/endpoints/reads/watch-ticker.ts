/**
 * WatchTicker: one timer for all watches, which tells them the time. Thousands of idle watches would
 * otherwise keep two timers each.
 */
import type { Clock } from "../../../storage/base/clock.js";
import { type Catalog, isCurrent } from "../../kinds/catalog.js";
import type { StoredResource } from "../../kinds/served-resource.js";

/** Fine enough for a timeout of one second to be about one second. */
const TICK_MS = 200;

export interface Tick {
  readonly resource: StoredResource;
  tick(nowMs: number): void;
  /** Such objects are served no more, or in another way: nothing that comes from now on is told. */
  endHere(): void;
  /** Ends after what there is to tell. */
  finish(): void;
  /** The server is going down. */
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
    // Whoever comes back on a connection that is still open would hold up the end until it is cut.
    if (this.#isOver) setImmediate(() => this.#end(watch));
  }

  remove(watch: Tick): void {
    this.#watches.delete(watch);
  }

  /** Ends all watches cleanly, for a shutdown (S1-WATCH-27), and those that are opened from now on. */
  endAll(): void {
    this.#isOver = true;
    for (const watch of this.#watches) this.#end(watch);
  }

  /**
   * The same spread over a time, so that not all clients come to the other replicas in the same
   * moment. Watches that are opened meanwhile end with the last of them.
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
   * Ends the watches of what the catalog no longer has, or has in another form. To be called in the
   * turn in which the catalog changes: what comes behind the change would be told as things were
   * before it.
   */
  finishOutdated(catalog: Catalog): void {
    const outdated: Tick[] = [];
    for (const watch of this.#watches)
      if (!isCurrent(catalog, watch.resource)) outdated.push(watch);
    for (const watch of outdated) watch.endHere();
    // A turn later: the feed does not wait for them to be told what there is.
    setImmediate(() => {
      for (const watch of outdated) watch.finish();
    });
  }

  #end(watch: Tick): void {
    // It is removed when its response has closed, which may take a while.
    this.#watches.delete(watch);
    watch.end();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(TICK_MS, signal);
      const now = this.now();
      for (const watch of this.#watches) watch.tick(now);
    }
  }
}
