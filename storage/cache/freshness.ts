/**
 * FreshnessBarrier: makes reads from memory linearizable. A request that must see
 * everything acknowledged before it began asks the store for its revision and waits until the view
 * has got there. Requests share the question: all that arrive while one is on its way share the
 * next, so thousands of reads cost one round trip.
 *
 *   requests 1..8    arrive in one turn of the event loop; question A goes out at its end
 *   requests 9..90   must not use A's answer, as it may be older than they are: they wait
 *   answer A         serves 1..8; question B waits for 9..90 and for those of 1..8 to come again: else
 *                    two halves would take turns, each with its own question
 *   75 have come     three quarters of the 98: question B goes out; after two milliseconds it would have gone anyway
 *
 * Clients that do not come again at once are waited for in vain: then the next questions go out without
 * waiting, twice as many each time. Nor does anybody wait for them while backlogs are held back: saving
 * questions is for a thread that is busy.
 *
 * The more requests a question served, the longer the next one is delayed to collect more: as long
 * as answering them keeps the thread busy anyway. A lone client never waits, and a busy server asks
 * seldom. A late answer blocks nobody: after two milliseconds the next question goes out beside it, so nobody
 * waits for two slow answers in a row, and without a quorum every request fails at the deadline.
 *
 * Who shares an answer with hundreds goes on in turns, in which each connection has its part (`turnOf`).
 */
import type { Clock } from "../base/clock.js";
import { nextTurn, SharedTurns } from "../base/next-turn.js";
import { SharedDeadline } from "../base/shared-deadline.js";
import { type Trace, tracedSignal } from "../base/trace.js";
import { StorageError } from "../kv/errors.js";
import type { Revision, RevisionedStore } from "../kv/store.js";
import type { RegistryView } from "./registry-view.js";

/** Counted here, read by the metrics endpoint. */
export interface FreshnessCounts {
  /** Linearizable revision reads sent to the store. */
  revisionReads: number;
  /** Requests served by those reads. */
  requests: number;
  /** Progress requests sent because the view lagged behind. */
  progressRequests: number;
  /** Revision reads sent while an earlier one was overdue. */
  overtakes: number;
  /** Batches of requests that failed, by their deadline or otherwise. */
  timeouts: number;
}

export interface FreshnessOptions {
  readonly store: RevisionedStore;
  readonly view: RegistryView;
  readonly clock: Clock;
  /** After it consistent reads fail, when the store has no quorum; several barriers may share it. */
  readonly deadline?: SharedDeadline;
  /** Measures turns. Default: the process's own time. */
  readonly time?: { now(): number };
  /** Called for each batch with the number of requests in it and its total time. */
  onBatch?(requests: number, durationMs: number): void;
}

interface Batch {
  /** Starts with the batch's first request, so the wait for the question counts. */
  readonly deadline: AbortSignal;
  readonly promise: Promise<Revision>;
  readonly resolve: (value: Promise<Revision>) => void;
  requests: number;
  /** So many are expected; with the last one the question goes out. */
  expected: number;
  /** The trace of one of its requests, which the question is part of. */
  trace: Trace | undefined;
}

function openBatch(deadline: AbortSignal): Batch {
  let resolve: Batch["resolve"] = () => {};
  const promise = new Promise<Revision>((done) => {
    resolve = done;
  });
  return {
    deadline,
    promise,
    resolve,
    requests: 0,
    expected: Number.POSITIVE_INFINITY,
    trace: undefined,
  };
}

const DEFAULT_DEADLINE_MS = 3_000;
const DEADLINE_SLACK_MS = 100;
/** A revision read is overtaken after this time, which grows with each that is under way: at most 15 are. */
const OVERTAKE_MS = 2;
const OVERTAKE_GROWTH = 4;
const OVERTAKE_MS_MAX = 250;
/** A write below our prefix arrives by itself within this time; after it we request progress. */
const PATIENCE_MS = 1;
/** Progress requests may be lost, so they are repeated. */
const REPEAT_MS = 20;

/** Approximate cost of answering one read from memory. */
const ANSWER_MS = 0.04;
/** The longest interval between two questions: 200 a second are few for any etcd. */
const SPACING_MS_MAX = 5;
/** Timers are no finer than this. */
const TIMER_MS = 1;
/** A question goes out when so many of those expected are there. */
const GATHERED_SHARE = 0.75;
/** How long a question waits for those who were answered together to ask again together. */
const GATHER_MS = 2;
/** Most questions that go out without waiting after one that waited in vain. */
const HASTY_MAX = 1_024;

