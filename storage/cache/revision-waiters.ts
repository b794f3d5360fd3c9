/**
 * RevisionWaiters: promises that resolve when the view reaches a revision. Most waits end with the
 * next batch, so a plain list, looked through once a batch, beats a heap.
 */
import { type Abortable, AbortHub } from "../base/abort-hub.js";
import { Slots } from "../base/slots.js";
import type { Revision } from "../kv/store.js";

export class RevisionWaiters {
  readonly #aborts = new AbortHub();
  readonly #waiters = new Slots<Waiter>();
  /** The reason why no waiter will be notified any more. */
  #ended: unknown;

  get size(): number {
    return this.#waiters.size;
  }

  /** @throws the signal's reason when it aborts first */
  wait(revision: Revision, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.#ended !== undefined) return reject(this.#ended);
      const leave = () => {
        this.#waiters.remove(slot);
        this.#aborts.delete(signal, abortSlot);
      };
      const waiter = new Waiter(revision, leave, resolve, reject);
      const slot = this.#waiters.add(waiter);
      const abortSlot = this.#aborts.add(signal, waiter);
    });
  }

  reached(revision: Revision): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) if (waiter.revision <= revision) waiter.reached();
  }

  /** The view has stopped following the store: present and future waiters are rejected. */
  end(reason: unknown): void {
    this.#ended = reason;
    for (const waiter of this.#waiters) waiter.abort(reason);
  }
}

class Waiter implements Abortable {
  readonly revision: Revision;
  readonly #leave: () => void;
  readonly #resolve: () => void;
  readonly #reject: (reason: unknown) => void;

  constructor(
    revision: Revision,
    leave: () => void,
    resolve: () => void,
    reject: (reason: unknown) => void,
  ) {
    this.revision = revision;
    this.#leave = leave;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  reached(): void {
    this.#leave();
    this.#resolve();
  }

  abort(reason: unknown): void {
    this.#leave();
    this.#reject(reason);
  }
}
