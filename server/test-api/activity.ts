/**
 * Activity: whether anything moves. Commits, requests and calls of the server's own loops are noted at their begin
 * and end; who waits sleeps until the first moment at which it can have been quiet for long enough.
 */
import type { Clock } from "../../storage/base/clock.js";
import { nextTurn } from "../../storage/base/next-turn.js";

/** From a commit to what follows from it: the feed, its followers, their queues. */
const TURNS = 10;

export interface Quiet {
  readonly isSettled: boolean;
  /** What moved last. */
  readonly last: string;
}

export class Activity {
  readonly #clock: Clock;
  #underWay = 0;
  #movedAtMs: number;
  #last = "the start";

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#movedAtMs = clock.monotonic();
  }

  /** @returns its end, to be called once */
  begin(what: string): () => void {
    this.#underWay++;
    this.#note(what);
    return () => {
      this.#underWay--;
      this.#note(what);
    };
  }

  async during<T>(what: string, run: () => Promise<T>): Promise<T> {
    const end = this.begin(what);
    try {
      return await run();
    } finally {
      end();
    }
  }

  /** Resolves when nothing has moved for `quietMs`, or after `deadlineMs`. @throws the signal's reason */
  async settled(quietMs: number, deadlineMs: number, signal: AbortSignal): Promise<Quiet> {
    const endsAtMs = this.#clock.monotonic() + deadlineMs;
    for (;;) {
      const nowMs = this.#clock.monotonic();
      // What is under way will note its end.
      const quietAtMs = (this.#underWay > 0 ? nowMs : this.#movedAtMs) + quietMs;
      if (this.#underWay === 0 && quietAtMs <= nowMs) {
        const movedAtMs = this.#movedAtMs;
        // A thread that was held up may wake who waits before it does what came in between.
        for (let turn = 0; turn < TURNS; turn++) await nextTurn();
        if (this.#underWay > 0 || this.#movedAtMs !== movedAtMs) continue;
        return { isSettled: true, last: this.#last };
      }
      if (nowMs >= endsAtMs) return { isSettled: false, last: this.#last };
      await this.#clock.sleep(Math.max(1, Math.min(quietAtMs, endsAtMs) - nowMs), signal);
    }
  }

  #note(what: string): void {
    this.#movedAtMs = this.#clock.monotonic();
    this.#last = what;
  }
}
