/** ObservedStore: a store whose commits somebody sees. */
import { DelegatingStore } from "../../storage/kv/delegating-store.js";
import type { CommitResult, RevisionedStore, Transaction } from "../../storage/kv/store.js";

export type CommitObserver = (
  transaction: Transaction,
  commit: () => Promise<CommitResult>,
) => Promise<CommitResult>;

export class ObservedStore extends DelegatingStore {
  readonly #observe: CommitObserver;

  constructor(store: RevisionedStore, observe: CommitObserver) {
    super(store);
    this.#observe = observe;
  }

  override commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    return this.#observe(transaction, () => super.commit(transaction, signal));
  }
}
