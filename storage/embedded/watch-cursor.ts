/**
 * WatchCursor: one watch, as a position in the event log. It holds no events: each `next` reads on
 * from its position, in memory or on the disk. A slow consumer therefore costs nothing, and gets
 * Compacted if events that it still needs are forgotten meanwhile.
 */
import type { Revision, WatchBatch, WatchOptions } from "../kv/store.js";
import { toStorageError } from "./database.js";
import type { EventLog, EventSelection } from "./event-log.js";

interface Waiter {
  readonly resolve: (result: IteratorResult<WatchBatch, undefined>) => void;
  readonly reject: (reason: unknown) => void;
}

export class WatchCursor implements AsyncIterator<WatchBatch, undefined> {
  readonly #log: EventLog;
  readonly #selection: EventSelection;
  readonly #signal: AbortSignal;
  readonly #onEnd: (cursor: WatchCursor) => void;
  readonly #onAbort: () => void;
  /** Everything up to and including it has been delivered, or does not concern this watch. */
  #position: Revision;
  /** A caller waits for the watch to reach this revision; 0 = nobody waits. */
  #progressWanted = 0;
  #waiter: Waiter | undefined;
  /** Set once: how all later calls of `next` end. */
  #end: { readonly error: unknown } | "left" | undefined;

  constructor(
    log: EventLog,
    options: WatchOptions,
    signal: AbortSignal,
    onEnd: (cursor: WatchCursor) => void,
  ) {
    this.#log = log;
    this.#selection = {
      prefix: options.prefix,
      withPrevious: options.withPrevious ?? false,
      unwanted: options.unwanted,
    };
    this.#position = options.after;
    this.#signal = signal;
    this.#onEnd = onEnd;
    this.#onAbort = () => this.fail(signal.reason);
    if (signal.aborted) this.fail(signal.reason);
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** All events up to and including this revision have been delivered. */
  get position(): Revision {
    return this.#position;
  }

  /** The next batch; one call at a time, as `for await` does. */
  next(): Promise<IteratorResult<WatchBatch, undefined>> {
    return new Promise((resolve, reject) => {
      if (this.#waiter !== undefined) {
        return reject(new TypeError("a watch takes one call of next at a time"));
      }
      this.#waiter = { resolve, reject };
      this.wake();
    });
  }

  /** The consumer stops. */
  async return(): Promise<IteratorResult<WatchBatch, undefined>> {
    this.#finish("left");
    return { done: true, value: undefined };
  }

  /** Ends the watch with an error, now or at the next call of `next`. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  /** Asks for a batch, even an empty one, once everything up to `revision` has been seen. */
  wantProgress(revision: Revision): void {
    this.#progressWanted = Math.max(this.#progressWanted, revision);
    this.wake();
  }

  /** Delivers the available events to a waiting consumer. Called when the log has grown. */
  wake(): void {
    if (this.#waiter === undefined) return;
    if (this.#end !== undefined) {
      this.#settleEnd(this.#end);
      return;
    }
    try {
      const batch = this.#read();
      if (batch !== undefined) this.#deliver(batch);
    } catch (error) {
      this.fail(toStorageError(error, false));
    }
  }

  #read(): WatchBatch | undefined {
    if (this.#position < this.#log.head) {
      const { events, revision } = this.#log.read(this.#position, this.#selection);
      this.#position = revision;
      if (events.length > 0) return { revision, events };
      if (revision < this.#log.head) {
        // A long stretch of unrelated events: continue in another turn.
        setImmediate(() => this.wake());
        return undefined;
      }
    }
    // A watch from a future revision is ahead of the log: nothing is complete yet.
    const isReached = this.#position === this.#log.head;
    if (!isReached || this.#progressWanted === 0 || this.#position < this.#progressWanted) {
      return undefined;
    }
    return { revision: this.#position, events: [] };
  }

  #deliver(batch: WatchBatch): void {
    if (batch.revision >= this.#progressWanted) this.#progressWanted = 0;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.resolve({ done: false, value: batch });
  }

  #finish(end: { readonly error: unknown } | "left"): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#onEnd(this);
    if (this.#waiter !== undefined) this.#settleEnd(end);
  }

  #settleEnd(end: { readonly error: unknown } | "left"): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (end === "left") waiter?.resolve({ done: true, value: undefined });
    else waiter?.reject(end.error);
  }
}
