/**
 * RevisionWaiters: promises that resolve when the view reaches a revision. Most waits end with the
 * next batch, so a plain list, looked through once a batch, beats a heap.
 */
import type { Revision } from "../kv/store.js";

interface Waiter {
  readonly revision: Revision;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

export class RevisionWaiters {
  #waiters = new Set<Waiter>();
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
      const onAbort = () => {
        this.#waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter = {
        revision,
        resolve: () => {
          signal.removeEventListener("abort", onAbort);
          resolve();
        },
        reject: (reason: unknown) => {
          signal.removeEventListener("abort", onAbort);
          reject(reason);
        },
      };
      this.#waiters.add(waiter);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  reached(revision: Revision): void {
    if (this.#waiters.size === 0) return;
    for (const waiter of this.#waiters) {
      if (waiter.revision > revision) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** The view has stopped following the store: present and future waiters are rejected. */
  end(reason: unknown): void {
    this.#ended = reason;
    for (const waiter of this.#waiters) waiter.reject(reason);
    this.#waiters.clear();
  }
}
