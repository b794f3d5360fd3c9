/**
 * FreshnessBarrier: makes reads from memory linearizable. A request that must see
 * everything acknowledged before it began asks the store for its revision and waits until the view
 * has got there. Requests share the question: all that arrive while one is on its way share the
 * next, so thousands of reads cost one round trip.
 *
 *   requests 1..8    arrive in one turn of the event loop; question A goes out at its end
 *   requests 9..90   must not use A's answer, as it may be older than they are: they wait
 *   answer A         serves 1..8; question B goes out for 9..90
 *
 * The more a question served, the longer the next one waits for company: as long as answering those
 * requests keeps the thread busy anyhow, so a lone client never waits and a busy server asks seldom.
 * A question that stays out is not waited for: the next one goes out beside it, so that a lost
 * answer delays nobody for long, and a store without quorum fails every request after the deadline.
 */
import type { Clock } from "../base/clock.js";
import { SharedDeadline } from "../base/shared-deadline.js";
import { type Trace, tracedSignal } from "../base/trace.js";
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
  /** Revision reads that were sent while an earlier one had not been answered in time. */
  overtakes: number;
  /** Batches of requests that failed, by their deadline or otherwise. */
  timeouts: number;
}

export interface FreshnessOptions {
  readonly store: RevisionedStore;
  readonly view: RegistryView;
  readonly clock: Clock;
  /** A store without quorum fails consistent reads after about this long. */
  readonly deadlineMs?: number;
  /** Told about each batch: how many requests shared it, and how long it took altogether. */
  onBatch?(requests: number, durationMs: number): void;
}

interface Batch {
  /** Counts from its first request, so that waiting for the turn is part of the deadline. */
  readonly deadline: AbortSignal;
  readonly promise: Promise<Revision>;
  readonly resolve: (value: Promise<Revision>) => void;
  requests: number;
  /** Of one of its requests: the question is part of that. */
  trace: Trace | undefined;
}

function openBatch(deadline: AbortSignal): Batch {
  let resolve: Batch["resolve"] = () => {};
  const promise = new Promise<Revision>((done) => {
    resolve = done;
  });
  return { deadline, promise, resolve, requests: 0, trace: undefined };
}

const DEFAULT_DEADLINE_MS = 3_000;
const DEADLINE_SLACK_MS = 100;
/** A revision read out for longer is overtaken by the next; a dozen at most are then on their way. */
const OVERTAKE_MS = 250;
/** A write below our prefix arrives by itself within this time; then we ask for progress. */
const PATIENCE_MS = 1;
/** Progress requests may be lost, so they are repeated. */
const REPEAT_MS = 20;

/** About what it costs to answer one read from memory. */
const ANSWER_MS = 0.04;
/** The longest time between two questions: 200 a second are few for any etcd. */
const SPACING_MS_MAX = 5;
/** Timers are no finer than this. */
const TIMER_MS = 1;

/** For sleeps that nobody needs to cut short. */
const NEVER = new AbortController().signal;

export class FreshnessBarrier {
  readonly counts: FreshnessCounts = {
    revisionReads: 0,
    requests: 0,
    progressRequests: 0,
    overtakes: 0,
    timeouts: 0,
  };
  readonly #store: RevisionedStore;
  readonly #view: RegistryView;
  readonly #clock: Clock;
  readonly #deadline: SharedDeadline;
  readonly #onBatch: FreshnessOptions["onBatch"];
  /** The revision read that the next batch waits for; undefined = none is on its way. */
  #reading: { readonly sinceMs: number } | undefined;
  /** Those who came while one was on its way, or in this turn, and share the next. */
  #next: Batch | undefined;
  /** Before this time the next question would be too early. */
  #earliestMs = 0;
  #isGuarding = false;
  /** How many batches wait for the view, and for which revision at most. */
  #waiting = 0;
  #wanted = 0 as Revision;
  #isPushing = false;
  /** `eventsApplied` when progress was last asked for: unchanged = others write, we do not. */
  #eventsAtPush = -1;

