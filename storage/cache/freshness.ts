/**
 * FreshnessBarrier: makes reads from memory linearizable (DESIGN §1). A request that must see
 * everything acknowledged before it began asks the store for its revision and waits until the view
 * has got there. Requests share the question: all that arrive while one is on its way share the
 * next, so thousands of reads cost one round trip.
 */
import type { Clock } from "../base/clock.js";
import { SharedDeadline } from "../base/shared-deadline.js";
import { StorageError } from "../kv/errors.js";
import type { Revision, RevisionedStore } from "../kv/store.js";
import type { RegistryView } from "./registry-view.js";

/** Counted here, read by the metrics endpoint. */
export interface FreshnessCounts {
  /** Linearizable revision reads sent to the store. */
  revisionReads: number;
  /** Requests that were served by them. */
  requests: number;
  /** Times the view had to be pushed by a progress request. */
  progressRequests: number;
  /** Barriers that ran into their deadline. */
  timeouts: number;
}

export interface FreshnessOptions {
  readonly store: RevisionedStore;
  readonly view: RegistryView;
  readonly clock: Clock;
  /** A store without quorum fails consistent reads after this long. */
  readonly deadlineMs?: number;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: Promise<T>): void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: Promise<T>) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

const DEFAULT_DEADLINE_MS = 3_000;
const DEADLINE_SLACK_MS = 100;
/** A write below our prefix arrives by itself within this time; then we ask for progress. */
const PATIENCE_MS = 1;
/** Progress requests may be lost, so they are repeated. */
const REPEAT_MS = 20;

export class FreshnessBarrier {
  readonly counts: FreshnessCounts = {
    revisionReads: 0,
    requests: 0,
    progressRequests: 0,
    timeouts: 0,
  };
  readonly #store: RevisionedStore;
  readonly #view: RegistryView;
  readonly #clock: Clock;
  readonly #deadline: SharedDeadline;
  /** Whether a revision read is on its way. */
  #isReading = false;
  /** Those who came while one was on its way, and share the next. */
  #next: Deferred<Revision> | undefined;

  constructor(options: FreshnessOptions) {
    this.#store = options.store;
    this.#view = options.view;
    this.#clock = options.clock;
    this.#deadline = new SharedDeadline(
      options.deadlineMs ?? DEFAULT_DEADLINE_MS,
      DEADLINE_SLACK_MS,
    );
  }

  /**
   * Resolves when the view holds everything acknowledged before this call; gives the revision that
   * it was proved with. @throws {StorageError} Unavailable when that takes too long
   */
  fresh(): Promise<Revision> {
    this.counts.requests++;
    if (!this.#isReading) return this.#startBatch();
    // The question under way was asked before this request came: its answer may be too old.
    this.#next ??= deferred();
    return this.#next.promise;
  }

  async #startBatch(): Promise<Revision> {
    this.#isReading = true;
    const deadline = this.#deadline.signal;
    try {
      const revision = await this.#read(deadline);
      if (this.#view.revision < revision) await this.#catchUp(revision, deadline);
      return revision;
    } catch (error) {
      this.counts.timeouts++;
      if (error instanceof StorageError) throw error;
      throw new StorageError("Unavailable", "the store did not answer in time", { cause: error });
    }
  }

  /** The next batch starts with the end of the read; it need not wait for this one's catching up. */
  async #read(deadline: AbortSignal): Promise<Revision> {
    this.counts.revisionReads++;
    try {
      return await this.#store.currentRevision(deadline);
    } finally {
      this.#isReading = false;
      const next = this.#next;
      this.#next = undefined;
      next?.resolve(this.#startBatch());
    }
  }

  async #catchUp(revision: Revision, deadline: AbortSignal): Promise<void> {
    const arrived = this.#view.waitForRevision(revision, deadline);
    const isDone = new AbortController();
    arrived.then(
      () => isDone.abort(),
      () => isDone.abort(),
    );
    void this.#push(isDone.signal);
    await arrived;
  }

  /** Nobody may have written below our prefix: then only a progress notification moves the view. */
  async #push(done: AbortSignal): Promise<void> {
    let delayMs = PATIENCE_MS;
    for (;;) {
      try {
        await this.#clock.sleep(delayMs, done);
      } catch {
        return;
      }
      this.counts.progressRequests++;
      this.#store.requestProgress();
      delayMs = REPEAT_MS;
    }
  }
}
