/**
 * Versions of keys as they are read from the tables: checked against their checksums. A damaged one is still a
 * version, with a note in place of its value and revisions that may be made up, so that it can be listed and
 * deleted like any other.
 */
import type { KeyValue, Revision } from "../kv/store.js";
import { unreadableValue } from "../kv/unreadable.js";
import { DAMAGED_VALUE } from "./damage.js";
import { historyKey, revisionOfSnapshot, type StoreDatabase } from "./database.js";
import {
  endOf,
  type HistoryKey,
  isSealedCurrent,
  isSealedEnded,
  leaseOf,
  modOf,
  toKeyValue,
} from "./records.js";

export interface CurrentVersion {
  readonly kv: KeyValue;
  /** 0 = none, or not known any more. */
  readonly lease: number;
  readonly isDamaged: boolean;
}

/** The version of a key in `current`. */
export function currentVersion(database: StoreDatabase, key: string): CurrentVersion | undefined {
  const record = database.current.getBinary(key);
  return record && checkedCurrent(database, key, record);
}

/** A record of `current` that has been read. */
export function checkedCurrent(
  database: StoreDatabase,
  key: string,
  record: Buffer,
): CurrentVersion {
  if (isSealedCurrent(key, record)) {
    return { kv: toKeyValue(key, modOf(record), record), lease: leaseOf(record), isDamaged: false };
  }
  const mod = soundRevision(database, modOf(record));
  return { kv: damagedVersion(database, "current", key, mod), lease: 0, isDamaged: true };
}

export interface EndedVersion {
  readonly kv: KeyValue;
  /** Infinity where it is not known any more. */
  readonly end: number;
}

/** The version of a key in `history` that began at `mod`. */
export function endedVersion(
  database: StoreDatabase,
  key: HistoryKey,
  record: Buffer,
): EndedVersion {
  if (isSealedEnded(key, record)) {
    return { kv: toKeyValue(key.key, key.mod, record), end: endOf(record) };
  }
  const mod = soundRevision(database, key.mod);
  return { kv: damagedVersion(database, "history", key.key, mod), end: Number.POSITIVE_INFINITY };
}

/** The version that began at `mod`, wherever it is now. */
export function versionAt(database: StoreDatabase, key: string, mod: number): KeyValue | undefined {
  const lasting = currentVersion(database, key);
  if (lasting !== undefined && lasting.kv.modRevision === mod) return lasting.kv;
  const record = database.history.getBinary(historyKey({ key, mod }));
  return record && endedVersion(database, { key, mod }, record).kv;
}

/** The note about a damaged version. */
function damagedVersion(
  { damage }: StoreDatabase,
  table: string,
  key: string,
  mod: Revision,
): KeyValue {
  damage.note(table, key);
  const value = unreadableValue(DAMAGED_VALUE);
  return { key, value, modRevision: mod, createRevision: mod };
}

/** Damaged bytes may be no revision that ever was; every reader gets the same in its place. */
function soundRevision(database: StoreDatabase, mod: number): Revision {
  const isSound = Number.isSafeInteger(mod) && mod >= 1 && mod <= revisionOfSnapshot(database);
  return (isSound ? mod : 1) as Revision;
}
