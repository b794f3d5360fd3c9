/**
 * One conditional write, and the write path's other waits for the store.
 */

import { tracedSignal } from "../../../storage/base/trace.js";
import type { ExpectedWrite } from "../../../storage/cache/own-writes.js";
import { StorageError } from "../../../storage/kv/errors.js";
import type { CommitResult, Operation, Revision, Transaction } from "../../../storage/kv/store.js";
import type { ApiObject } from "../../api/meta.js";
import { timeout } from "../../api/status.js";
import { storageFailure } from "../../api/storage-failure.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { type SignalSource, signalOf } from "../../request/lazy-signal.js";
import type { Registry } from "../registry.js";

/**
 * Withdraws the announcement of a put that is refused or of unknown outcome.
 * @throws {StatusError} when the store refuses or its answer is lost
 */
export async function commit(
  { store, commitDeadline, view }: Registry,
  transaction: Transaction,
  expected: ExpectedWrite | undefined,
  signal: SignalSource,
): Promise<CommitResult> {
  // A transaction that was sent is not aborted: its outcome would be unknown. So most writes share
  // one signal instead of making their own.
  const shared = signal instanceof AbortSignal ? undefined : commitDeadline?.signal;
  const trace = signal instanceof AbortSignal ? undefined : signal.trace;
  const span = shared && trace?.begin("commit");
  let failure: unknown;
  let isDone = false;
  try {
    const ended = shared === undefined ? signalOf(signal) : tracedSignal(shared, trace);
    const result = await store.commit(transaction, ended);
    isDone = result.succeeded;
    return result;
  } catch (error) {
    failure = error;
    if (error instanceof StorageError) throw storageFailure(error);
    throw shared?.aborted === true
      ? timeout("request did not complete within the allotted timeout")
      : error;
  } finally {
    span?.end(failure);
    if (!isDone && expected !== undefined) view.ownWrites.drop(expected);
  }
}

/** Waits until the view has everything acknowledged so far. @throws {StatusError} */
export async function refresh(registry: Registry): Promise<void> {
  await asStatus(registry.freshness.fresh());
}

/** Waits for a revision that the store has reported. @throws {StatusError} 503 on a timeout */
export async function catchUp({ freshness }: Registry, revision: Revision): Promise<void> {
  await asStatus(freshness.reached(revision));
}

/**
 * The put of an object's key. Objects with an expiry get a lease with every write, as a put without
 * one would unbind them; only those wait. @throws {StatusError}
 */
export function putOperation(
  registry: Registry,
  { resource, key, value, object }: PutRequest,
  signal: SignalSource,
): Operation | Promise<Operation> {
  const ttlSeconds = resource.strategy.ttlSeconds?.(object, registry.lifetimes);
  if (ttlSeconds === undefined) return { type: "put", key, value };
  return asStatus(registry.store.lease(ttlSeconds, signalOf(signal))).then((lease) => {
    return { type: "put", key, value, lease };
  });
}

export interface PutRequest {
  readonly resource: StoredResource;
  readonly key: string;
  readonly value: Buffer;
  readonly object: ApiObject;
}

/** Waits for the store and translates its refusals for clients. @throws {StatusError} */
export async function asStatus<T>(waiting: Promise<T>): Promise<T> {
  try {
    return await waiting;
  } catch (error) {
    throw error instanceof StorageError ? storageFailure(error) : error;
  }
}
