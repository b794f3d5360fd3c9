/**
 * Recalling history: reads the events before a view was loaded from the store's own history, so that a
 * watch from another replica, or from before a restart, resumes without a new list. It is optional,
 * so a store without that history is no failure; and it is read when the view is in use already, as only
 * watches that resume have to wait for it.
 *
 * The history is read in stretches, several at a time: etcd gives a lagging watch a limited number
 * of revisions per round, at ten rounds a second.
 */
import type { Logger } from "../base/logger.js";
import { nextTurn } from "../base/next-turn.js";
import { StorageError } from "../kv/errors.js";
import { type Revision, type RevisionedStore, toRevision, type WatchBatch } from "../kv/store.js";
import type { KeySpace } from "../objects/keys.js";
import { RecalledHistory, type RecalledHistoryOptions } from "./recalled-history.js";

/** How many revisions are recalled: less than a second of work at start. */
export const RECALL_REVISIONS_MAX = 20_000;
const RECALL_MS_MAX = 5_000;
const RECALL_PROGRESS_MS = 20;
/** Revisions that etcd gives to one watch in one round. */
const STRETCH_REVISIONS = 1_000;
/**
 * Stretches buffered at most: 48 MiB for 8 KiB objects with their previous versions. More gain nothing.
 */
const STRETCHES_AHEAD = 3;

/** `until` is the revision from which on everything is known. */
export interface RecallOptions extends RecalledHistoryOptions {
  readonly store: RevisionedStore;
  readonly keys: KeySpace;
  readonly logger: Logger;
  /** Whether it is read in one stretch: little has happened, or the store knows where. */
  readonly isShort: boolean;
}

/**
 * @returns undefined when the history is gone or takes too long. @throws {StorageError} the store is
 * down
 */
export async function recallHistory(
  options: RecallOptions,
  signal: AbortSignal,
): Promise<RecalledHistory | undefined> {
  const { after, until } = options;
  try {
    return await recallAfter(after, options, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof StorageError)) throw error;
    const { compactedTo } = error;
    if (compactedTo === undefined || compactedTo >= until) return undefined;
    return await recallAfter(toRevision(compactedTo), options, signal);
  }
}

async function recallAfter(
  after: Revision,
  options: RecallOptions,
  signal: AbortSignal,
): Promise<RecalledHistory | undefined> {
  const { store, keys, logger, until, isShort } = options;
  const stretchRevisions = isShort ? until - after : STRETCH_REVISIONS;
  const ended = new AbortController();
  const deadline = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(RECALL_MS_MAX)]);
  const history = new RecalledHistory({ ...options, after });
  // The last event may lie before `until`: then only progress proves that nothing is missing.
  const push = setInterval(() => store.requestProgress(), RECALL_PROGRESS_MS);
  const open: Stretch[] = [];
  let next: number = after;
  try {
    while (history.reached < until) {
      for (; open.length < STRETCHES_AHEAD && next < until; next += stretchRevisions) {
        const to = toRevision(Math.min(next + stretchRevisions, until));
        open.push(
          openStretch(store, { prefix: keys.prefix, after: toRevision(next), to }, deadline),
        );
        // A store in this process reads its first events at once.
        await nextTurn();
      }
      store.requestProgress();
      const stretch = open.shift();
      if (stretch === undefined) break;
      await stretch.read((batch) => history.take(batch, keys));
    }
    if (history.reached >= until) return history;
    history.close();
  } catch (error) {
    history.close();
    if (error instanceof StorageError || signal.aborted) throw error;
  } finally {
    clearInterval(push);
    ended.abort();
  }
  logger.warn({ after, until }, "history was not recalled in time");
  return undefined;
}

interface Stretch {
  /** Passes on the batches up to the stretch's end, and perhaps some beyond. */
  read(take: (batch: WatchBatch) => Promise<void>): Promise<void>;
}

/** The watch starts at once, before anybody reads. */
function openStretch(
  store: RevisionedStore,
  { prefix, after, to }: { prefix: string; after: Revision; to: Revision },
  signal: AbortSignal,
): Stretch {
  const batches = store
    .watch({ prefix, after, withPrevious: true }, signal)
    [Symbol.asyncIterator]();
  let upcoming = batches.next();
  // The reader gets the error; if an earlier stretch fails, there is no reader.
  upcoming.catch(() => {});
  return {
    async read(take) {
      for (;;) {
        const { done, value } = await upcoming;
        if (done === true) return;
        await take(value);
        // Requests are served meanwhile.
        await nextTurn();
        if (value.revision >= to) break;
        upcoming = batches.next();
      }
      await batches.return?.();
    },
  };
}
