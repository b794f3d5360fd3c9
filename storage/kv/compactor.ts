/**
 * The compactor forgets history older than the interval, so that the store does not grow for ever.
 * Younger history stays, as clients were promised (S1-LIM-01, CARD-10).
 *
 * Every replica runs it; a compare-and-swap on one key lets one of them win each round. A round
 * compacts to the revision that the previous round stored, so history reaches back between one and
 * two intervals, whoever wins.
 *
 *   round 1   key := "100"                      nothing is compacted
 *   round 2   key "100" -> "250"                compacts to 100
 *   round 3   (lost to another replica)         waits for the next
 */
import type { Clock } from "../base/clock.js";
import type { Logger } from "../base/logger.js";
import { StorageError } from "./errors.js";
import { type Revision, type RevisionedStore, toRevision } from "./store.js";

export interface CompactorOptions {
  readonly store: RevisionedStore;
  /** A key shared by the compactors of all replicas, outside the objects' keys. */
  readonly key: string;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for each compaction that this replica won. */
  onCompacted?(revision: Revision): void;
}

/** A store that does not answer is asked again in the next round. */
const REQUEST_DEADLINE_MS = 10_000;

/** Runs until `signal` aborts. */
export async function runCompactor(options: CompactorOptions, signal: AbortSignal): Promise<void> {
  const { clock, intervalMs, logger } = options;
  let seen: Revision | 0 | undefined;
  let isRefused = false;
  /** What a round without room for the key would have stored. */
  let remembered: Revision | undefined;
  while (!signal.aborted) {
    try {
      seen = await playRound(options, seen, withDeadline(signal));
      remembered = undefined;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StorageError && error.code === "NoSpace") {
        remembered = await playFullRound(options, remembered, withDeadline(signal));
      }
      // A refusal for missing rights persists: it is logged once, not in each round.
      const wasRefused = isRefused;
      isRefused = error instanceof StorageError && error.code === "Refused";
      const level = isRefused && wasRefused ? "debug" : "warn";
      logger[level]({ err: error }, "compaction failed; it is tried again");
    }
    await clock.sleep(intervalMs, signal);
  }
}

/**
 * One round.
 * @param seen the key's modRevision after the last round; undefined = first round of this replica
 * @returns the key's modRevision now
 */
async function playRound(
  options: CompactorOptions,
  seen: Revision | 0 | undefined,
  signal: AbortSignal,
): Promise<Revision | 0> {
  const { store, key } = options;
  const { kv, revision } = await store.get(key, {}, signal);
  const current = kv?.modRevision ?? 0;
  // A key that changed since the last round means that another replica has done this round.
  if (current !== 0 && current !== seen) return current;
  const result = await store.commit(
    {
      compares: [{ key, modRevision: current }],
      operations: [{ type: "put", key, value: Buffer.from(String(revision)) }],
    },
    signal,
  );
  if (!result.succeeded) return result.current[0]?.modRevision ?? 0;
  const before = parseRevision(kv?.value);
  if (before !== undefined) {
    await store.compact(before, signal);
    options.onCompacted?.(before);
    options.logger.info({ revision: before }, "history compacted");
  }
  return result.revision;
}

/**
 * A round while the store takes no writes, not even of the key: compaction is what makes room. Each replica
 * compacts to what it saw itself in such a round before.
 * @returns the revision for the next such round
 */
async function playFullRound(
  { store, onCompacted, logger }: CompactorOptions,
  remembered: Revision | undefined,
  signal: AbortSignal,
): Promise<Revision | undefined> {
  try {
    const revision = await store.currentRevision(signal);
    if (remembered !== undefined) {
      await store.compact(remembered, signal);
      onCompacted?.(remembered);
      logger.info({ revision: remembered }, "history compacted, as the store has no room");
    }
    return revision;
  } catch (error) {
    logger.warn({ err: error }, "compaction of a full store failed; it is tried again");
    return remembered;
  }
}

function parseRevision(value: Buffer | undefined): Revision | undefined {
  const text = value?.toString() ?? "";
  return /^[1-9][0-9]{0,15}$/.test(text) ? toRevision(Number(text)) : undefined;
}

function withDeadline(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(REQUEST_DEADLINE_MS)]);
}