/** So many that are answered together go on at once; nobody knows yet how long each works. */
const TOGETHER_MAX = 16;

/** What reads wait for the store at most. */
export function readDeadline(ms = DEFAULT_DEADLINE_MS): SharedDeadline {
  return new SharedDeadline(ms, DEADLINE_SLACK_MS);
}

/** For sleeps that are never cut short. */
const NEVER = new AbortController().signal;

export class FreshnessBarrier {
  readonly counts: FreshnessCounts = {
    revisionReads: 0,
    requests: 0,
    progressRequests: 0,
    overtakes: 0,
    timeouts: 0,
  };
  /** Whether backlogs wait so that the thread is idle in between; set by those who schedule its work. */
  isHoldingBack: () => boolean = () => false;
  readonly #store: RevisionedStore;
  readonly #view: RegistryView;
  readonly #clock: Clock;
  readonly #deadline: SharedDeadline;
  readonly #onBatch: FreshnessOptions["onBatch"];
  /** Of those who were answered together, beyond a few. */
  readonly #turns: SharedTurns;
  /** How many of those who were answered last may go on at once. */
  #mayGoOn = 0;
  /** The revision read that the next batch waits for; undefined = none is on its way. */
  #reading: { readonly sinceMs: number } | undefined;
  /** How many are on their way, with those that were overtaken. */
  #out = 0;
  /** Requests that arrived in this turn or while a read was under way; they share the next read. */
  #next: Batch | undefined;
  /** Before this time the next question would be too early. */
  #earliestMs = 0;
  /** How many the last question served. */
  #lastRequests = 0;
  /** How many questions go out without waiting, and how many after the next vain wait. */
  #hasty = 0;
  #hastyNext = 1;
  #isGuarding = false;
  /** How many batches wait for the view, and the highest revision they wait for. */
  #waiting = 0;
  #wanted = 0 as Revision;
  #isPushing = false;
  /** `eventsApplied` at the last progress request: unchanged = only others write. */
  #eventsAtPush = -1;

  constructor(options: FreshnessOptions) {
    this.#store = options.store;
    this.#view = options.view;
    this.#clock = options.clock;
    this.#onBatch = options.onBatch?.bind(options);
    this.#turns = new SharedTurns(options.time);
    this.#deadline = options.deadline ?? readDeadline();
  }

