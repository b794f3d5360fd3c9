/**
 * EmbeddedStore: RevisionedStore inside one process, on lmdb. It is the store of laptops, tests and
 * small edge sites: durable and crash-safe, but no cluster. One process opens a directory; a second
 * one is Refused.
 *
 * Layout. Five sorted tables; the facts `format`, `revision` and `compacted` lie beside them:
 *
 *     current      key                 -> mod, create, lease, value     what is
 *     history      key \0 mod          -> end, create, lease, value     what was, from mod until end
 *     log          revision            -> [type, previousMod, key]...   what happened
 *     leases       lease               -> end (wall clock), ttl
 *     leased-keys  lease, key          -> (nothing)
 *
 * Each record begins with a checksum of its key and itself; one that does not match costs that record (damage.ts).
 *
 * A version of a key is written twice at most: into `current` when it begins, into `history` when it
 * ends. The log names versions and holds no values. Worked example, an empty store at revision 1:
 *
 *     put a=x, put b=y   (2)   current: a -> (2, 2, x)  b -> (2, 2, y)   log: 2 -> [put a 0, put b 0]
 *     put a=z            (3)   current: a -> (3, 2, z)                   log: 3 -> [put a 2]
 *                              history: a\0 2 -> (end 3, create 2, x)
 *     delete b           (4)   current: b is gone                        log: 4 -> [delete b 2]
 *                              history: b\0 2 -> (end 4, create 2, y)
 *
 * Read as of 2: a's current mod 3 is too new, its history has a version with 2 <= 2 < end 3: x.
 * Watch after 2: log 3 says put a, its value is the version of a with mod 3: z. Compact to 4: the
 * records 2 and 3 go, and with record 3 the version that it ended, (a, 2). Record 4 stays, as a
 * watch after 3 is owed it.
 *
 * History is kept until `compact` is called. Only the API server's compaction loop calls it, and it
 * keeps at least five minutes on either store; this store never compacts by itself.
 *
 * Writes go through one queue in groups (commit-queue.ts); an acknowledged commit is on the disk.
 * Reads are synchronous look-ups in lmdb's memory map. Nothing but the leases is loaded at start;
 * the order of all keys is checked then.
 */
import { chmod, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../base/clock.js";
import { compareTexts } from "../base/compare-texts.js";
import { Lifecycle, type TaskObserver } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";
import { makeDirectory } from "../base/make-directory.js";
import { StorageError } from "../kv/errors.js";
import type {
  CommitResult,
  LeaseId,
  RangeRequest,
  RangeResult,
  Revision,
  RevisionedStore,
  Transaction,
  WatchBatch,
  WatchOptions,
} from "../kv/store.js";
import { addChecksums } from "./add-checksums.js";
import { checkFile } from "./check-file.js";
import { CommitQueue, closed } from "./commit-queue.js";
import { compactStore } from "./compaction.js";
import { Damage } from "./damage.js";
import {
  compactedOfSnapshot,
  damaged,
  openDatabase,
  revisionOfSnapshot,
  type StoreDatabase,
  toStorageError,
} from "./database.js";
import { type DirectoryLock, lockDirectory } from "./directory-lock.js";
import { EventLog } from "./event-log.js";
import { Leases } from "./leases.js";
import { prepareTransaction } from "./prepare-transaction.js";
import { type GetResult, readKey, readRange } from "./reads.js";
import { shrinkFile } from "./shrink-file.js";
import { requireRoom, StoreSpace } from "./store-space.js";
import { WatchCursor } from "./watch-cursor.js";

/** Far above one replica's needs, so that a leak of watches shows. */
const WATCHES_MAX = 10_000;

export interface EmbeddedStoreOptions {
  /** Made if it does not exist, for this user only. */
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Writes are refused while more bytes are in use than this. Default 0: no bound. */
  readonly quotaBytes?: number;
  /**
   * Whether an acknowledged write survives the machine's end. Default true. False is for data that goes with the process:
   * it survives the process alone.
   */
  readonly isDurable?: boolean;
  /** Told of background tasks that fail. */
  readonly tasks?: TaskObserver;
}

/** Opens the store of a directory. @throws {StorageError} Refused: in use, damaged, not ours */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
  const { directory, clock, logger, quotaBytes = 0, isDurable = true, tasks = {} } = options;
  let lock: DirectoryLock | undefined;
  let database: StoreDatabase | undefined;
  try {
    await makeDirectory(directory, 0o700);
    requireRoom(directory);
    await checkFile(join(directory, "owner.mdb"));
    lock = await lockDirectory(directory, isDurable);
    await checkFile(join(directory, "store.mdb"));
    if (lock.hasStore) await requireStore(directory);
    database = openDatabase(directory, new Damage(logger), isDurable);
    await addChecksums(database, logger);
    requireOrder(database);
    database = await shrinkFile(directory, database, logger);
    if (!lock.hasStore) remember(lock, logger);
    // lmdb creates world-readable files, and the directory may have been created by somebody else.
    await chmod(join(directory, "store.mdb"), 0o600);
    const space = new StoreSpace({ directory, database, quotaBytes, clock, logger });
    return new EmbeddedStore({ database, space, lock, clock, logger, tasks });
  } catch (error) {
    await database?.root.close();
    await lock?.release();
    throw toStorageError(error, false);
  }
}

