/**
 * GroupPlan: the table changes of a group of transactions, computed in memory before anything is
 * written. Transactions are added in order; each sees the effects of those before it, so compares
 * are as exact as if every transaction ran alone. Then `apply` writes everything as one lmdb
 * transaction. Planning may throw; applying does not.
 */
import { assert } from "../base/assert.js";
import { StorageError } from "../kv/errors.js";
import type { CommitResult, KeyValue, Revision, StoreEvent } from "../kv/store.js";
import {
  historyKey,
  leasedKey,
  putFact,
  revisionOfSnapshot,
  type StoreDatabase,
  toStorageError,
} from "./database.js";
import {
  encodeLog,
  endable,
  type LogEntry,
  stampEnd,
  stampVersion,
  toKeyValue,
} from "./records.js";
import { checkedCurrent } from "./versions.js";

/** A transaction whose values have been copied and whose keys have been checked. */
export interface PreparedTransaction {
  readonly compares: readonly { readonly key: string; readonly modRevision: number }[];
  readonly operations: readonly PreparedOperation[];
  readonly bytes: number;
  /** Whether it deletes something, so that it is let through where room is short. */
  readonly makesRoom: boolean;
}

export type PreparedOperation =
  | {
      readonly type: "put";
      readonly key: string;
      /** A version whose header is still empty. */
      readonly version: Buffer;
      /** 0 = none. */
      readonly lease: number;
    }
  | { readonly type: "delete"; readonly key: string };

/** The events of one revision: as watches without and with `previous` show them. */
export interface RevisionEvents {
  readonly revision: Revision;
  readonly plain: readonly StoreEvent[];
  readonly withPrevious: readonly StoreEvent[];
  /** Approximate memory that it retains. */
  readonly bytes: number;
}

interface Head {
  /** Its bytes, as they are in `current` or will be. */
  readonly record: Buffer;
  readonly kv: KeyValue;
  readonly lease: number;
  /** Whether lmdb may be reading the buffer, so that it must not be changed. */
  readonly isShared: boolean;
  readonly isDamaged: boolean;
}

/** Marks a leased key; lmdb takes no empty values from every platform's buffers. */
const marker = Buffer.of(1);

export class GroupPlan {
  readonly #database: StoreDatabase;
  readonly #isLeaseAlive: (lease: number) => boolean;
  readonly #heads = new Map<string, Head | undefined>();
  readonly #changed = new Set<string>();
  /** Writes to the other tables, in order. */
  readonly #writes: (() => void)[] = [];
  readonly #revisions: RevisionEvents[] = [];
  readonly #before: number;
  #revision: number;

  constructor(database: StoreDatabase, isLeaseAlive: (lease: number) => boolean) {
    this.#database = database;
    this.#isLeaseAlive = isLeaseAlive;
    this.#before = revisionOfSnapshot(database);
    this.#revision = this.#before;
  }

  /** The store's revision once the plan is applied. */
  get revision(): Revision {
    return this.#revision as Revision;
  }

  /** Whether there is anything to write. */
  get isEmpty(): boolean {
    return this.#writes.length === 0;
  }

  /** The events of the planned revisions, in order. */
  get revisions(): readonly RevisionEvents[] {
    return this.#revisions;
  }

  /** Plans a write beside the versions: leases and facts. */
  addWrite(write: () => void): void {
    this.#writes.push(write);
  }

