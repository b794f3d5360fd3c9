/**
 * reachNow: makes a request wait until this replica's view holds everything that was acknowledged
 * before it, and notes that in the request's state, so that no later step waits again.
 */

import type { Trace } from "../../storage/base/trace.js";
import type { FreshnessBarrier } from "../../storage/cache/freshness.js";
import { StorageError } from "../../storage/kv/errors.js";
import { serviceUnavailable } from "../api/status.js";
import type { RequestState } from "./request-state.js";

/** Requests with less time than this need their own deadline; the barrier's is about as long. */
const HURRY_MS = 3_000;

/** The parts of a request that a wait needs. */
export type Waiting = Pick<RequestState, "receivedAtMs" | "deadlineMs" | "signal"> & {
  readonly trace?: Trace | undefined;
  /** On which it came. */
  readonly connection: object;
  readonly isGone: boolean;
  /** Set once the view has held everything acknowledged before the request; it stays true. */
  isFresh: boolean;
};

/** The part of the barrier that reads need. */
export type Barrier = Pick<FreshnessBarrier, "fresh" | "turnOf">;

/**
 * Resolves when the view holds everything acknowledged before the call, and marks the request as
 * fresh.
 * @throws {StatusError} 503 when the store does not answer
 */
export async function reachNow(freshness: Barrier, request: Waiting): Promise<void> {
  const { trace } = request;
  const span = trace?.begin("freshness");
  const fresh = freshness.fresh(trace);
  let failure: unknown;
  try {
    // The barrier has a deadline of its own; only a request with less time needs another.
    const isInHurry = request.deadlineMs - request.receivedAtMs < HURRY_MS;
    await (isInHurry ? orAborted(fresh, request.signal) : fresh);
    const turn = freshness.turnOf(request.connection);
    if (turn !== undefined) await turn;
    // Nobody would read the answer: what was taken back at once costs no more.
    if (request.isGone) request.signal.throwIfAborted();
    request.isFresh = true;
  } catch (error) {
    failure = error;
    if (error instanceof StorageError) {
      throw serviceUnavailable(
        "the store is not reachable or has no quorum; try again later",
        error,
      );
    }
    throw error;
  } finally {
    span?.end(failure);
  }
}

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
