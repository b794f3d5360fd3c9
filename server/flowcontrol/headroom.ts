/**
 * Headroom: how busy a flow with a backlog may keep the thread while other flows are served. A thread that
 * always works lets each request wait for what began before it, several times on its way. So a
 * backlog is served as long as the thread is idle between its slices.
 *
 * The debt grows by the time that the thread works, and idle time pays it back, at a rate that keeps the
 * thread's busy share at the wanted one. While there is a debt, backlogs wait.
 *
 *     share 0.75: 3 ms of work are paid by 1 ms of idle time
 *     t=0   debt -5, a backlog is served     after 5 ms of work: debt 0, it may still begin
 *     t=6   debt +1, the backlog waits       after 1/3 ms idle: debt 0, it goes on
 *
 * Where other work alone keeps the thread busy, a backlog gets a slice each HELD_MS_MAX all the same, unless its
 * share of the thread is kept in another way (thread-share.ts).
 */
import { performance } from "node:perf_hooks";
import { assert } from "../../storage/base/assert.js";

/** Work for which no idle time is wanted, after a time without work. */
const CREDIT_MS_MAX = 5;
/** Beyond it work is forgiven: one long turn of the loop does not hold a backlog for long. */
const DEBT_MS_MAX = 20;
/** How long a backlog waits for idle time at most. */
export const HELD_MS_MAX = 10;

/** Time that the thread worked and was idle since it began, in milliseconds. */
export interface Utilization {
  readonly active: number;
  readonly idle: number;
}

export class Headroom {
  readonly busyShare: number;
  /** Milliseconds of work that an idle millisecond pays for; infinite: none is wanted. */
  readonly #workPerIdle: number;
  readonly #utilization: () => Utilization;
  #debtMs = 0;
  #before: Utilization | undefined;
  #heldSinceMs: number | undefined;
  #isForgiven = false;

  /** @param busyShare of the thread's time, more than 0; 1 = no idle time is wanted */
  constructor(
    busyShare: number,
    utilization: () => Utilization = () => performance.eventLoopUtilization(),
  ) {
    assert(busyShare > 0 && busyShare <= 1, "BusyShareIsShare");
    this.busyShare = busyShare;
    this.#workPerIdle = busyShare / (1 - busyShare);
    this.#utilization = utilization;
  }

  /** Whether the last slice was free although the thread had not been idle. */
  get isForgiven(): boolean {
    return this.#isForgiven;
  }

  /** A debt is not paid sooner than that. */
  get idleNeededMs(): number {
    return Math.min(this.#debtMs / this.#workPerIdle, HELD_MS_MAX);
  }

  /** Whether a backlog has to wait now; asked before each slice. */
  isSpent(nowMs: number): boolean {
    this.#isForgiven = false;
    if (this.#workPerIdle === Number.POSITIVE_INFINITY) return false;
    const { active, idle } = this.#utilization();
    const { active: activeBefore, idle: idleBefore } = this.#before ?? { active, idle };
    this.#before = { active, idle };
    const change = active - activeBefore - this.#workPerIdle * (idle - idleBefore);
    this.#debtMs = Math.min(DEBT_MS_MAX, Math.max(-CREDIT_MS_MAX, this.#debtMs + change));
    if (this.#debtMs <= 0) {
      this.#heldSinceMs = undefined;
      return false;
    }
    this.#heldSinceMs ??= nowMs;
    if (nowMs - this.#heldSinceMs < HELD_MS_MAX) return true;
    this.#heldSinceMs = nowMs;
    this.#isForgiven = true;
    return false;
  }
}
