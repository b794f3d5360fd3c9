/**
 * Reads of the embedded store: one key or a range of keys, now or as of a revision. Every version
 * of a key is in exactly one place: in `current` while it lasts, in `history` with its end
 * afterwards. So the value of a key at revision r is the one version with mod <= r < end.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { compareTexts } from "../base/compare-texts.js";
import { StorageError } from "../kv/errors.js";
import type { KeyValue, RangeRequest, RangeResult, Revision } from "../kv/store.js";
import {
  compactedOfSnapshot,
  damaged,
  historyKey,
  revisionOfSnapshot,
  type Snapshot,
  type StoreDatabase,
} from "./database.js";
import { boundsOf, type HistoryKey, type KeyBounds } from "./records.js";
import { checkedCurrent, currentVersion, endedVersion } from "./versions.js";

/** Keys read in one turn: about 3 ms of values of 1 KiB. */
const KEYS_PER_TURN = 1000;

export interface GetResult {
  readonly kv: KeyValue | undefined;
  readonly revision: Revision;
}

/** One key. @throws {StorageError} Compacted, FutureRevision */
export function readKey(
  database: StoreDatabase,
  key: string,
  revision: Revision | undefined,
): GetResult {
  const head = revisionOfSnapshot(database);
  const lasting = currentVersion(database, key)?.kv;
  if (revision === undefined) return { kv: lasting, revision: head };
  requireReadable(revision, head, compactedOfSnapshot(database));
  const isCurrent = lasting !== undefined && lasting.modRevision <= revision;
  const kv = isCurrent ? lasting : versionThen(database, key, revision);
  return { kv, revision: head };
}

/** The version of a key that had begun by `revision` and ended after it. */
function versionThen(
  database: StoreDatabase,
  key: string,
  revision: Revision,
): KeyValue | undefined {
  const start = historyKey({ key, mod: revision });
  const end = historyKey({ key, mod: 0 });
  const range = { start, end, reverse: true, limit: 1 };
  for (const entry of database.history.getRange(range)) {
    const version = endedVersion(database, entry.key, entry.value);
    return version.end > revision ? version.kv : undefined;
  }
  return undefined;
}

function requireReadable(revision: Revision, head: Revision, compacted: Revision): void {
  if (revision > head) {
    throw new StorageError("FutureRevision", `revision ${revision} is beyond ${head}`);
  }
  if (revision < compacted) {
    throw new StorageError("Compacted", `revision ${revision} is compacted up to ${compacted}`);
  }
}

/**
 * Keys of a prefix from one snapshot. It yields to the event loop after every thousand keys;
 * `checkOpen` throws when the read should stop. @throws {StorageError} Compacted, FutureRevision
 */
export async function readRange(
  database: StoreDatabase,
  request: RangeRequest,
  checkOpen: () => void,
): Promise<RangeResult> {
  const snapshot = database.root.useReadTransaction();
  const scan: Scan = {
    database,
    snapshot,
    bounds: boundsOf(request.prefix, request.after),
    limit: request.limit || Number.POSITIVE_INFINITY,
    checkOpen,
  };
  try {
    const head = revisionOfSnapshot(database, snapshot);
    // Nothing was written since then: `history` need not be read.
    if (request.revision === undefined || request.revision === head) {
      return await rangeNow(scan, head);
    }
    requireReadable(request.revision, head, compactedOfSnapshot(database, snapshot));
    return await rangeThen(scan, request.revision, head);
  } finally {
    snapshot.done();
  }
}

interface Scan {
  readonly database: StoreDatabase;
  readonly snapshot: Snapshot;
  readonly bounds: KeyBounds;
  readonly limit: number;
  readonly checkOpen: () => void;
}

async function rangeNow(scan: Scan, revision: Revision): Promise<RangeResult> {
  const { current } = scan.database;
  const options = { ...scan.bounds, transaction: scan.snapshot };
  const limited = Number.isFinite(scan.limit) ? { ...options, limit: scan.limit } : options;
  const kvs: KeyValue[] = [];
  for (const { key, value } of current.getRange(limited)) {
    kvs.push(checkedCurrent(scan.database, String(key), value).kv);
    if (kvs.length % KEYS_PER_TURN === 0) await takeTurn(scan);
  }
  const isWhole = kvs.length < scan.limit;
  const count = isWhole ? kvs.length : current.getKeysCount(options);
  return { kvs, more: count > kvs.length, count, revision };
}

/** The versions of that time, current and ended ones, merged in key order. */
async function rangeThen(scan: Scan, then: Revision, head: Revision): Promise<RangeResult> {
  const { current, history } = scan.database;
  const options = { ...scan.bounds, transaction: scan.snapshot };
  const lasting = new VersionList(scan.limit);
  let seen = 0;
  for (const { key, value } of current.getRange(options)) {
    const { kv } = checkedCurrent(scan.database, String(key), value);
    if (kv.modRevision <= then) lasting.add(kv);
    if (++seen % KEYS_PER_TURN === 0) await takeTurn(scan);
  }
  const ended = new VersionList(scan.limit);
  // Of a key's versions in history only the last one that had begun by then can still have been
  // valid. So the keys are walked without values, and one value is read for each key.
  let candidate: HistoryKey | undefined;
  const addCandidate = () => {
    if (candidate === undefined) return;
    const record = history.get(historyKey(candidate), { transaction: scan.snapshot });
    if (record === undefined) throw damaged(`${candidate.key} has lost a version`);
    const version = endedVersion(scan.database, candidate, record);
    if (version.end > then) ended.add(version.kv);
  };
  const historyOptions = {
    start: historyKey(scan.bounds.start),
    end: historyKey(scan.bounds.end),
    transaction: scan.snapshot,
  };
  for (const key of history.getKeys(historyOptions)) {
    if (key.key !== candidate?.key) {
      addCandidate();
      candidate = undefined;
    }
    if (key.mod <= then) candidate = key;
    if (++seen % KEYS_PER_TURN === 0) await takeTurn(scan);
  }
  addCandidate();
  const count = lasting.count + ended.count;
  const kvs = merge(lasting.kvs, ended.kvs).slice(0, scan.limit);
  return { kvs, more: count > kvs.length, count, revision: head };
}

/** Keeps as many versions as an answer can show, and counts them all. */
class VersionList {
  readonly kvs: KeyValue[] = [];
  readonly #limit: number;
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#count;
  }

  add(kv: KeyValue): void {
    if (this.#count++ < this.#limit) this.kvs.push(kv);
  }
}

function merge(left: readonly KeyValue[], right: readonly KeyValue[]): KeyValue[] {
  if (right.length === 0) return [...left];
  return [...left, ...right].sort((a, b) => compareTexts(a.key, b.key));
}

async function takeTurn(scan: Scan): Promise<void> {
  await nextTurn();
  scan.checkOpen();
}
