/**
 * EncryptedStore: a RevisionedStore whose values are sealed on the way in and opened on the way out,
 * by rules that can be exchanged while it runs. Keys, revisions, leases and conditions are those of
 * the store behind it, so that nobody above knows: view, history, writes and their conflicts see plain
 * values. One that cannot be opened becomes a note why (kv/unreadable.ts), never an error of the store.
 *
 * Only built when encryption is configured: without it the way has no further step.
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
} from "../kv/store.js";
import { unreadableValue } from "../kv/unreadable.js";
import type { EncryptionRules, TransformObserver } from "./encryption-rules.js";

export interface EncryptedStoreOptions {
  readonly store: RevisionedStore;
  readonly rules: EncryptionRules;
  /** "core/secrets" for an object's key; undefined for other keys, whose values are left alone. */
  partitionOf(key: string): string | undefined;
  readonly observe?: TransformObserver;
}

export class EncryptedStore implements RevisionedStore {
  readonly #store: RevisionedStore;
  readonly #partitionOf: (key: string) => string | undefined;
  readonly #observe: TransformObserver | undefined;
  #rules: EncryptionRules;

  constructor({ store, rules, partitionOf, observe }: EncryptedStoreOptions) {
    this.#store = store;
    this.#rules = rules;
    this.#partitionOf = partitionOf;
    this.#observe = observe;
  }

  /** Other rules from now on. Values that were read already stay as they were read. */
  use(rules: EncryptionRules): void {
    this.#rules = rules;
  }

  /**
   * Whether the value would be stored differently today (another key is the first by now, or it was
   * not encrypted): then a write that changes nothing is made all the same.
   */
  async isStale(key: string, signal: AbortSignal): Promise<boolean> {
    const partition = this.#partitionOf(key);
    if (partition === undefined) return false;
    const { kv } = await this.#store.get(key, {}, signal);
    if (kv === undefined) return false;
    try {
      return this.#rules.open(partition, key, kv.value).isStale;
    } catch {
      return false;
    }
  }

  async get(
    key: string,
    options: { readonly revision?: Revision },
    signal: AbortSignal,
  ): Promise<{ readonly kv: KeyValue | undefined; readonly revision: Revision }> {
    const { kv, revision } = await this.#store.get(key, options, signal);
    return { kv: kv && this.#opened(kv), revision };
  }

  async range(request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
    const result = await this.#store.range(request, signal);
    return { ...result, kvs: result.kvs.map((kv) => this.#opened(kv)) };
  }

  async commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    const operations = transaction.operations.map((operation) => this.#sealed(operation));
    const result = await this.#store.commit({ ...transaction, operations }, signal);
    if (result.succeeded) return result;
    return { ...result, current: result.current.map((kv) => kv && this.#opened(kv)) };
  }

  currentRevision(signal: AbortSignal): Promise<Revision> {
    return this.#store.currentRevision(signal);
  }

  async *watch(options: WatchOptions, signal: AbortSignal): AsyncIterable<WatchBatch> {
    for await (const { revision, events } of this.#store.watch(options, signal)) {
      yield { revision, events: events.map((event) => this.#openedEvent(event)) };
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

  #sealed(operation: Operation): Operation {
    if (operation.type !== "put") return operation;
    const { key, value } = operation;
    const partition = this.#partitionOf(key);
    if (partition === undefined) return operation;
    return { ...operation, value: this.#rules.seal(partition, key, value, this.#observe) };
  }

  #opened(kv: KeyValue): KeyValue {
    const partition = this.#partitionOf(kv.key);
    if (partition === undefined) return kv;
    try {
      const { value } = this.#rules.open(partition, kv.key, kv.value, this.#observe);
      return value === kv.value ? kv : { ...kv, value };
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return { ...kv, value: unreadableValue(reason) };
    }
  }

  #openedEvent(event: StoreEvent): StoreEvent {
    const { previous } = event;
    const before = previous === undefined ? {} : { previous: this.#opened(previous) };
    if (event.type === "delete") return { ...event, ...before };
    return { ...event, ...before, kv: this.#opened(event.kv) };
  }
}
