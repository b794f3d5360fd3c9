/**
 * QueuePlaces: one write's places in the queues of contested keys (write-queue.ts): the object's own key,
 * and one shared with writes of other objects, such as a quota or an epoch.
 *
 * Queues are entered in one order, the object's own key before a shared one, so that no two writes
 * ever wait for each other. A write with a shared place therefore no longer queues for its own key.
 */

import { assert } from "../../../storage/base/assert.js";
import type { StatusError } from "../../api/status.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { LeaveQueue, WriteQueue } from "./write-queue.js";

export class QueuePlaces {
  readonly #queue: WriteQueue | undefined;
  #own: LeaveQueue | undefined;
  #shared: LeaveQueue | undefined;

  /** @param queue absent = writers retry until they win */
  constructor(queue: WriteQueue | undefined) {
    this.#queue = queue;
  }

  /** Queues for the object if the key is contested. @returns a wait, or undefined */
  queueIfContested(own: string, signal: SignalSource): Promise<void> | undefined {
    if (this.#queue?.isContested(own) !== true) return undefined;
    return this.queueForOwn(own, signal);
  }

  /** The same for a shared key. */
  queueIfShared(shared: string, signal: SignalSource): Promise<void> | undefined {
    if (this.#queue?.isContested(shared) !== true) return undefined;
    return this.queueForShared(shared, signal);
  }

  /** Called after losing to another writer. @returns undefined if it already has a place */
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

  /** Releases the next writers, or on an outage fails all that wait; must be called. */
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
