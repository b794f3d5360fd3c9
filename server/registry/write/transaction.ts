/**
 * The transaction of one decision, and the meaning of its refusal. Its compares, in order:
 *
 *   the object's own key │ what judged it: epochs, namespace │ reservations │ side writes
 *
 * A refused transaction returns the current state of each compared key. The changed ones tell which
 * revision the view must reach before another attempt, and which queue to join.
 */

import { assert } from "../../../storage/base/assert.js";
import type {
  CommitResult,
  Compare,
  Operation,
  Revision,
  Transaction,
} from "../../../storage/kv/store.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { SignalSource } from "../../request/lazy-signal.js";
import type { Registry } from "../registry.js";
import { putOperation } from "./commit.js";
import type { Decision } from "./decision.js";
import { NO_RESERVATIONS } from "./reservations.js";
import { type SideWrites, settle } from "./side-writes.js";
import { plainBytes, type StorableHost } from "./stored-bytes.js";

export interface Prepared {
  readonly transaction: Transaction;
  /** How many compares precede those of the side writes. */
  readonly ownCompares: number;
  readonly sideWrites: SideWrites;
  /** The key of the epoch that the transaction moves. */
  readonly epochKey: string | undefined;
}

const NO_SIDE_WRITES: SideWrites = Object.freeze([]);

/** Returns a promise only when it needs a lease. @throws {StatusError} */
export function prepareTransaction(
  registry: Registry,
  decided: Decided,
  signal: SignalSource,
): Prepared | Promise<Prepared> {
  const { resource, key, decision } = decided;
  const { action, object, value } = decision;
  if (action === "remove") return join(registry, decided, { type: "delete", key });
  assert(value !== undefined, "StoresWhatIsEncoded");
  const put = putOperation(registry, { resource, key, value, object }, signal);
  return put instanceof Promise
    ? put.then((operation) => join(registry, decided, operation))
    : join(registry, decided, put);
}

/** A decision with the state that it is based on. */
export interface Decided {
  readonly resource: StoredResource;
  readonly key: string;
  /** Compares of the object's own key and of the conditions that judged it. */
  readonly compares: readonly Compare[];
  readonly decision: Decision;
  /** What the write moves when the changed object judges other writes. */
  readonly epochs: readonly Operation[];
}

function join(host: StorableHost, decided: Decided, own: Operation): Prepared {
  const { epochs } = decided;
  const { reservations = NO_RESERVATIONS, sideWrites = NO_SIDE_WRITES } = decided.decision;
  const compares = [...decided.compares, ...reservations.compares];
  const operations: Operation[] = [own, ...reservations.operations, ...epochs];
  const ownCompares = compares.length;
  for (const sideWrite of sideWrites) {
    compares.push(...sideWrite.compares);
    for (const { key, object } of sideWrite.puts) {
      operations.push({ type: "put", key, value: plainBytes(host, object) });
    }
  }
  return {
    transaction: { compares, operations },
    ownCompares,
    sideWrites,
    epochKey: epochs[0]?.key,
  };
}

/** Why a transaction was refused. */
export interface Refusal {
  /** Whether another write changed the object itself. */
  readonly isOwnLost: boolean;
  /** A changed key that writes of other objects share: of a side write, or an epoch. */
  readonly lostShared: string | undefined;
  /** The view must reach this revision first; side writes are told separately. */
  readonly waitFor: Revision;
}

/** Also tells the side writes the result. @returns undefined for a committed transaction */
export function readRefusal(
  { transaction: { compares }, ownCompares, sideWrites, epochKey }: Prepared,
  result: CommitResult,
): Refusal | undefined {
  let lostShared = settle(sideWrites, result, ownCompares);
  if (result.succeeded) return undefined;
  let waitFor = NEVER_WRITTEN;
  for (let i = 0; i < ownCompares; i++) {
    const current = result.current[i];
    if ((current?.modRevision ?? NEVER_WRITTEN) === compares[i]?.modRevision) continue;
    if (compares[i]?.key === epochKey) lostShared ??= epochKey;
    // The revision of a key's deletion is unknown; it is at most the current one.
    const movedAt = current?.modRevision ?? result.revision;
    if (movedAt > waitFor) waitFor = movedAt;
  }
  const own = result.current[0]?.modRevision ?? NEVER_WRITTEN;
  return { isOwnLost: own !== compares[0]?.modRevision, lostShared, waitFor };
}

const NEVER_WRITTEN = 0 as Revision;
