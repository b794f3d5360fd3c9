/**
 * The transaction of one decision, and what its refusal means. Its compares, in order:
 *
 *   the object's own key │ what judged it: epochs, namespace │ reservations │ side writes
 *
 * A refused transaction says what each compared key holds now. Those that moved tell how far the view
 * has to come before another attempt makes sense, and whose queue to join.
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
import type { Registry } from "../generic/registry.js";
import { putOperation } from "./commit.js";
import type { Decision } from "./decision.js";
import { NO_RESERVATIONS } from "./reservations.js";
import { type SideWrites, settle } from "./side-writes.js";

export interface Prepared {
  readonly transaction: Transaction;
  /** How many of the compares come before those of the side writes. */
  readonly ownCompares: number;
  readonly sideWrites: SideWrites;
  /** The key of the epoch that it moves. */
  readonly epochKey: string | undefined;
}

const NO_SIDE_WRITES: SideWrites = Object.freeze([]);

/** A promise only where a lease has to be had first. @throws {StatusError} */
export function prepareTransaction(
  registry: Registry,
  decided: Decided,
  signal: SignalSource,
): Prepared | Promise<Prepared> {
  const { resource, key, decision } = decided;
  const { action, object, value } = decision;
  if (action === "remove") return join(decided, { type: "delete", key });
  assert(value !== undefined, "StoresWhatIsEncoded");
  const put = putOperation(registry, { resource, key, value, object }, signal);
  return put instanceof Promise
    ? put.then((operation) => join(decided, operation))
    : join(decided, put);
}

/** A decision with what it rests on. */
export interface Decided {
  readonly resource: StoredResource;
  readonly key: string;
  /** Of the object's own key and of what judged it. */
  readonly compares: readonly Compare[];
  readonly decision: Decision;
  /** Set when others are judged by what it changes. */
  readonly epoch: Operation | undefined;
}

function join(decided: Decided, own: Operation): Prepared {
  const { epoch } = decided;
  const { reservations = NO_RESERVATIONS, sideWrites = NO_SIDE_WRITES } = decided.decision;
  const compares = [...decided.compares, ...reservations.compares];
  const operations = [own, ...reservations.operations];
  if (epoch !== undefined) operations.push(epoch);
  const ownCompares = compares.length;
  for (const sideWrite of sideWrites) {
    compares.push(...sideWrite.compares);
    operations.push(...sideWrite.operations);
  }
  return { transaction: { compares, operations }, ownCompares, sideWrites, epochKey: epoch?.key };
}

/** Why a transaction was refused. */
export interface Refusal {
  /** Whether it was the object itself that somebody else has written. */
  readonly isOwnLost: boolean;
  /** A key that moved and that writes of other objects want, too: of a side write, or an epoch. */
  readonly lostShared: string | undefined;
  /** The view has to reach this revision first; side writes learn by themselves. */
  readonly waitFor: Revision;
}

/** Tells the side writes the result, too. @returns undefined for a committed transaction */
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
    // Nobody says when a key went; by now it has.
    const movedAt = current?.modRevision ?? result.revision;
    if (movedAt > waitFor) waitFor = movedAt;
  }
  const own = result.current[0]?.modRevision ?? NEVER_WRITTEN;
  return { isOwnLost: own !== compares[0]?.modRevision, lostShared, waitFor };
}

const NEVER_WRITTEN = 0 as Revision;
