/** ObservedStore: a store whose commits somebody sees. */
import type {
  CommitResult,
  RangeRequest,
  RevisionedStore,
  Transaction,
  WatchOptions,
} from "../../storage/kv/store.js";

export type CommitObserver = (
  transaction: Transaction,
  commit: () => Promise<CommitResult>,
) => Promise<CommitResult>;

export class ObservedStore implements RevisionedStore {
  readonly #store: RevisionedStore;
  readonly #observe: CommitObserver;

  constructor(store: RevisionedStore, observe: CommitObserver) {
    this.#store = store;
    this.#observe = observe;
  }

  commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    return this.#observe(transaction, () => this.#store.commit(transaction, signal));
  }

  currentRevision(signal: AbortSignal) {
    return this.#store.currentRevision(signal);
  }

  get(...args: Parameters<RevisionedStore["get"]>) {
    return this.#store.get(...args);
  }

  range(request: RangeRequest, signal: AbortSignal) {
    return this.#store.range(request, signal);
  }

  watch(options: WatchOptions, signal: AbortSignal) {
    return this.#store.watch(options, signal);
  }

  requestProgress(): void {
    this.#store.requestProgress();
  }

  lease(ttlSeconds: number, signal: AbortSignal) {
    return this.#store.lease(ttlSeconds, signal);
  }

  compact(...args: Parameters<RevisionedStore["compact"]>) {
    return this.#store.compact(...args);
  }

  [Symbol.asyncDispose]() {
    return this.#store[Symbol.asyncDispose]();
  }
}