/** An empty store in place of one that was lost would look like a cluster without objects. */
async function requireStore(directory: string): Promise<void> {
  const path = join(directory, "store.mdb");
  const { size } = await stat(path).catch(() => ({ size: 0 }));
  if (size > 0) return;
  throw new StorageError(
    "Refused",
    `the data directory has lost its store: ${path} is missing or empty, and was not before; put it back from a backup, or remove ${directory} to begin with an empty store`,
  );
}

/**
 * A damaged key, or a page above it, would hide sound records from ranges or from look-ups.
 * @throws {StorageError} Refused
 */
function requireOrder(database: StoreDatabase): void {
  const [head, compacted] = [revisionOfSnapshot(database), compactedOfSnapshot(database)];
  if (compacted > head)
    throw damaged(`revision ${compacted} is compacted, and ${head} is the last`);
  const { current } = database;
  let previous = "";
  for (const key of current.getKeys().map(String)) {
    if (compareTexts(previous, key) >= 0 || !current.doesExist(key))
      throw damaged(
        `the key ${JSON.stringify(key)} is not where it belongs; put it back from a backup`,
      );
    previous = key;
  }
}

function remember(lock: DirectoryLock, logger: Logger): void {
  try {
    lock.noteStore();
  } catch (error) {
    // On a full disk: the next start does it.
    logger.debug({ err: error }, "cannot note that there is a store");
  }
}

interface EmbeddedStoreParts {
  readonly database: StoreDatabase;
  readonly space: StoreSpace;
  readonly lock: DirectoryLock;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tasks: TaskObserver;
}

