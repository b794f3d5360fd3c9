/**
 * The lmdb environment of an embedded store: five sorted tables and three facts beside them,
 * explained in embedded-store.ts. This is the only place where lmdb is configured.
 *
 * Durability: without `overlappingSync` (lmdb-js turns it on by default) an lmdb commit is the
 * classic one: data pages are written and fdatasync'ed, then the meta page is written through
 * O_DSYNC, and only then the commit promise resolves. So "resolved" means "on the disk", which is
 * what an acknowledgement of ours promises, and a crash at any point leaves the last complete
 * transaction. `overlappingSync` would make commits visible before they are durable.
 *
 * lmdb shows one snapshot to all reads of one synchronous run, and a fresh one after a commit's
 * promise or a new turn. Functions that read several things consistently therefore do not await.
 */
import { join } from "node:path";
import { type Database, type DatabaseOptions, open, type RootDatabase } from "lmdb";
import { StorageError } from "../kv/errors.js";
import { type Revision, toRevision } from "../kv/store.js";
import type { Damage } from "./damage.js";
import {
  type HistoryKey,
  historyKeyEncoder,
  type LeasedKey,
  leasedKeyEncoder,
  numberKeyEncoder,
  openNumbers,
  plainNumber,
  sealNumbers,
  textKeyEncoder,
  toPlainNumber,
} from "./records.js";

/** Raised when the layout changes in a way that older code cannot read. */
export const FORMAT_VERSION = 2;
/** The layout before records had checksums. */
export const FORMAT_WITHOUT_CHECKSUMS = 1;
/** Seven values of 1 KiB fit on a page of 8 KiB, three on one of 4 KiB: fewer pages to write. */
const PAGE_BYTES = 8192;
/**
 * Address space reserved for the file, which uses what it needs. Otherwise lmdb-js starts small and maps
 * the file anew whenever it has grown, without unmapping the old maps: an hour of writing leaves twenty
 * maps of one file, each of whose pages counts as resident again. A larger file still grows that way.
 */
const MAP_BYTES = 16 * 1024 ** 3;
/** An empty store has revision 1, as in etcd: revision 0 never exists. */
const FIRST_REVISION = 1;

export interface StoreDatabase {
  /** Facts about the whole store: revision, compacted, format. */
  readonly root: RootDatabase<Buffer, string>;
  readonly current: Database<Buffer, string | Uint8Array>;
  readonly history: Database<Buffer, HistoryTableKey>;
  readonly log: Database<Buffer, number>;
  readonly leases: Database<Buffer, number>;
  readonly leasedKeys: Database<Buffer, LeasedTableKey>;
  /** Damaged records that were met. */
  readonly damage: Damage;
}

/** lmdb's types know only its own kinds of keys; the tables' encoders take ours. */
type HistoryTableKey = HistoryKey & (string | Uint8Array);
type LeasedTableKey = LeasedKey & (string | Uint8Array);

/** Hands a composite key or raw bytes to a table whose encoder takes them. */
export function historyKey(key: HistoryKey | Uint8Array): HistoryTableKey {
  return key as HistoryTableKey;
}

export function leasedKey(key: LeasedKey | Uint8Array): LeasedTableKey {
  return key as LeasedTableKey;
}

/**
 * Opens the tables, making them where they do not exist. @throws {StorageError} Refused
 * @param isDurable whether a commit waits for the disk
 */
export function openDatabase(directory: string, damage: Damage, isDurable = true): StoreDatabase {
  const root: RootDatabase<Buffer, string> = open({
    path: join(directory, "store.mdb"),
    encoding: "binary",
    overlappingSync: false,
    noSync: !isDurable,
    // The store groups commits itself, so lmdb need not wait for the end of the event turn.
    eventTurnBatching: false,
    pageSize: PAGE_BYTES,
    mapSize: MAP_BYTES,
    maxDbs: 8,
  });
  // lmdb-js documents keyEncoder for every table, but declares it for the root only.
  const table = <K extends string | number | Uint8Array>(name: string, keyEncoder: object) => {
    const options: DatabaseOptions & { readonly keyEncoder: object } = {
      encoding: "binary",
      keyEncoder,
    };
    return root.openDB<Buffer, K>(name, options);
  };
  const database: StoreDatabase = {
    root,
    current: table("current", textKeyEncoder),
    history: table("history", historyKeyEncoder),
    log: table("log", numberKeyEncoder),
    leases: table("leases", numberKeyEncoder),
    leasedKeys: table("leased-keys", leasedKeyEncoder),
    damage,
  };
  initialize(database, directory);
  return database;
}

function initialize({ root }: StoreDatabase, directory: string): void {
  const format = root.get("format");
  if (format === undefined) {
    root.transactionSync(() => {
      root.putSync("format", toPlainNumber(FORMAT_VERSION));
      root.putSync("revision", sealNumbers("revision", FIRST_REVISION));
      root.putSync("compacted", sealNumbers("compacted", 0));
    });
    return;
  }
  const found = plainNumber(format);
  if (found !== FORMAT_VERSION && found !== FORMAT_WITHOUT_CHECKSUMS) {
    throw new StorageError(
      "Refused",
      `the data directory ${directory} has format ${found}; this program reads ${FORMAT_VERSION}`,
    );
  }
}

export function formatOf({ root }: StoreDatabase): number {
  const format = root.get("format");
  if (format === undefined) throw damaged('the fact "format" is missing');
  return plainNumber(format);
}

/** A snapshot kept over several turns; it must be released with `done`. */
export type Snapshot = ReturnType<StoreDatabase["root"]["useReadTransaction"]>;

/** The revision of a snapshot; without one, of the state that this synchronous run reads. */
export function revisionOfSnapshot({ root }: StoreDatabase, snapshot?: Snapshot): Revision {
  return fact(root, "revision", snapshot);
}

/** Revisions below it have been compacted. */
export function compactedOfSnapshot({ root }: StoreDatabase, snapshot?: Snapshot): Revision {
  return fact(root, "compacted", snapshot);
}

function fact(root: StoreDatabase["root"], name: string, snapshot?: Snapshot): Revision {
  const bytes = root.get(name, snapshot && { transaction: snapshot });
  if (bytes === undefined) throw damaged(`the fact "${name}" is missing`);
  const [number] = openNumbers(name, bytes) ?? [];
  if (number === undefined) throw damaged(`the fact "${name}" does not match its checksum`);
  return toRevision(number);
}

/** Stores a fact within a transaction. */
export function putFact({ root }: StoreDatabase, name: "revision" | "compacted", value: number) {
  void root.put(name, sealNumbers(name, value));
}

/** The tables contradict each other: another program changed the files. */
export function damaged(what: string): StorageError {
  return new StorageError("Refused", `the data directory is damaged: ${what}`);
}

/** A failure of lmdb or the disk below it, as the contract's error. */
export function toStorageError(error: unknown, outcomeUnknown: boolean): StorageError {
  if (error instanceof StorageError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new StorageError("Refused", `the data directory cannot be used: ${text}`, {
    cause: error,
    outcomeUnknown,
  });
}
