/** TimedStore: a store that times its answers, for observers of commit times. */
import type { Clock } from "../base/clock.js";
import type {
  CommitResult,
  Operation,
  RangeRequest,
  Revision,
  RevisionedStore,
  Transaction,
  WatchOptions,
} from "./store.js";

export interface StoreTimes {
  /** Times are monotonic milliseconds. */
  committed(revision: Revision, askedAtMs: number, nowMs: number): void;
  /** A request that causes no event on a feed. */
  answered(askedAtMs: number, nowMs: number): void;
}

export class TimedStore implements RevisionedStore {
  readonly #store: RevisionedStore;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #times: StoreTimes;

  /** @param prefix the prefix of the feed */
  constructor(
    store: RevisionedStore,
    { prefix, clock, times }: { prefix: string; clock: Clock; times: StoreTimes },
  ) {
    this.#store = store;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#times = times;
  }

  commit(transaction: Transaction, signal: AbortSignal): Promise<CommitResult> {
    const askedAtMs = this.#clock.monotonic();
    return this.#store.commit(transaction, signal).then((result) => {
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

  async currentRevision(signal: AbortSignal): Promise<Revision> {
    const askedAtMs = this.#clock.monotonic();
    const revision = await this.#store.currentRevision(signal);
    this.#times.answered(askedAtMs, this.#clock.monotonic());
    return revision;
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

  compact(revision: Revision, signal: AbortSignal) {
    return this.#store.compact(revision, signal);
  }

  [Symbol.asyncDispose]() {
    return this.#store[Symbol.asyncDispose]();
  }
}
