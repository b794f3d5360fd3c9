/**
 * PartFeed: the events of one part of a store, from a feed that it shares with others (shared-feed.ts). They are
 * kept from its opening on, so that whoever loads the part misses none between the load and the watch.
 */
import { StorageError } from "./errors.js";
import type { Revision, StoreEvent, WatchBatch } from "./store.js";

/** Batches that wait for a reader who is slow, or loads; with more the part is loaded anew. */
const BATCHES_MAX = 10_000;

export class PartFeed {
  #batches: WatchBatch[] = [];
  /** The events of the batch that is being taken apart. */
  #events: StoreEvent[] = [];
  /** Events after it are all here. */
  #floor: Revision;
  /** The reader was told of everything up to it, or will be. */
  #told: Revision;
  /** Ends the next read. */
  #error: StorageError | undefined;
  #wake: (() => void) | undefined;

  /** @param revision how far the shared feed is */
  constructor(revision: Revision) {
    this.#floor = revision;
    this.#told = revision;
  }

  /** An event of the batch that `deliver` ends. */
  take(event: StoreEvent): void {
    this.#events.push(event);
  }

  /** Gives the reader what was taken; nothing else happened up to `revision`. */
  deliver(revision: Revision): void {
    if (this.#events.length === 0) return;
    this.#push({ revision, events: this.#events });
    this.#events = [];
  }

  /** Tells the reader that nothing else happened up to `revision`. @returns whether that is news */
  tell(revision: Revision): boolean {
    if (revision <= this.#told) return false;
    this.#push({ revision, events: [] });
    return true;
  }

  /** Events up to `revision` may be missing: whoever reads has to load anew. */
  lose(revision: Revision): void {
    this.#batches = [];
    this.#floor = revision;
    this.#told = revision;
    this.end(new StorageError("Compacted", "the feed went on from another revision"));
  }

  /** Ends the read under way, or else the next one. */
  end(error: StorageError): void {
    this.#error = error;
    this.#wake?.();
  }

  /** The events after a revision. One reader at a time. @throws {StorageError} Compacted, Closed */
  read(after: Revision, signal: AbortSignal): AsyncIterable<WatchBatch> {
    // Whoever begins anew has loaded anew.
    if (this.#error?.code === "Compacted") this.#error = undefined;
    if (after < this.#floor) this.lose(this.#floor);
    return { [Symbol.asyncIterator]: () => this.#iterate(after, signal) };
  }

  #push(batch: WatchBatch): void {
    this.#told = batch.revision;
    if (this.#batches.length >= BATCHES_MAX) {
      this.lose(batch.revision);
      return;
    }
    const last = this.#batches.at(-1);
    // A promise that nobody has read yet is replaced by a later one.
    if (last?.events.length === 0) this.#batches.pop();
    this.#batches.push(batch);
    this.#wake?.();
  }

  async *#iterate(after: Revision, signal: AbortSignal): AsyncGenerator<WatchBatch> {
    const wake = () => this.#wake?.();
    signal.addEventListener("abort", wake);
    try {
      while (!signal.aborted) {
        if (this.#error !== undefined) throw this.#error;
        const batch = this.#batches.shift();
        if (batch === undefined) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        } else if (batch.revision > after) {
          yield onlyAfter(batch, after);
        }
      }
      throw signal.reason;
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }
}

function onlyAfter(batch: WatchBatch, after: Revision): WatchBatch {
  const isLater = (event: StoreEvent) =>
    (event.type === "put" ? event.kv.modRevision : event.modRevision) > after;
  return batch.events.every(isLater) ? batch : { ...batch, events: batch.events.filter(isLater) };
}
