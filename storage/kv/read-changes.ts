/** Reads the events of a past whose keys are known, with their previous values, one key and revision at a time. */
import { StorageError } from "./errors.js";
import type { RecentChange } from "./recent-changes.js";
import {
  type KeyValue,
  type Revision,
  type RevisionedStore,
  type StoreEvent,
  toRevision,
  type WatchBatch,
} from "./store.js";

/**
 * @param changes all there were up to `until`, in order
 * @returns batches as a watch with previous values gives them; the last one reaches `until`
 * @throws {StorageError} Compacted: a version is not kept any more
 */
export async function readChanges(
  store: RevisionedStore,
  changes: readonly RecentChange[],
  until: Revision,
  signal: AbortSignal,
): Promise<readonly WatchBatch[]> {
  const read = async (change: RecentChange) => ({
    revision: change.revision,
    event: await readEvent(store, change, signal),
  });
  const batches: { readonly revision: Revision; readonly events: StoreEvent[] }[] = [];
  for (const { revision, event } of await Promise.all(changes.map(read))) {
    const last = batches.at(-1);
    if (last?.revision === revision) last.events.push(event);
    else batches.push({ revision, events: [event] });
  }
  return [...batches, { revision: until, events: [] }];
}

async function readEvent(
  store: RevisionedStore,
  { key, revision, isDeletion }: RecentChange,
  signal: AbortSignal,
): Promise<StoreEvent> {
  if (isDeletion) {
    const previous = await readBefore(store, key, revision, signal);
    return { type: "delete", key, modRevision: revision, ...(previous && { previous }) };
  }
  const { kv } = await store.get(key, { revision }, signal);
  if (kv === undefined) throw new StorageError("Unavailable", `${key} has no revision ${revision}`);
  if (kv.createRevision === revision) return { type: "put", kv };
  const previous = await readBefore(store, key, revision, signal);
  return { type: "put", kv, ...(previous && { previous }) };
}

/** @returns undefined = it is not kept any more */
async function readBefore(
  store: RevisionedStore,
  key: string,
  revision: Revision,
  signal: AbortSignal,
): Promise<KeyValue | undefined> {
  try {
    return (await store.get(key, { revision: toRevision(revision - 1) }, signal)).kv;
  } catch (error) {
    if (error instanceof StorageError && error.code === "Compacted") return undefined;
    throw error;
  }
}
