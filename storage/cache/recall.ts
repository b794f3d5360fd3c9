/**
 * Recall: brings the events from before a load back into a view, one read of them at a time, while watches that
 * resume from before the load wait for it. RegistryView owns it, says when it was loaded, and puts what was read
 * into its rings; `recall-history.ts` reads.
 */
import type { Clock } from "../base/clock.js";
import type { Lifecycle } from "../base/lifecycle.js";
import type { Logger } from "../base/logger.js";
import { oneLine } from "../base/one-line.js";
import { StorageError } from "../kv/errors.js";
import { type Revision, toRevision } from "../kv/store.js";
import { RECALL_REVISIONS_MAX } from "./recall-history.js";
import type { RecalledHistory } from "./recalled-history.js";
import { RevisionWaiters } from "./revision-waiters.js";

export interface RecallParts {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether events are read only when a watch needs them, and no more than it needs: mostly nobody does. */
  readonly isOnDemand: boolean;
  /** @returns undefined when the history is gone @throws {StorageError} the store is down */
  read(after: Revision, until: Revision, signal: AbortSignal): Promise<RecalledHistory | undefined>;
  tell(history: RecalledHistory, until: Revision): void;
}

/** Delay between attempts while the store is down. */
const RETRY_DELAY_MS = 200;

export class Recall {
  readonly #parts: RecallParts;
  /** Runs the reads, from `start` on. */
  #lifecycle: Lifecycle | undefined;
  /** The revision from which on everything is known, as long as what lies before can be recalled. */
  #until: Revision | undefined;
  /** Nothing before it is ever recalled. */
  #floor = 0 as Revision;
  /** Where the read that is under way ends; one that a later load made useless holds up none. */
  #underWay: Revision | undefined;
  readonly #waiters = new RevisionWaiters();

  constructor(parts: RecallParts) {
    this.#parts = parts;
  }

  /** The view holds the state at `revision`, and no event from before it. */
  loaded(revision: Revision): void {
    this.#until = revision;
    this.#floor = toRevision(Math.max(0, revision - RECALL_REVISIONS_MAX));
  }

  /** Reads events in the background from now on. */
  start(lifecycle: Lifecycle): void {
    this.#lifecycle = lifecycle;
    if (!this.#parts.isOnDemand) this.#spawn(this.#floor);
  }

  /**
   * For a watch that resumes after `revision`: resolves when all is known that will be known of the time
   * before the load; undefined if it need not wait. @throws the signal's reason
   */
  waitFor(revision: Revision, signal: AbortSignal): Promise<void> | undefined {
    const until = this.#until;
    if (until === undefined || revision >= until) return undefined;
    if (!this.#parts.isOnDemand) return this.#waiters.wait(until, signal);
    return revision < this.#floor ? undefined : this.#demand(revision, signal);
  }

  async #demand(revision: Revision, signal: AbortSignal): Promise<void> {
    for (;;) {
      const until = this.#until;
      if (until === undefined || revision >= until) return;
      // Another one may be under way, for somebody who needs less.
      this.#spawn(revision);
      await this.#waiters.wait(until, signal);
    }
  }

  #spawn(after: Revision): void {
    const until = this.#until;
    if (until === undefined || this.#underWay === until) return;
    this.#underWay = this.#lifecycle && until;
    this.#lifecycle?.spawn("history recall", "leave", (closing) =>
      this.#recall(after, until, closing),
    );
  }

  /** A later load makes it useless. */
  async #recall(after: Revision, until: Revision, signal: AbortSignal): Promise<void> {
    // Without any history watches are told to list anew.
    let before: Revision | undefined;
    try {
      for (;;) {
        const history = await this.#read(after, until, signal);
        if (history === "later") await this.#parts.clock.sleep(RETRY_DELAY_MS, signal);
        else if (this.#until !== until) history?.close();
        else if (history !== undefined) this.#parts.tell(history, until);
        if (history === "later" && this.#until === until) continue;
        // All that was asked for is there: there may be more.
        const isAll = history !== "later" && history?.floor === after;
        if (isAll && after > this.#floor) before = after;
        break;
      }
    } finally {
      if (this.#underWay === until) this.#underWay = undefined;
      if (this.#until === until) this.#until = before;
      if (signal.aborted) this.#waiters.end(signal.reason);
      else this.#waiters.reached(until);
    }
  }

  /** @returns "later" when the store is down */
  async #read(
    after: Revision,
    until: Revision,
    signal: AbortSignal,
  ): Promise<RecalledHistory | undefined | "later"> {
    try {
      return await this.#parts.read(after, until, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof StorageError)) throw error;
      this.#parts.logger.error({ err: oneLine(error) }, "recalling the history failed");
      return "later";
    }
  }
}
