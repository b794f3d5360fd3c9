/**
 * ConvertingStore: a RevisionedStore whose values have another form in the store behind it than above.
 * Keys, revisions, leases and conditions are those of the store behind it. A value that cannot be
 * converted back becomes a note why (unreadable.ts), never an error of the store.
 */
import type {
  CommitResult,
  KeyValue,
  LeaseId,
  Operation,
  RangeRequest,
  RangeResult,
  Revision,
  RevisionedStore,
  StoreEvent,
  Transaction,
  WatchBatch,
  WatchOptions,
} from "./store.js";
import { unreadableValue } from "./unreadable.js";

/** Both give the value itself where nothing is to be done. */
export interface ValueConversion {
  toStored(key: string, value: Uint8Array): Uint8Array;
  /** @throws {Error} for a value that cannot be read, with a message that quotes nothing of it */
  fromStored(key: string, value: Buffer): Buffer;
}

export class ConvertingStore implements RevisionedStore {
  readonly #store: RevisionedStore;
  readonly #conversion: ValueConversion;

  constructor(store: RevisionedStore, conversion: ValueConversion) {
    this.#store = store;
    this.#conversion = conversion;
  }

  async get(
    key: string,
    options: { readonly revision?: Revision },
    signal: AbortSignal,
  ): Promise<{ readonly kv: KeyValue | undefined; readonly revision: Revision }> {
    const { kv, revision } = await this.#store.get(key, options, signal);
    return { kv: kv && this.#read(kv), revision };
  }

  async range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
    const result = await this.#store.range(request, signal);
    return { ...result, kvs: result.kvs.map((kv) => this.#read(kv)) };
  }

  async commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    const operations = transaction.operations.map((operation) => this.#written(operation));
    const result = await this.#store.commit({ ...transaction, operations }, signal);
    if (result.succeeded) return result;
    return { ...result, current: result.current.map((kv) => kv && this.#read(kv)) };
  }

  currentRevision(signal: AbortSignal): Promise<Revision> {
    return this.#store.currentRevision(signal);
  }

  async *watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch> {
    for await (const { revision, events } of this.#store.watch(options, signal)) {
      yield { revision, events: events.map((event) => this.#readEvent(event)) };
    }
  }

  requestProgress(): void {
    this.#store.requestProgress();
  }

  lease(ttlSeconds: number, signal: AbortSignal): Promise<LeaseId> {
    return this.#store.lease(ttlSeconds, signal);
  }

  compact(revision: Revision, signal: AbortSignal): Promise<void> {
    return this.#store.compact(revision, signal);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#store[Symbol.asyncDispose]();
  }

  #written(operation: Operation): Operation {
    if (operation.type !== "put") return operation;
    const { key, value } = operation;
    return { ...operation, value: this.#conversion.toStored(key, value) };
  }

  #read(kv: KeyValue): KeyValue {
    try {
      const value = this.#conversion.fromStored(kv.key, kv.value);
      return value === kv.value ? kv : { ...kv, value };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { ...kv, value: unreadableValue(reason) };
    }
  }

  #readEvent(event: StoreEvent): StoreEvent {
    const { previous } = event;
    const before = previous === undefined ? {} : { previous: this.#read(previous) };
    if (event.type === "delete") return { ...event, ...before };
    return { ...event, ...before, kv: this.#read(event.kv) };
  }
}
