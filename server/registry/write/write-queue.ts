/**
 * WriteQueue: writers of one key queue up inside this process once they have got in each other's way.
 * Without it, n writers of one object would try n²/2 times. Writers of other replicas still compete,
 * but with one of ours at a time. Nothing is kept for keys that nobody fights over.
 *
 *   A, B commit at once   A wins; B is refused, enters: the queue of the key is B
 *   C comes               the key is contested: C enters behind B before it tries
 *   B leaves              C begins
 *   C leaves              nobody waits: the key is not contested any more
 *
 * A writer that waited for a silent store in vain fails those behind it with the same outage: the
 * store would be as silent to each of them in turn.
 */
import { assert } from "../../../storage/base/assert.js";
import { StatusError } from "../../api/status.js";
import { storeUnavailable } from "../../api/storage-failure.js";

interface Waiter {
  begin(): void;
  reject(error: unknown): void;
}

/** Gives the place to the next. @param outage why the store could not be asked; all who wait get it */
export type LeaveQueue = (outage?: StatusError) => void;

/**
 * What a failed write has to say to those who wait behind it: that the store is silent, and that theirs
 * was certainly not done. Undefined where it failed for reasons of its own.
 */
export function outageIn(error: unknown, signal: AbortSignal): StatusError | undefined {
  const isOutage = error instanceof StatusError && (error.code === 503 || error.code === 504);
  // A client that has gone, or waited long enough, says nothing of the store.
  if (!isOutage || signal.aborted) return undefined;
  return storeUnavailable();
}

export class WriteQueue {
  /** By key: those who wait, in order, behind the one that is first. */
  readonly #queues = new Map<string, Set<Waiter>>();

  /** How many keys are contested now. */
  get size(): number {
    return this.#queues.size;
  }

  /** Whether somebody has queued for the key; then everybody does. */
  isContested(key: string): boolean {
    return this.#queues.has(key);
  }

  /**
   * Waits to be the first. @returns the function that leaves again; must be called.
   * The queue is as long as there are requests in flight, which is bounded elsewhere.
   * @throws the signal's reason @throws the outage that ended the wait of somebody before
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
