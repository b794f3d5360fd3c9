/** TimedStore: a store that times its answers, for observers of commit times. */
import type { Clock } from "../base/clock.js";
import { DelegatingStore } from "./delegating-store.js";
import type { CommitResult, Operation, Revision, RevisionedStore, Transaction } from "./store.js";

export interface StoreTimes {
  /** Times are monotonic milliseconds. */
  committed(revision: Revision, askedAtMs: number, nowMs: number): void;
  /** A request that causes no event on a feed. */
  answered(askedAtMs: number, nowMs: number): void;
}

export class TimedStore extends DelegatingStore {
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #times: StoreTimes;

  /** @param prefix the prefix of the feed */
  constructor(
    store: RevisionedStore,
    { prefix, clock, times }: { prefix: string; clock: Clock; times: StoreTimes },
  ) {
    super(store);
    this.#prefix = prefix;
    this.#clock = clock;
    this.#times = times;
  }

  override commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    const askedAtMs = this.#clock.monotonic();
    return super.commit(transaction, signal).then((result) => {
      const nowMs = this.#clock.monotonic();
      const isSeen = ({ key }: Operation) => key.startsWith(this.#prefix);
      if (result.succeeded && transaction.operations.some(isSeen)) {
        this.#times.committed(result.revision, askedAtMs, nowMs);
      } else {
        this.#times.answered(askedAtMs, nowMs);
      }
      return result;
    });
  }

  override async currentRevision(signal: AbortSignal): Promise<Revision> {
    const askedAtMs = this.#clock.monotonic();
    const revision = await super.currentRevision(signal);
    this.#times.answered(askedAtMs, this.#clock.monotonic());
    return revision;
  }
}
