/**
 * WriteTurns: writers of one object take turns inside this process once they have got in each other's
 * way. Without it, n writers of one object would try n²/2 times. Writers of other replicas still
 * compete, but with one of ours at a time. Nothing is kept for objects that nobody fights over.
 *
 * Who waited for the store in vain takes those behind along: it would be as silent to each of them in turn.
 */
import { StatusError } from "../../api/status.js";
import { storeUnavailable } from "../../api/storage-failure.js";

interface Waiter {
  begin(): void;
  reject(error: unknown): void;
}

/** Ends a turn. @param outage why the store could not be asked; those who wait get it, too */
export type EndTurn = (outage?: StatusError) => void;

/**
 * What a failed write has to say to those who wait for its turn: that the store is silent, and that
 * theirs was certainly not done. Undefined where it failed for reasons of its own.
 */
export function outageIn(error: unknown, signal: AbortSignal): StatusError | undefined {
  const isOutage = error instanceof StatusError && (error.code === 503 || error.code === 504);
  // A client that has gone, or waited long enough, says nothing of the store.
  if (!isOutage || signal.aborted) return undefined;
  return storeUnavailable();
}

export class WriteTurns {
  /** Those who wait, in order, behind the one whose turn it is. */
  readonly #queues = new Map<string, Set<Waiter>>();

  /** How many keys are contested now. */
  get size(): number {
    return this.#queues.size;
  }

  /** Whether somebody has asked for turns on the key; then everybody does. */
  isContested(key: string): boolean {
    return this.#queues.has(key);
  }

  /**
   * Waits for the turn on a key. @returns the function that ends it; must be called.
   * The queue is as long as there are requests in flight, which is bounded elsewhere.
   * @throws the signal's reason @throws what ended the turn of somebody before
   */
  take(key: string, signal: AbortSignal): Promise<EndTurn> {
    const queue = this.#queues.get(key);
    if (queue === undefined) {
      this.#queues.set(key, new Set());
      return Promise.resolve(this.#endOf(key));
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
          resolve(this.#endOf(key));
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

  #endOf(key: string): EndTurn {
    return (outage) => {
      const queue = this.#queues.get(key);
      if (outage !== undefined) for (const waiter of [...(queue ?? [])]) waiter.reject(outage);
      const [next] = queue ?? [];
      if (next === undefined) this.#queues.delete(key);
      else next.begin();
    };
  }
}
