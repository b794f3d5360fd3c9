/**
 * Turns: schedules work on the thread. Seats bound how many requests execute, but all of them share
 * one thread, which would take their work as it comes: sixty lists of a user with seats for them are
 * sixty chunks of work before another user's small request runs.
 *
 * So work comes in pieces: the start of a request, the next chunk of a long answer, the answer to a write. Until the
 * event loop has worked for a slice, a piece runs at once. After that it waits, and each turn of the loop does one slice
 * of the waiting work: levels in turn, in each level its flows in turn, and within a flow in the order of arrival,
 * except that pieces that end a request come first.
 *
 *     a a a a a a b a      seven pieces of work for a and one for b, 1 ms each, a slice of 2 ms
 *     [a a] [a b] [a a]..  b is done in the second turn of the loop, behind two pieces and not six
 */
import { assert } from "../../storage/base/assert.js";

/** How long the loop does waiting work before it polls its sockets again. */
const SLICE_MS = 1;
/** Maximum requests waiting for a turn; a flow may have as many of them as it leaves free. */
export const TURNS_WAITING_MAX = 8_192;

/** The level and flow of a piece of work. */
export interface TurnPlace {
  readonly level: string;
  readonly flow: string;
}

interface Piece {
  readonly begin: () => void;
  readonly laterMs: number;
}

/** The waiting pieces of one flow; those that end a request come before those that begin one. */
interface Waiting {
  readonly ends: Piece[];
  readonly others: Piece[];
}

export class Turns {
  readonly #now: () => number;
  /** The next level and flow come first; after a turn they move to the end. */
  readonly #levels = new Map<string, Map<string, Waiting>>();
  #waiting = 0;
  /** When this turn of the loop began to work; undefined before that. */
  #sinceMs: number | undefined;
  /** Work begun in this turn that has to be finished in later ones. */
  #laterMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Whether work may run at once; if so it counts for this turn of the loop.
   * @param laterMs approximate work that follows later, when the store has answered
   */
  isFree(nowMs: number, laterMs = 0): boolean {
    if (this.#waiting > 0) return false;
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs;
      setImmediate(this.#turn);
    } else if (this.#isOver(nowMs)) return false;
    this.#laterMs += laterMs;
    return true;
  }

  /** Whether one more request of the flow may queue. */
  hasRoomFor({ level, flow }: TurnPlace): boolean {
    const own = this.#levels.get(level)?.get(flow);
    return lengthOf(own) < TURNS_WAITING_MAX - this.#waiting;
  }

  /** Resolves when it is its turn. */
  wait(place: TurnPlace, laterMs = 0): Promise<void> {
    return new Promise((begin) => this.#waitingOf(place).others.push({ begin, laterMs }));
  }

  /** The same for work that ends a request: it precedes the flow's other pieces. */
  waitToEnd(place: TurnPlace): Promise<void> {
    return new Promise((begin) => this.#waitingOf(place).ends.push({ begin, laterMs: 0 }));
  }

  /** The queue for one more piece of the flow. */
  #waitingOf({ level, flow }: TurnPlace): Waiting {
    let flows = this.#levels.get(level);
    if (flows === undefined) {
      flows = new Map();
      this.#levels.set(level, flows);
    }
    let waiting = flows.get(flow);
    if (waiting === undefined) {
      waiting = { ends: [], others: [] };
      flows.set(flow, waiting);
    }
    this.#waiting++;
    if (this.#sinceMs === undefined) {
      this.#sinceMs = this.#now();
      setImmediate(this.#turn);
    }
    return waiting;
  }

  /** Runs after all socket events of the loop's turn. */
  readonly #turn = (): void => {
    this.#sinceMs = undefined;
    this.#laterMs = 0;
    if (this.#waiting === 0) return;
    this.#sinceMs = this.#now();
    setImmediate(this.#turn);
    this.#serve();
  };

  /** Releases one piece, and the next one after its synchronous part. */
  #serve(): void {
    const { begin, laterMs } = this.#takeNext();
    this.#laterMs += laterMs;
    begin();
    if (this.#waiting > 0) queueMicrotask(() => process.nextTick(this.#goOn));
  }

  readonly #goOn = (): void => {
    if (this.#waiting === 0 || this.#sinceMs === undefined) return;
    if (!this.#isOver(this.#now())) this.#serve();
  };

  #isOver(nowMs: number): boolean {
    return nowMs - (this.#sinceMs ?? nowMs) + this.#laterMs >= SLICE_MS;
  }

  #takeNext(): Piece {
    const [level, flows] = firstOf(this.#levels);
    const [flow, waiting] = firstOf(flows);
    const next = waiting.ends.shift() ?? waiting.others.shift();
    assert(next !== undefined, "FlowsOfTurnsWait");
    flows.delete(flow);
    if (lengthOf(waiting) > 0) flows.set(flow, waiting);
    this.#levels.delete(level);
    if (flows.size > 0) this.#levels.set(level, flows);
    this.#waiting--;
    return next;
  }
}

function lengthOf(waiting: Waiting | undefined): number {
  return waiting === undefined ? 0 : waiting.ends.length + waiting.others.length;
}

function firstOf<T>(map: ReadonlyMap<string, T>): [string, T] {
  const [first] = map;
  assert(first !== undefined, "FlowsOfTurnsWait");
  return first;
}
