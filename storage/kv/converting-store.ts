/**
 * ConvertingStore: a RevisionedStore whose values have another form in the underlying store. Keys,
 * revisions, leases and conditions pass through. A value that cannot be converted back becomes a note
 * with the reason (unreadable.ts), never an error of the store.
 */
import { DelegatingStore } from "./delegating-store.js";
import type {
  CommitResult,
  KeyValue,
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

/** Both return the value itself when there is nothing to convert. */
export interface ValueConversion {
  toStored(key: string, value: Uint8Array): Uint8Array;
  /** @throws {Error} for an unreadable value, with a message that quotes nothing of it */
  fromStored(key: string, value: Buffer): Buffer;
  /**
   * Whether `toStored` would encode this value's content differently; absent = never. Never throws.
   */
  isStale?(key: string, value: Buffer): boolean;
}

/** The converted values, and the keys of those that would be stored differently by now. */
export interface InspectedRange extends RangeResult {
  readonly stale: ReadonlySet<string>;
}

export class ConvertingStore extends DelegatingStore {
  readonly #conversion: ValueConversion;

  constructor(store: RevisionedStore, conversion: ValueConversion) {
    super(store);
    this.#conversion = conversion;
  }

  override async get(
    key: string,
    options: { readonly revision?: Revision },
    signal: AbortSignal,
  ): Promise<{ readonly kv: KeyValue | undefined; readonly revision: Revision }> {
    const { kv, revision } = await super.get(key, options, signal);
    return { kv: kv && this.#read(kv), revision };
  }

  override async range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
    const result = await super.range(request, signal);
    return { ...result, kvs: result.kvs.map((kv) => this.#read(kv)) };
  }

  /** Like `range`, plus the keys whose stored form is outdated. */
  async inspect(request: RangeRequest, signal: AbortSignal): Promise<InspectedRange> {
    const { store } = this;
    const below: RangeResult & Partial<InspectedRange> =
      store instanceof ConvertingStore
        ? await store.inspect(request, signal)
        : await store.range(request, signal);
    const stale = new Set(below.stale);
    for (const { key, value } of below.kvs) {
      if (this.#conversion.isStale?.(key, value) === true) stale.add(key);
    }
    return { ...below, kvs: below.kvs.map((kv) => this.#read(kv)), stale };
  }

  override async commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    const operations = mapChanged(transaction.operations, (operation) => this.#written(operation));
    const isSame = operations === transaction.operations;
    const stored = isSame ? transaction : { ...transaction, operations };
    const result = await super.commit(stored, signal);
    if (result.succeeded) return result;
    return { ...result, current: result.current.map((kv) => kv && this.#read(kv)) };
  }

  override watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch> {
    const watch = super.watch(options, signal);
    return { [Symbol.asyncIterator]: () => this.#readBatches(watch[Symbol.asyncIterator]()) };
  }

  /** Written by hand: a generator would add two promises for each batch of the feed. */
  #readBatches(batches: AsyncIterator<WatchBatch>): AsyncIterator<WatchBatch> {
    const read = (result: IteratorResult<WatchBatch>): IteratorResult<WatchBatch> =>
      result.done ? result : { done: false, value: this.#readBatch(result.value) };
    return {
      next: () => batches.next().then(read),
      return: async () => (await batches.return?.()) ?? { done: true, value: undefined },
    };
  }

  /** Returns the batch itself when nothing changes. */
  #readBatch(batch: WatchBatch): WatchBatch {
    const events = mapChanged(batch.events, (event) => this.#readEvent(event));
    return events === batch.events ? batch : { revision: batch.revision, events };
  }

  #written(operation: Operation): Operation {
    if (operation.type !== "put") return operation;
    const { key } = operation;
    const value = this.#conversion.toStored(key, operation.value);
    return value === operation.value ? operation : { ...operation, value };
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
    const before = previous && this.#read(previous);
    if (event.type === "delete") return before === previous ? event : withPrevious(event, before);
    const kv = this.#read(event.kv);
    if (kv === event.kv && before === previous) return event;
    return withPrevious({ ...event, kv }, before);
  }
}

function withPrevious(event: StoreEvent, previous: KeyValue | undefined): StoreEvent {
  return previous === undefined ? event : { ...event, previous };
}

/** Returns the list itself when no element changes, so that unconverted lists are not copied. */
function mapChanged<T>(list: readonly T[], change: (element: T) => T): readonly T[] {
  let changes: T[] | undefined;
  for (const [index, element] of list.entries()) {
    const changed = change(element);
    if (changed !== element) changes ??= list.slice(0, index);
    changes?.push(changed);
  }
  return changes ?? list;
}
