/**
 * Turns: whose work the thread does next. Seats bound how many requests are at work, but all of them
 * share one thread, which takes them as they come: sixty lists of somebody who has seats for them are
 * sixty chunks of work before anybody else's small request is looked at.
 *
 * So work comes in slices: a request begins, a long answer goes on by a chunk, a write is answered. While the event loop
 * has been at it for less than a slice, it is done at once. From then on it waits, and in each turn of
 * the loop a slice of what waits is done: the levels in turn, in each level its flows in turn, and what
 * belongs to one flow in the order in which it came, but what ends a request first.
 *
 *     a a a a a a b a      seven pieces of work for a and one for b, 1 ms each, a slice of 2 ms
 *     [a a] [a b] [a a]..  b is done in the second turn of the loop, behind two pieces and not six
 */
import { assert } from "../../storage/base/assert.js";

/** How long the loop works for those who wait until it looks at its sockets again. */
const SLICE_MS = 1;
/** Requests that wait for their turn at most; a flow may have as many of them as it leaves places. */
export const TURNS_WAITING_MAX = 8_192;

/** Whose turn it is. */
export interface TurnPlace {
  readonly level: string;
  readonly flow: string;
}

interface Piece {
  readonly begin: () => void;
  readonly laterMs: number;
}

/** Of one flow that waits; what ends a request comes before what begins one. */
interface Waiting {
  readonly ends: Piece[];
  readonly others: Piece[];
}

export class Turns {
  readonly #now: () => number;
  /** The next level and the next flow stand first; who had a turn goes to the end. */
  readonly #levels = new Map<string, Map<string, Waiting>>();
  #waiting = 0;
  /** When this turn of the loop began to work; undefined until it does. */
  #sinceMs: number | undefined;
  /** What is begun in this turn and will have to be done in later ones. */
  #laterMs = 0;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Whether work may be done at once; it counts for this turn of the loop.
   * @param laterMs about how much of it comes later, when somebody else has answered
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

  /** Whether one more request of the flow may wait. */
  hasRoomFor({ level, flow }: TurnPlace): boolean {
    const own = this.#levels.get(level)?.get(flow);
    return lengthOf(own) < TURNS_WAITING_MAX - this.#waiting;
  }

  /** Resolves when it is its turn. */
  wait(place: TurnPlace, laterMs = 0): Promise<void> {
    return new Promise((begin) => this.#waitingOf(place).others.push({ begin, laterMs }));
  }

  /** The same for what ends a request: it comes before whatever else its flow waits for. */
  waitToEnd(place: TurnPlace): Promise<void> {
    return new Promise((begin) => this.#waitingOf(place).ends.push({ begin, laterMs: 0 }));
  }

  /** Where one more piece of the flow goes. */
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

  /** Runs behind all that the loop's sockets had to say. */
  readonly #turn = (): void => {
    this.#sinceMs = undefined;
    this.#laterMs = 0;
    if (this.#waiting === 0) return;
    this.#sinceMs = this.#now();
    setImmediate(this.#turn);
    this.#serve();
  };

  /** Lets one go, and the next one when that has done what it can do by itself. */
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
