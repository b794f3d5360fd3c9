/**
 * QueuePlaces: where one write stands in the queues of contested keys (write-queue.ts): the object's own,
 * and one that it shares with writes of other objects, such as a quota or an epoch.
 *
 * Keys are queued for in one order, the object's own before a shared one, so that no two writes ever
 * wait for each other. That is why a write that has a shared place no longer queues for its own.
 */

import { assert } from "../../../storage/base/assert.js";
import type { StatusError } from "../../api/status.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { LeaveQueue, WriteQueue } from "./write-queue.js";

export class QueuePlaces {
  readonly #queue: WriteQueue | undefined;
  #own: LeaveQueue | undefined;
  #shared: LeaveQueue | undefined;

  /** @param queue absent = writers try until one by one they win */
  constructor(queue: WriteQueue | undefined) {
    this.#queue = queue;
  }

  /** Queues for the object where others do. @returns a wait, or undefined where there is none */
  queueIfContested(own: string, signal: SignalSource): Promise<void> | undefined {
    if (this.#queue?.isContested(own) !== true) return undefined;
    return this.queueForOwn(own, signal);
  }

  /** The same for a shared key. */
  queueIfShared(shared: string, signal: SignalSource): Promise<void> | undefined {
    if (this.#queue?.isContested(shared) !== true) return undefined;
    return this.queueForShared(shared, signal);
  }

  /** After others were quicker. @returns undefined where it has its place already */
  queueForOwn(key: string, signal: SignalSource): Promise<void> | undefined {
    if (this.#queue === undefined || this.#own !== undefined || this.#shared !== undefined) {
      return undefined;
    }
    return this.#takeOwn(this.#queue, key, signal);
  }

  queueForShared(key: string, signal: SignalSource): Promise<void> | undefined {
    if (this.#queue === undefined || this.#shared !== undefined) return undefined;
    return this.#takeShared(this.#queue, key, signal);
  }

  /** Lets the next ones go, or with an outage all who wait; must be called. */
  leave(outage: StatusError | undefined): void {
    this.#shared?.(outage);
    this.#own?.(outage);
  }

  async #takeOwn(queue: WriteQueue, key: string, signal: SignalSource): Promise<void> {
    const leave = await queue.enter(key, signalOf(signal));
    assert(this.#shared === undefined, "QueuesInOneOrder");
    this.#own = leave;
  }

  async #takeShared(queue: WriteQueue, key: string, signal: SignalSource): Promise<void> {
    this.#shared = await queue.enter(key, signalOf(signal));
  }
}