  /**
   * Plans a transaction and returns its result. @throws {StorageError} Refused: its lease has
   * expired
   */
  add(transaction: PreparedTransaction): CommitResult {
    const { compares, operations } = transaction;
    if (compares.some(({ key, modRevision }) => this.#modOf(key) !== modRevision)) {
      const current = compares.map(({ key }) => this.#head(key)?.kv);
      return { succeeded: false, revision: this.revision, current };
    }
    for (const operation of operations) {
      if (operation.type === "put" && operation.lease !== 0) this.#requireLease(operation.lease);
    }
    const effective = operations.filter(
      (operation) => operation.type === "put" || this.#head(operation.key) !== undefined,
    );
    if (effective.length > 0) this.#addRevision(effective);
    return { succeeded: true, revision: this.revision };
  }

  #requireLease(lease: number): void {
    if (this.#isLeaseAlive(lease)) return;
    throw new StorageError("Refused", `the lease ${lease} does not exist or is over`);
  }

  #addRevision(operations: readonly PreparedOperation[]): void {
    const revision = ++this.#revision;
    const entries: LogEntry[] = [];
    const plain: StoreEvent[] = [];
    const withPrevious: StoreEvent[] = [];
    let bytes = 0;
    for (const operation of operations) {
      const { key } = operation;
      const previous = this.#endVersion(key, revision);
      entries.push({ type: operation.type, key, previousMod: previous?.modRevision ?? 0 });
      const event: StoreEvent =
        operation.type === "put"
          ? { type: "put", kv: this.#startVersion(operation, revision, previous) }
          : this.#removeKey(key, revision);
      plain.push(event);
      withPrevious.push(previous === undefined ? event : { ...event, previous });
      bytes += key.length + (previous?.value.length ?? 0);
      if (event.type === "put") bytes += event.kv.value.length;
    }
    const record = encodeLog(revision, entries);
    const { log } = this.#database;
    this.#writes.push(() => void log.put(revision, record));
    this.#revisions.push({ revision: revision as Revision, plain, withPrevious, bytes });
  }

  /** Moves the key's version, if any, into history as of `end`; returns that version. */
  #endVersion(key: string, end: number): KeyValue | undefined {
    const head = this.#head(key);
    if (head === undefined) return undefined;
    const { kv: previous, lease } = head;
    const mod = previous.modRevision;
    assert(end > mod, "VersionsEndLater");
    // Of what the record holds only its header changes; readers of `previous` have its value.
    const ended = head.isShared ? Buffer.from(head.record) : endable(head.record);
    stampEnd(ended, { key, mod }, end, head.isDamaged);

    const { history, leasedKeys } = this.#database;
    this.#writes.push(() => void history.put(historyKey({ key, mod }), ended));
    if (lease !== 0) this.#writes.push(() => void leasedKeys.remove(leasedKey({ lease, key })));
    return previous;
  }

  #startVersion(
    operation: PreparedOperation & { readonly type: "put" },
    revision: number,
    previous: KeyValue | undefined,
  ): KeyValue {
    const { key, version, lease } = operation;
    stampVersion(version, {
      key,
      mod: revision,
      create: previous?.createRevision ?? revision,
      lease,
    });
    const kv = toKeyValue(key, revision, version);
    this.#heads.set(key, { record: version, kv, lease, isShared: true, isDamaged: false });
    this.#changed.add(key);
    if (lease !== 0) {
      const { leasedKeys } = this.#database;
      this.#writes.push(() => void leasedKeys.put(leasedKey({ lease, key }), marker));
    }
    return kv;
  }

  #removeKey(key: string, revision: number): StoreEvent {
    this.#heads.set(key, undefined);
    this.#changed.add(key);
    return { type: "delete", key, modRevision: revision as Revision };
  }

  #head(key: string): Head | undefined {
    const known = this.#heads.get(key);
    if (known !== undefined || this.#heads.has(key)) return known;
    const record = this.#database.current.getBinary(key);
    const head = record && {
      record,
      ...checkedCurrent(this.#database, key, record),
      isShared: false,
    };
    this.#heads.set(key, head);
    return head;
  }

  #modOf(key: string): number {
    return this.#head(key)?.kv.modRevision ?? 0;
  }

  /**
   * Writes the plan as one lmdb transaction; resolves when it is on the disk.
   * @param isDiskFull whether an I/O error means that @throws {StorageError} NoSpace, Refused
   */
  async apply(isDiskFull: () => boolean): Promise<void> {
    const { root, current } = this.#database;
    assert(this.#revision === this.#before + this.#revisions.length, "RevisionsCountUp");
    try {
      // lmdb begins and ends the transaction with the batch: all or nothing. Plain puts and removes
      // within it have no promise that could be rejected unhandled.
      await root.batch(() => {
        for (const key of this.#changed) {
          const head = this.#heads.get(key);
          if (head === undefined) void current.remove(key);
          else void current.put(key, head.record);
        }
        for (const write of this.#writes) write();
        putFact(this.#database, "revision", this.#revision);
      });
    } catch (error) {
      const cause = await causeOf(error);
      // A failure before the meta page was written left the store as it was.
      const isUntouched =
        this.#revision > this.#before && revisionOfSnapshot(this.#database) === this.#before;
      if (isNoSpace(cause) || (isUntouched && isIoError(cause) && isDiskFull())) {
        throw diskFull(cause);
      }
      throw toStorageError(cause, !isUntouched);
    }
  }
}

/** Error texts of the system and lmdb for a full disk. */
const NO_SPACE = /No space left|File too large|quota exceeded|MDB_MAP_FULL/i;
/** lmdb's word for a page of which the disk took only a part. */
const IO_ERROR = /Input\/output error|\bEIO\b/i;

function isNoSpace(error: unknown): error is Error {
  return error instanceof Error && NO_SPACE.test(error.message);
}

function isIoError(error: unknown): error is Error {
  return error instanceof Error && IO_ERROR.test(error.message);
}

/**
 * lmdb flushes the data pages before it writes the meta page, whose space already exists. A full
 * disk therefore leaves the store unchanged.
 */
function diskFull(cause: Error): StorageError {
  return new StorageError("NoSpace", "the disk is full", { cause });
}

/** lmdb-js rejects with "Commit failed" and keeps the reason in a promise beside it. */
async function causeOf(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !("commitError" in error)) return error;
  const reason: unknown = await Promise.resolve(error.commitError).catch((cause: unknown) => cause);
  return reason ?? error;
}
