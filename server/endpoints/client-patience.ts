/**
 * ClientPatience: how long a client may keep a stream waiting. One timer serves all waits of a stream, as most
 * are over in a millisecond and a timer for each would be a fiftieth of a list.
 *
 *   0 ms      a wait begins, with patience for 60 s; the timer is set to 1 s
 *   2 ms      the client has read: the timer stays
 *   5 ms      the next wait begins
 *   1,000 ms  the timer looks: this wait began 995 ms ago; it is set to 5 ms more
 *   1,005 ms  the client counts as stalled; the timer is set to 59 s more
 *   60,005 ms the client is cut off
 */

/** A client that takes longer counts as stalled. */
const STALLED_AFTER_MS = 1_000;

export interface PatienceEnds {
  /** The client has stopped reading; at most once in a wait. */
  readonly stalled: () => void;
  /** The patience is at its end. */
  readonly cut: () => void;
}

export class ClientPatience {
  readonly #ends: PatienceEnds;
  readonly #now: () => number;
  /** Undefined: the client keeps nobody waiting. */
  #sinceMs: number | undefined;
  #patienceMs = 0;
  #hasStalled = false;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer looks. */
  #lookMs = Number.POSITIVE_INFINITY;

  constructor(ends: PatienceEnds, now: () => number = () => performance.now()) {
    this.#ends = ends;
    this.#now = now;
  }

  /** @param patienceMs how long the client may take; at most what setTimeout takes */
  begin(patienceMs: number): void {
    this.#sinceMs = this.#now();
    this.#patienceMs = patienceMs;
    this.#hasStalled = false;
    if (this.#dueMs(this.#sinceMs) < this.#lookMs) this.#arm(this.#sinceMs);
  }

  /** The client has read. */
  end(): void {
    this.#sinceMs = undefined;
  }

  /** No more waits follow. */
  close(): void {
    this.end();
    this.#disarm();
  }

  /** When something is due. A client without the patience for it is cut off and never counts as stalled. */
  #dueMs(sinceMs: number): number {
    const stallsNext = !this.#hasStalled && this.#patienceMs > STALLED_AFTER_MS;
    return sinceMs + (stallsNext ? STALLED_AFTER_MS : this.#patienceMs);
  }

  #arm(sinceMs: number): void {
    this.#disarm();
    this.#lookMs = this.#dueMs(sinceMs);
    this.#timer = setTimeout(this.#look, Math.max(0, this.#lookMs - this.#now()));
    this.#timer.unref();
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#lookMs = Number.POSITIVE_INFINITY;
  }

  readonly #look = (): void => {
    this.#disarm();
    const sinceMs = this.#sinceMs;
    if (sinceMs === undefined) return;
    if (this.#now() < this.#dueMs(sinceMs)) {
      this.#arm(sinceMs);
    } else if (this.#hasStalled || this.#patienceMs <= STALLED_AFTER_MS) {
      this.end();
      this.#ends.cut();
    } else {
      this.#hasStalled = true;
      this.#arm(sinceMs);
      this.#ends.stalled();
    }
  };
}