  constructor(options: FreshnessOptions) {
    this.#store = options.store;
    this.#view = options.view;
    this.#clock = options.clock;
    this.#onBatch = options.onBatch?.bind(options);
    this.#deadline = new SharedDeadline(
      options.deadlineMs ?? DEFAULT_DEADLINE_MS,
      DEADLINE_SLACK_MS,
    );
  }

  /**
   * Resolves when the view holds everything acknowledged before this call; gives the revision that
   * it was proved with. @throws {StorageError} Unavailable when that takes too long
   */
  fresh(trace?: Trace): Promise<Revision> {
    this.counts.requests++;
    let next = this.#next;
    if (next === undefined) {
      next = openBatch(this.#deadline.signal);
      this.#next = next;
      // The question under way was asked before this request came: its answer may be too old.
      if (this.#reading === undefined) this.#schedule();
      else if (!this.#isGuarding) void this.#guard();
    }
    next.requests++;
    next.trace ??= trace;
    return next.promise;
  }

  /**
   * Resolves when the view holds a revision that the store has told of, such as that of a refusal.
   * @throws {StorageError} Unavailable when that takes too long
   */
  async reached(revision: Revision): Promise<void> {
    if (this.#view.revision >= revision) return;
    try {
      await this.#catchUp(revision, this.#deadline.signal);
    } catch (error) {
      throw new StorageError("Unavailable", "the view did not catch up in time", { cause: error });
    }
  }

  /** Sends the next question at the end of this turn, or when it is no longer too early. */
  #schedule(): void {
    const waitMs = this.#earliestMs - this.#clock.monotonic();
    if (waitMs < TIMER_MS) setImmediate(() => this.#startNext());
    else void this.#clock.sleep(waitMs, NEVER).then(() => this.#startNext());
  }

  #startNext(): void {
    const next = this.#next;
    if (next === undefined) return;
    this.#next = undefined;
    next.resolve(this.#runBatch(next));
  }

  async #runBatch({ requests, deadline, trace }: Batch): Promise<Revision> {
    const startedAtMs = this.#clock.monotonic();
    this.#earliestMs = startedAtMs + Math.min(requests * ANSWER_MS, SPACING_MS_MAX);
    try {
      deadline.throwIfAborted();
      const seen = this.#view.revision;
      const revision = await this.#read(startedAtMs, tracedSignal(deadline, trace));
      if (revision < seen) {
        // Another state was put in the place of the one that we know; the feed will notice, too.
        throw new StorageError("Unavailable", "the store's history went back: loading it anew");
      }
      if (this.#view.revision < revision) await this.#catchUp(revision, deadline);
      return revision;
    } catch (error) {
      this.counts.timeouts++;
      if (error instanceof StorageError) throw error;
      throw new StorageError("Unavailable", "the store did not answer in time", { cause: error });
    } finally {
      this.#onBatch?.(requests, this.#clock.monotonic() - startedAtMs);
    }
  }

  /** The next batch starts with the end of the read; it need not wait for this one's catching up. */
  async #read(sinceMs: number, deadline: AbortSignal): Promise<Revision> {
    this.counts.revisionReads++;
    const reading = { sinceMs };
    this.#reading = reading;
    try {
      return await this.#store.currentRevision(deadline);
    } finally {
      if (this.#reading === reading) {
        this.#reading = undefined;
        if (this.#next !== undefined) this.#schedule();
      }
    }
  }

  /** While somebody waits for a question that is out: sends the next one when that takes long. */
  async #guard(): Promise<void> {
    this.#isGuarding = true;
    while (this.#next !== undefined) {
      await this.#clock.sleep(OVERTAKE_MS, NEVER);
      const outForMs =
        this.#clock.monotonic() - (this.#reading?.sinceMs ?? Number.POSITIVE_INFINITY);
      if (this.#next === undefined || outForMs < OVERTAKE_MS) continue;
      this.counts.overtakes++;
      this.#startNext();
    }
    this.#isGuarding = false;
  }

  async #catchUp(revision: Revision, deadline: AbortSignal): Promise<void> {
    if (revision > this.#wanted) this.#wanted = revision;
    this.#waiting++;
    if (!this.#isPushing) void this.#push();
    try {
      await this.#view.waitForRevision(revision, deadline);
    } finally {
      this.#waiting--;
    }
  }

  /**
   * While batches wait for the view. Nobody may have written below our prefix: then only a progress
   * notification moves the view. One that was asked for earlier says nothing about later revisions.
   */
  async #push(): Promise<void> {
    this.#isPushing = true;
    let askedFor = 0 as Revision;
    let askedAtMs = Number.NEGATIVE_INFINITY;
    // Where only others write, waiting for a write of ours would be in vain.
    const isOthersOnly = this.#view.eventsApplied === this.#eventsAtPush;
    if (!isOthersOnly) await this.#clock.sleep(PATIENCE_MS, NEVER);
    while (this.#waiting > 0) {
      const now = this.#clock.monotonic();
      if (this.#wanted > askedFor || now - askedAtMs >= REPEAT_MS) {
        askedFor = this.#wanted;
        askedAtMs = now;
        this.#eventsAtPush = this.#view.eventsApplied;
        this.counts.progressRequests++;
        this.#store.requestProgress();
      }
      await this.#clock.sleep(PATIENCE_MS, NEVER);
    }
    this.#isPushing = false;
  }
}
