/**
 * FreshnessBarrier: makes reads from memory linearizable (DESIGN §1). A request that must see
 * everything acknowledged before it began asks the store for its revision and waits until the view
 * has got there. Requests share the question: all that arrive while one is on its way share the
 * next, so thousands of reads cost one round trip.
 */
import type { Clock } from "../base/clock.js";
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

const DEFAULT_DEADLINE_MS = 3_000;
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
  readonly #deadlineMs: number;
  #current: Promise<Revision> | undefined;
  #next: Promise<Revision> | undefined;

  constructor(options: FreshnessOptions) {
    this.#store = options.store;
    this.#view = options.view;
    this.#clock = options.clock;
    this.#deadlineMs = options.deadlineMs ?? DEFAULT_DEADLINE_MS;
  }

  /**
   * Resolves when the view holds everything acknowledged before this call; gives the revision that
   * it was proved with. @throws {StorageError} Unavailable when that takes too long
   */
  fresh(): Promise<Revision> {
    this.counts.requests++;
    if (this.#current === undefined) {
      this.#current = this.#run();
      return this.#current;
    }
    // The question under way was asked before this request came: its answer may be too old.
    this.#next ??= this.#current.then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return this.#next;
  }

  #startNext(): Promise<Revision> {
    this.#next = undefined;
    this.#current = this.#run();
    return this.#current;
  }

  async #run(): Promise<Revision> {
    const deadline = AbortSignal.timeout(this.#deadlineMs);
    try {
      this.counts.revisionReads++;
      const revision = await this.#store.currentRevision(deadline);
      if (this.#view.revision < revision) await this.#catchUp(revision, deadline);
      return revision;
    } catch (error) {
      this.counts.timeouts++;
      if (error instanceof StorageError) throw error;
      throw new StorageError("Unavailable", "the store did not answer in time", { cause: error });
    } finally {
      if (this.#next === undefined) this.#current = undefined;
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
