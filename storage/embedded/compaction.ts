/**
 * Compaction: forgets the revisions before a given one. The new limit is stored first, so that
 * nobody reads what is about to be removed. Then the log is walked from its oldest record, and the
 * versions that each record ended are removed with it. lmdb reuses the freed pages.
 *
 * It proceeds in chunks through the commit queue, so commits wait for one chunk at most. After a
 * crash the next call continues, as the log still begins with the remaining work.
 */
import { assert } from "../base/assert.js";
import { StorageError } from "../kv/errors.js";
import type { Revision } from "../kv/store.js";
import type { CommitQueue } from "./commit-queue.js";
import { compactedOfSnapshot, historyKey, putFact, type StoreDatabase } from "./database.js";
import type { GroupPlan } from "./group-plan.js";
import { decodeLog } from "./records.js";

/** Removals in one chunk, about 4 ms of work. A chunk ends with the record that reaches it. */
const CHUNK_REMOVALS = 250;

export interface CompactionRequest {
  readonly database: StoreDatabase;
  readonly queue: CommitQueue;
  /** Revisions before it are forgotten. */
  readonly revision: Revision;
  /** Called once the forgotten revisions are unreadable, before they are removed. */
  readonly onForgotten: () => void;
  readonly signal: AbortSignal;
}

/** @throws {StorageError} FutureRevision, Closed */
export async function compactStore(request: CompactionRequest): Promise<void> {
  const { database, queue, revision, onForgotten, signal } = request;
  await queue.exclusively((plan) => {
    if (revision > plan.revision) {
      const text = `cannot compact ${revision}, the store is at ${plan.revision}`;
      throw new StorageError("FutureRevision", text);
    }
    if (revision <= compactedOfSnapshot(database)) return;
    plan.addWrite(() => putFact(database, "compacted", revision));
  }, signal);
  onForgotten();
  for (let more = true; more; ) {
    more = await queue.exclusively((plan) => planChunk(database, plan), signal);
  }
}

/** Plans the removal of the oldest forgotten records; returns whether some may be left. */
function planChunk(database: StoreDatabase, plan: GroupPlan): boolean {
  const { log, history } = database;
  const end = compactedOfSnapshot(database);
  assert(end <= plan.revision, "CompactedIsPast");
  let removals = 0;
  for (const { key: revision, value } of log.getRange({ start: 0, end, limit: CHUNK_REMOVALS })) {
    // The versions that a damaged record ended stay for good: nobody knows which they are.
    for (const { key, previousMod } of decodeLog(revision, value) ?? []) {
      if (previousMod === 0) continue;
      const ended = historyKey({ key, mod: previousMod });
      plan.addWrite(() => void history.remove(ended));
      removals++;
    }
    plan.addWrite(() => void log.remove(revision));
    if (++removals >= CHUNK_REMOVALS) return true;
  }
  return false;
}
