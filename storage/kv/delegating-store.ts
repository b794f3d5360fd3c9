/** DelegatingStore: passes everything on to another store, for those who do one thing more. */
import type {
  RangeRequest,
  Revision,
  RevisionedStore,
  Transaction,
  WatchOptions,
} from "./store.js";

export class DelegatingStore implements RevisionedStore {
  protected readonly store: RevisionedStore;

  constructor(store: RevisionedStore) {
    this.store = store;
  }

  commit(transaction: Transaction, signal: AbortSignal) {
    return this.store.commit(transaction, signal);
  }

  currentRevision(signal: AbortSignal) {
    return this.store.currentRevision(signal);
  }

  get(...args: Parameters<RevisionedStore["get"]>) {
    return this.store.get(...args);
  }

  range(request: RangeRequest, signal: AbortSignal) {
    return this.store.range(request, signal);
  }

  watch(options: WatchOptions, signal: AbortSignal) {
    return this.store.watch(options, signal);
  }

  requestProgress(): void {
    this.store.requestProgress();
  }

  lease(ttlSeconds: number, signal: AbortSignal) {
    return this.store.lease(ttlSeconds, signal);
  }

  compact(revision: Revision, signal: AbortSignal) {
    return this.store.compact(revision, signal);
  }

  [Symbol.asyncDispose]() {
    return this.store[Symbol.asyncDispose]();
  }
}
