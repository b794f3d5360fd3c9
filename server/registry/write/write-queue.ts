/**
 * WriteQueue: writers of one key queue inside this process once they have conflicted. Without it, n
 * writers of one object would make n²/2 attempts. Writers of other replicas still compete, but with
 * one of ours at a time. Uncontested keys have no state.
 *
 *   A, B commit at once   A wins; B is refused, enters: the queue of the key is B
 *   C comes               the key is contested: C enters behind B before it tries
 *   B leaves              C begins
 *   C leaves              nobody waits: the key is not contested any more
 *
 * A writer that timed out on a silent store fails those behind it with the same outage: each of
 * them would only time out in turn.
 */
import { assert } from "../../../storage/base/assert.js";
import type { StatusError } from "../../api/status.js";
import { isOutage, storeUnavailable } from "../../api/storage-failure.js";

interface Waiter {
  begin(): void;
  reject(error: unknown): void;
}

/** Releases the next writer. @param outage why the store was unreachable; all waiters fail with it */
export type LeaveQueue = (outage?: StatusError) => void;

/**
 * The error that a failed write passes to the writers behind it: the store is silent, and their writes
 * were certainly not done. Undefined when it failed for reasons of its own.
 */
export function outageIn(error: unknown, signal: AbortSignal): StatusError | undefined {
  // An aborted request says nothing about the store.
  if (!isOutage(error) || signal.aborted) return undefined;
  return storeUnavailable(error.cause);
}

export class WriteQueue {
  /** By key: the waiting writers, in order, behind the active one. */
  readonly #queues = new Map<string, Set<Waiter>>();

  /** How many keys are contested. */
  get size(): number {
    return this.#queues.size;
  }

  /** Whether any writer has queued for the key; then every writer must. */
  isContested(key: string): boolean {
    return this.#queues.has(key);
  }

  /**
   * Waits for the first place. @returns the function that leaves the queue; must be called.
   * The number of requests in flight, which is bounded elsewhere, bounds the queue.
   * @throws the signal's reason @throws the outage that an earlier writer met
   */
  enter(key: string, signal: AbortSignal): Promise<LeaveQueue> {
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      this.#queues.set(key, new Set());
      return Promise.resolve(this.#leaveOf(key));
    }
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const leave = () => {
        queue.delete(waiter);
        signal.removeEventListener("abort", onAbort);
      };
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        begin: () => {
          leave();
          resolve(this.#leaveOf(key));
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      queue.add(waiter);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #leaveOf(key: string): LeaveQueue {
    let isFirst = true;
    return (outage) => {
      assert(isFirst, "LeavesOnce");
      isFirst = false;
      const queue = this.#queues.get(key);
      if (outage !== undefined) for (const waiter of [...(queue ?? [])]) waiter.reject(outage);
      const [next] = queue ?? [];
      if (next === undefined) this.#queues.delete(key);
      else next.begin();
    };
  }
}
