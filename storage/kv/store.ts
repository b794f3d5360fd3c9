/**
 * RevisionedStore: the contract between this API server and its storage.
 *
 * Keys are UTF-8 strings ("/registry/core/pods/default/web") in byte order, values are opaque
 * bytes. Every committed transaction that writes moves the whole store to a new, larger revision;
 * all its writes carry that one revision. Old revisions stay readable until they are compacted.
 * Implemented by storage/etcd (production) and storage/embedded (one process: laptops, tests, edge).
 * The tests in storage/kv/contract, which both implementations run, define these terms.
 *
 * Every operation that can wait takes a signal and ends soon after it aborts, with the signal's
 * reason. Otherwise operations throw only StorageError.
 */

/**
 * The store's counter. A branded number: a store beyond 2^53-1 is refused at start, never rounded.
 * Its decimal form is the resourceVersion that clients see.
 */
export type Revision = number & { readonly __brand: "Revision" };

/** Validates a whole number >= 0. The only place where a number becomes a Revision. */
export function toRevision(value: number): Revision {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not a revision: ${value}`);
  return value as Revision;
}

export type LeaseId = string & { readonly __brand: "LeaseId" };

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the last write of this key. */
  readonly modRevision: Revision;
  /** Revision at which this key was created, since its last deletion. */
  readonly createRevision: Revision;
}

export interface RangeRequest {
  /** The prefix of all keys returned. */
  readonly prefix: string;
  /** Only keys strictly after this one, for the next page. */
  readonly after?: string;
  /** Maximum number of keys; 0 or absent = all of them in one answer. */
  readonly limit?: number;
  /** Reads as of that revision instead of now. @throws Compacted, FutureRevision */
  readonly revision?: Revision;
}

export interface RangeResult {
  readonly kvs: readonly KeyValue[];
  /** Whether more keys follow. */
  readonly more: boolean;
  /** How many keys the prefix holds after `after`, regardless of `limit`. */
  readonly count: number;
  /** The store's revision when it answered (never below the requested one). */
  readonly revision: Revision;
}

/** The key's modRevision must be exactly this; 0 = the key must not exist. */
export interface Compare {
  readonly key: string;
  readonly modRevision: Revision | 0;
}

export type Operation =
  | {
      readonly type: "put";
      readonly key: string;
      readonly value: Uint8Array;
      readonly lease?: LeaseId;
    }
  | { readonly type: "delete"; readonly key: string };

/** All of `operations` happen at one revision if all of `compares` hold, else none. */
export interface Transaction {
  readonly compares: readonly Compare[];
  readonly operations: readonly Operation[];
}

export type CommitResult =
  | { readonly succeeded: true; readonly revision: Revision }
  | {
      readonly succeeded: false;
      readonly revision: Revision;
      /**
       * The current values of the compared keys, in the order of `compares`; undefined = no such
       * key.
       */
      readonly current: readonly (KeyValue | undefined)[];
    };

export type StoreEvent =
  | {
      readonly type: "put";
      readonly kv: KeyValue;
      /** Present if the watch requested it and the previous version exists and is not compacted. */
      readonly previous?: KeyValue;
    }
  | {
      readonly type: "delete";
      readonly key: string;
      readonly modRevision: Revision;
      readonly previous?: KeyValue;
    };

/**
 * One delivery of a watch. Events come in revision order, each once, and a revision is never split
 * over two batches (Ordered, Unique, Atomic). `revision` promises completeness: every event of the
 * prefix up to and including it has now been delivered. A batch without events is a progress
 * notification.
 */
export interface WatchBatch {
  readonly revision: Revision;
  readonly events: readonly StoreEvent[];
}

export interface WatchOptions {
  readonly prefix: string;
  /** Events strictly after this revision. */
  readonly after: Revision;
  /** Whether events carry the previous value. Default false. */
  readonly withPrevious?: boolean;
  /** A prefix of keys that are left out; those of `prefix` that are before them in order may be left out, too. */
  readonly unwanted?: string | undefined;
}

export interface RevisionedStore extends AsyncDisposable {
  /** One key, linearizable unless `revision` is given. @throws {StorageError} */
  get(
    key: string,
    options: { readonly revision?: Revision },
    signal: AbortSignal,
  ): Promise<{ readonly kv: KeyValue | undefined; readonly revision: Revision }>;

  /** Keys of a prefix in order, linearizable unless `revision` is given. @throws {StorageError} */
  range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult>;

  /** Atomic compare-and-write; the only way to write. @throws {StorageError} */
  commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult>;

  /**
   * A linearizable revision: at least that of every write acknowledged before the call, to any
   * client of the store. @throws {StorageError}
   */
  currentRevision(signal: AbortSignal): Promise<Revision>;

  /**
   * Opens a watch that resumes after disconnects, until `signal` aborts. Iteration ends with
   * StorageError Compacted when events that it still needs are gone for good.
   */
  watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch>;

  /**
   * Requests that open watches soon deliver a batch whose revision is at least the store's current
   * one, even if nobody writes below their prefix. May be lost: callers repeat it.
   */
  requestProgress(): void;

  /**
   * A lease with at least `ttlSeconds` left; keys put with it are deleted when it ends. May be shared
   * by callers that ask for about the same end, so keys live up to a minute longer. @throws
   * {StorageError}
   */
  lease(ttlSeconds: number, signal: AbortSignal): Promise<LeaseId>;

  /** Forgets all revisions before this one. A revision below the last compacted one is no error. */
  compact(revision: Revision, signal: AbortSignal): Promise<void>;
}