  /**
   * Resolves with a revision that the view has reached and that covers everything acknowledged
   * before this call. @throws {StorageError} Unavailable when that takes too long
   */
  fresh(trace?: Trace): Promise<Revision> {
    this.counts.requests++;
    let next = this.#next;
    if (next === undefined) {
      next = openBatch(this.#deadline.signal);
      this.#next = next;
      // The question under way was asked before this request came: its answer may be too old.
      if (this.#reading === undefined) this.#schedule(next);
      else if (!this.#isGuarding) void this.#guard();
    }
    next.requests++;
    next.trace ??= trace;
    if (next.requests === next.expected) setImmediate(() => this.#startGathered(next));
    return next.promise;
  }

  /**
   * To be asked by who goes on behind `fresh`: a question may be shared by hundreds, and what follows for all of them would be one turn.
   * @param connection each has one of its requests go on in turn
   * @returns what to wait for; undefined = nothing
   */
  turnOf(connection: object): Promise<void> | undefined {
    return this.#mayGoOn-- > 0 ? undefined : this.#turns.next(connection);
  }

  /**
   * Resolves when the view has reached a revision that the store reported, such as that of a
   * refusal. @throws {StorageError} Unavailable when that takes too long
   */
  async reached(revision: Revision): Promise<void> {
    if (this.#view.revision >= revision) return;
    try {
      await this.#catchUp(revision, this.#deadline.signal);
    } catch (error) {
      throw new StorageError("Unavailable", "the view did not catch up in time", { cause: error });
    }
  }

  /** Sends the question of `next` at the end of a turn, after the minimum interval, or with those expected. */
  #schedule(next: Batch): void {
    const waitMs = this.#earliestMs - this.#clock.monotonic();
    const start = () => this.#start(next);
    if (waitMs >= TIMER_MS) void this.#clock.sleep(waitMs, NEVER).then(start);
    else if (this.#lastRequests <= 1 || this.isHoldingBack()) setImmediate(start);
    else this.#gather(next);
  }

  /** Whoever was answered together asks again together: over many connections within a turn. */
  #gather(next: Batch): void {
    const expected = this.#lastRequests + next.requests;
    const look = () => {
      const isHasty = this.#hasty > 0;
      const isGathered = next.requests >= expected * GATHERED_SHARE;
      if (!isGathered && !isHasty) return this.#waitFor(expected, next);
      if (!isGathered) this.#hasty--;
      this.#start(next);
    };
    setImmediate(() => setImmediate(look));
  }

  #waitFor(expected: number, next: Batch): void {
    next.expected = expected;
    void this.#clock.sleep(GATHER_MS, NEVER).then(() => {
      if (this.#next !== next) return;
      this.#hasty = this.#hastyNext;
      this.#hastyNext = Math.min(this.#hastyNext * 2, HASTY_MAX);
      this.#start(next);
    });
  }

  /** All who were expected are there. */
  #startGathered(next: Batch): void {
    this.#hastyNext = 1;
    this.#start(next);
  }

  /** Does nothing when its question has gone out already. */
  #start(next: Batch): void {
    if (this.#next !== next) return;
    this.#next = undefined;
    next.resolve(this.#runBatch(next));
  }

  async #runBatch({ requests, deadline, trace }: Batch): Promise<Revision> {
    const startedAtMs = this.#clock.monotonic();
    this.#lastRequests = requests;
    this.#earliestMs = startedAtMs + Math.min(requests * ANSWER_MS, SPACING_MS_MAX);
    try {
      deadline.throwIfAborted();
      const seen = this.#view.revision;
      const revision = await this.#read(startedAtMs, tracedSignal(deadline, trace));
      if (revision < seen) {
        // The store was replaced by another state; the feed will notice as well.
        throw new StorageError("Unavailable", "the store's history went back: loading it anew");
      }
      if (this.#view.revision < revision) await this.#catchUp(revision, deadline);
      return revision;
    } catch (error) {
      this.counts.timeouts++;
      if (error instanceof StorageError) throw error;
      throw new StorageError("Unavailable", "the store did not answer in time", { cause: error });
    } finally {
      this.#mayGoOn = TOGETHER_MAX;
      this.#onBatch?.(requests, this.#clock.monotonic() - startedAtMs);
    }
  }

  /** The next batch starts when the read ends; it need not wait until this batch has caught up. */
  async #read(sinceMs: number, deadline: AbortSignal): Promise<Revision> {
    this.counts.revisionReads++;
    const reading = { sinceMs };
    this.#reading = reading;
    this.#out++;
    try {
      return await this.#store.currentRevision(deadline);
    } finally {
      this.#out--;
      if (this.#reading === reading) {
        this.#reading = undefined;
        if (this.#next !== undefined) this.#schedule(this.#next);
      }
    }
  }

  /** Sends the next question when one that callers wait for is overdue. */
  async #guard(): Promise<void> {
    this.#isGuarding = true;
    while (this.#next !== undefined && this.#reading !== undefined) {
      const leftMs = this.#leftMs;
      if (leftMs > 0) await this.#clock.sleep(Math.max(leftMs, TIMER_MS), NEVER);
      // Others of this turn share the question, and the answer may be there, not yet read.
      await nextTurn();
      if (this.#next === undefined || this.#leftMs > 0) continue;
      this.counts.overtakes++;
      this.#start(this.#next);
    }
    this.#isGuarding = false;
  }

  /** Until the question under way is late: the more are out, the longer it may take. */
  get #leftMs(): number {
    if (this.#reading === undefined) return Number.POSITIVE_INFINITY;
    const patienceMs = Math.min(OVERTAKE_MS * OVERTAKE_GROWTH ** (this.#out - 1), OVERTAKE_MS_MAX);
    return this.#reading.sinceMs + patienceMs - this.#clock.monotonic();
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
   * Requests progress while batches wait for the view: when nobody writes below our prefix, only a
   * progress notification moves it. A request covers no revisions later than itself.
   */
  async #push(): Promise<void> {
    this.#isPushing = true;
    let askedFor = 0 as Revision;
    let askedAtMs = Number.NEGATIVE_INFINITY;
    // When only others write, no write of ours will arrive.
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