export class EmbeddedStore implements RevisionedStore {
  readonly space: Pick<StoreSpace, "shortage" | "size" | "quotaBytes">;
  readonly damage: Pick<Damage, "found">;
  readonly #database: StoreDatabase;
  readonly #lock: DirectoryLock;
  readonly #lifecycle: Lifecycle;
  readonly #leases: Leases;
  readonly #queue: CommitQueue;
  readonly #log: EventLog;
  readonly #cursors = new Set<WatchCursor>();
  /** Ranges that hold a snapshot over several turns. */
  readonly #ranges = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  constructor({ database, space, lock, clock, logger, tasks }: EmbeddedStoreParts) {
    this.space = space;
    this.damage = database.damage;
    this.#database = database;
    this.#lock = lock;
    this.#lifecycle = new Lifecycle(logger, tasks);
    this.#log = new EventLog(database, revisionOfSnapshot(database));
    this.#leases = new Leases(database, clock, logger);
    this.#queue = new CommitQueue({
      database,
      space,
      isLeaseAlive: (lease) => this.#leases.isAlive(lease),
      publish: (revisions) => {
        if (revisions.length === 0) return;
        this.#log.append(revisions);
        this.#wakeCursors();
        this.#forgetDelivered();
      },
      publishUnknown: (reason) => {
        logger.error({ err: reason }, "writing to the data directory failed");
        this.#publishFromDisk();
      },
    });
    this.#lifecycle.spawn("reserve for deletions", "restart", (signal) => space.run(signal));
    this.#lifecycle.spawn("end leases", "restart", (signal) =>
      this.#leases.run(this.#queue, signal),
    );
  }

  async get(
    key: string,
    options: { readonly revision?: Revision },
    signal: AbortSignal,
  ): Promise<GetResult> {
    this.#checkUsable(signal);
    try {
      return readKey(this.#database, key, options.revision);
    } catch (error) {
      throw toStorageError(error, false);
    }
  }

  async range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
    this.#checkUsable(signal);
    const range = readRange(this.#database, request, () => this.#checkUsable(signal));
    this.#ranges.add(range);
    try {
      return await range;
    } catch (error) {
      signal.throwIfAborted();
      throw toStorageError(error, false);
    } finally {
      this.#ranges.delete(range);
    }
  }

  async commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    this.#checkUsable(signal);
    return await this.#queue.commit(prepareTransaction(transaction), signal);
  }

  async currentRevision(signal: AbortSignal): Promise<Revision> {
    this.#checkUsable(signal);
    try {
      return revisionOfSnapshot(this.#database);
    } catch (error) {
      throw toStorageError(error, false);
    }
  }

  watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch> {
    return { [Symbol.asyncIterator]: () => this.#openCursor(options, signal) };
  }

  #openCursor(options: WatchOptions, signal: AbortSignal): WatchCursor {
    const cursor = new WatchCursor(this.#log, options, signal, (ended) => {
      this.#cursors.delete(ended);
    });
    if (this.#closing !== undefined) cursor.fail(closed());
    else if (this.#cursors.size >= WATCHES_MAX) {
      cursor.fail(new StorageError("Unavailable", `there are ${WATCHES_MAX} watches already`));
    } else if (!signal.aborted) this.#cursors.add(cursor);
    return cursor;
  }

  requestProgress(): void {
    if (this.#closing !== undefined) return;
    // A group on the disk may not have been acknowledged yet; its events come first then.
    const revision = revisionOfSnapshot(this.#database);
    for (const cursor of [...this.#cursors]) cursor.wantProgress(revision);
  }

  async lease(ttlSeconds: number, signal: AbortSignal): Promise<LeaseId> {
    this.#checkUsable(signal);
    return await this.#leases.grant(ttlSeconds, this.#queue, signal);
  }

  async compact(revision: Revision, signal: AbortSignal): Promise<void> {
    this.#checkUsable(signal);
    await compactStore({
      database: this.#database,
      queue: this.#queue,
      revision,
      onForgotten: () => this.#log.forgetBefore(revision),
      signal,
    });
  }

  #checkUsable(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closing !== undefined) throw closed();
  }

  #wakeCursors(): void {
    for (const cursor of [...this.#cursors]) cursor.wake();
  }

  /**
   * What every watch has been given is not kept in memory: it would get old there, and V8 frees what is old
   * only when it collects the whole heap.
   */
  #forgetDelivered(): void {
    let delivered: number = this.#log.head;
    for (const { position } of this.#cursors) delivered = Math.min(delivered, position);
    this.#log.forgetBefore(delivered + 1);
  }

  /** After a failed flush only the disk has the true state; watches continue from there. */
  #publishFromDisk(): void {
    try {
      const revision = revisionOfSnapshot(this.#database);
      if (revision !== this.#log.head) this.#log.forgetRecent(revision);
      this.#wakeCursors();
    } catch (error) {
      for (const cursor of [...this.#cursors]) cursor.fail(toStorageError(error, false));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async #close(): Promise<void> {
    for (const cursor of [...this.#cursors]) cursor.fail(closed());
    await this.#lifecycle[Symbol.asyncDispose]();
    await this.#queue.close();
    await Promise.allSettled(this.#ranges);
    await this.#database.root.close();
    await this.#lock.release();
  }
}
