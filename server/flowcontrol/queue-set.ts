/**
 * QueueSet: the requests of one limited priority level. Each holds a number of seats while it
 * executes. Requests that find no seats wait and get them by fair queuing: every flow advances at the
 * same rate, whatever its demand, so that a flow with many requests delays itself and not the others.
 *
 * Virtual time `R` counts the seat-seconds that each busy flow should have had by now. A flow's
 * `nextStart` says how many it has had. The next request is the head whose service would end first
 * in virtual time. A request's duration is estimated when it starts, and corrected when it ends.
 *
 *     2 seats, flows a and b, each request takes 1 s
 *     t=0  a1 a2 start           a.nextStart = 2g (g: the guess for one request), b idle
 *     t=0  a3 a4 b1 wait         b.nextStart = R = 0, as it wakes now
 *     t=1  a1 a2 end             a.nextStart = 2, R = 1 (two seats for two busy flows)
 *          b1 starts first, being behind; then a3
 *
 * Queues bound the number of waiting requests: a flow may use the queues of its hand
 * (shuffle-sharding.ts), so a flow that fills its queues leaves room for most others. kube-apiserver also
 * serves by queue, which gives a flow as many shares as it has queues; here each flow has one share,
 * and its requests keep their order.
 *
 * A wide request, such as a list, keeps its seats for long, and they cannot be taken back. So the wide
 * requests of a flow hold no more seats than they leave free: one flow half of them, two a third each.
 * A short request of another flow finds room at once, without waiting for a list to end.
 *
 * Without queues, requests that find no seat are refused at once.
 */
import { assert } from "../../storage/base/assert.js";
import { LevelUse } from "./level-use.js";
import { MinHeap } from "./min-heap.js";
import { SeatDemand } from "./seat-demand.js";
import { deal, hashOfFlow } from "./shuffle-sharding.js";

/** Why a request did not get its seats, in the metrics' terms. */
export type Refusal = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

export interface Queuing {
  readonly queues: number;
  readonly handSize: number;
  /** Maximum requests in one queue. */
  readonly queueLengthLimit: number;
}

/** A flow's standing in its level. */
export interface Standing {
  /** Undefined without queues. */
  readonly queue: number | undefined;
  /** The flow's waiting requests. */
  readonly waiting: number;
  /** The flow's share of seats while other flows want theirs. */
  readonly shareSeats: number;
  /** The expected wait of one more request. */
  readonly expectedWaitSeconds: number;
}

/** Virtual times, for people who look at the queuing itself. */
export interface VirtualTimes {
  /** R at the last change, and at the last start. */
  readonly r: number;
  readonly startR: number;
  /** Where the flow stood whose request started last. */
  readonly latestStart: number;
  /** Of the flows that wait: where they stand, least and largest; undefined while nobody waits. */
  readonly next: { readonly min: number; readonly max: number } | undefined;
  /** The same without what their requests at work are expected to take. */
  readonly nextDiscounted: { readonly min: number; readonly max: number } | undefined;
}

/** The minimum share, so that a flow progresses even among far more flows than seats. */
const SHARE_MIN = 0.01;
/** The estimated duration of a request, until it has ended. */
const GUESSED_SECONDS = 0.003;
/** The weight of the latest request in the mean duration. */
const MEAN_WEIGHT = 0.02;
/** Flows whose hands are cached; beyond it the cache is cleared. */
const HANDS_MAX = 10_000;
/** Idle flows that are kept, so that a flow need not be made anew for each request; beyond it they are dropped. */
const IDLE_FLOWS_MAX = 1_000;
/** Void entries in the order of service, per flow, before they are removed. */
const VOID_TURNS_PER_FLOW = 4;
const VOID_TURNS_MIN = 1000;

/** A flow; it counts while it has waiting or executing requests. */
class Flow {
  readonly name: string;
  readonly waiting: Waiter[] = [];
  seatsInUse = 0;
  /** Executing requests. */
  working = 0;
  nextStart: number;
  /** Its head is wide and waits for seats that the flow itself holds: it has no turn until then. */
  waitsForItself = false;
  /** Whether it is among those that have waiting or executing requests. */
  isCounted = false;
  /** Its place in the order of service; older entries in the heap are void. */
  turn: Turn | undefined;

  constructor(name: string, nextStart: number) {
    this.name = name;
    this.nextStart = nextStart;
  }

  get isBusy(): boolean {
    return this.working > 0 || this.waiting.length > 0;
  }
}

/** The virtual time at which a flow's head would finish. */
interface Turn {
  readonly flow: Flow;
  readonly end: number;
  /** Breaks ties by order of arrival. */
  readonly order: number;
}

/** The seats of a request; released once. */
export class Seats {
  readonly width: number;
  readonly #set: QueueSet;
  readonly #flow: Flow;
  readonly #startMs: number;
  #isHeld = true;

  constructor(set: QueueSet, flow: Flow, width: number, startMs: number) {
    this.#set = set;
    this.#flow = flow;
    this.width = width;
    this.#startMs = startMs;
  }

  /** @param extraSeatSeconds work after the request, such as notifying watchers */
  release(nowMs: number, extraSeatSeconds = 0): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const seconds = Math.max(0, nowMs - this.#startMs) / 1000;
    this.#set.giveBack(this.#flow, this.width, seconds * this.width + extraSeatSeconds, nowMs);
  }
}

/** A request waiting for seats. */
export class Waiter {
  readonly flow: string;
  readonly width: number;
  /** Index of its queue. */
  readonly queue: number;
  readonly sinceMs: number;
  readonly deadlineMs: number;
  readonly #cancel: (waiter: Waiter) => void;
  #settle: ((outcome: Seats | Refusal) => void) | undefined;
  #outcome: Seats | Refusal | undefined;

  constructor(options: {
    readonly flow: string;
    readonly width: number;
    readonly queue: number;
    readonly sinceMs: number;
    readonly deadlineMs: number;
    readonly cancel: (waiter: Waiter) => void;
  }) {
    this.flow = options.flow;
    this.width = options.width;
    this.queue = options.queue;
    this.sinceMs = options.sinceMs;
    this.deadlineMs = options.deadlineMs;
    this.#cancel = options.cancel;
  }

  /** Undefined while it waits. */
  get outcome(): Seats | Refusal | undefined {
    return this.#outcome;
  }

  /** Resolves when the request gets its seats or is refused; `signal` ends the wait. */
  wait(signal: AbortSignal): Promise<Seats | Refusal> {
    if (this.#outcome !== undefined) return Promise.resolve(this.#outcome);
    return new Promise((resolve) => {
      const leave = () => this.#cancel(this);
      this.#settle = (outcome) => {
        signal.removeEventListener("abort", leave);
        resolve(outcome);
      };
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Called once, by the queue set. */
  settle(outcome: Seats | Refusal): void {
    assert(this.#outcome === undefined, "WaiterSettledOnce");
    this.#outcome = outcome;
    this.#settle?.(outcome);
  }
}

export class QueueSet {
  #queuing: Queuing | undefined;
  /** Waiting requests per queue; those of an earlier configuration are not counted. */
  #queueLengths: number[] = [];
  /** Waiters that the lengths count. */
  #counted = new WeakSet<Waiter>();
  /** Busy flows, and idle ones that may come again. */
  readonly #flows = new Map<string, Flow>();
  #busyFlows = 0;
  /** Flows with waiting requests; entries other than a flow's current turn are void. */
  readonly #turns = new MinHeap<Turn>((a, b) => a.end - b.end || a.order - b.order);
  /** Flows that wait for themselves. Each holds seats, so they are few. */
  readonly #parked = new Set<Flow>();
  readonly #hands = new Map<string, readonly number[]>();
  readonly #demand: SeatDemand;
  readonly #use: LevelUse;
  readonly #onNoRoom: (flow: string) => void;
  #limit = 0;
  #usualLimit = 1;
  #seatsInUse = 0;
  #waitingSeats = 0;
  #waiting = 0;
  #working = 0;
  #turnsMade = 0;
  /** Mean of recent requests. */
  #meanSeatSeconds = GUESSED_SECONDS;
  /** Virtual time in seat-seconds, and when it was computed. */
  #r = 0;
  #atMs: number;
  #startR = 0;
  #latestStart = 0;

  /**
   * @param queuing undefined = who finds no seat is refused
   * @param onNoRoom told of a flow each time its head is next and finds too few seats
   */
  constructor(
    queuing: Queuing | undefined,
    nowMs: number,
    onNoRoom: (flow: string) => void = () => {},
  ) {
    this.#atMs = nowMs;
    this.#demand = new SeatDemand(nowMs);
    this.#use = new LevelUse(nowMs);
    this.#onNoRoom = onNoRoom;
    this.configure(queuing);
  }

  get limit(): number {
    return this.#limit;
  }
  get seatsInUse(): number {
    return this.#seatsInUse;
  }
  get waiting(): number {
    return this.#waiting;
  }
  get working(): number {
    return this.#working;
  }
  get demand(): SeatDemand {
    return this.#demand;
  }
  get use(): LevelUse {
    return this.#use;
  }
  /** How many requests may wait. */
  get #places(): number {
    const { queues = 1, queueLengthLimit = 1 } = this.#queuing ?? {};
    return queues * queueLengthLimit;
  }
  get isIdle(): boolean {
    return this.#waiting === 0 && this.#working === 0;
  }

  /** Waiting requests stay; new ones use the new queues. */
  configure(queuing: Queuing | undefined): void {
    const before = this.#queuing;
    this.#queuing = queuing;
    this.#use.setCapacity(this.#usualLimit, this.#places);
    if (before?.queues === queuing?.queues && before?.handSize === queuing?.handSize) return;
    this.#queueLengths = new Array<number>(queuing?.queues ?? 0).fill(0);
    this.#counted = new WeakSet();
    this.#hands.clear();
  }

  /** @param usualLimit what its use is compared with, where there is no limit */
  setLimit(limit: number, nowMs: number, usualLimit = limit): void {
    this.#advance(nowMs);
    this.#limit = limit;
    this.#usualLimit = usualLimit;
    this.#use.setCapacity(usualLimit, this.#places);
    this.#startWaiting(nowMs);
    this.#noteDemand(nowMs);
  }

  /** @returns the seats, a wait for them, or the reason of the refusal */
  enter(name: string, width: number, nowMs: number, deadlineMs: number): Seats | Waiter | Refusal {
    this.#advance(nowMs);
    if (this.#mayStartAtOnce(name, width)) {
      const seats = this.#start(this.#wake(name), width, nowMs);
      this.#noteDemand(nowMs);
      return seats;
    }
    if (this.#queuing === undefined) return "concurrency-limit";
    const queue = this.#chooseQueue(name, this.#queuing);
    if (this.lengthOf(queue) >= this.#queuing.queueLengthLimit) return "queue-full";
    const flow = this.#wake(name);
    const cancel = (waiter: Waiter) => this.#leave(flow, waiter, "cancelled", performance.now());
    const waiter = new Waiter({ flow: name, width, queue, sinceMs: nowMs, deadlineMs, cancel });
    flow.waiting.push(waiter);
    this.#queueLengths[queue] = this.lengthOf(queue) + 1;
    this.#counted.add(waiter);
    this.#waitingSeats += width;
    this.#waiting++;
    if (flow.waiting.length === 1) this.#takeTurn(flow);
    this.#startWaiting(nowMs);
    this.#noteDemand(nowMs);
    return waiter;
  }

  /** How many wait in a queue. */
  lengthOf(queue: number): number {
    return this.#queueLengths[queue] ?? 0;
  }

  /** Refuses overdue requests. */
  expire(nowMs: number): void {
    if (this.#waiting === 0) return;
    for (const flow of [...this.#flows.values()]) {
      // Each request has patience of its own, so any of them may be overdue.
      for (const waiter of flow.waiting.filter(({ deadlineMs }) => deadlineMs <= nowMs)) {
        this.#leave(flow, waiter, "time-out", nowMs);
      }
    }
  }

  /** Only called by `Seats`. */
  giveBack(flow: Flow, width: number, seatSeconds: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#meanSeatSeconds += MEAN_WEIGHT * (seatSeconds - this.#meanSeatSeconds);
    flow.nextStart += seatSeconds - GUESSED_SECONDS * width;
    flow.seatsInUse -= width;
    flow.working--;
    this.#seatsInUse -= width;
    this.#working--;
    assert(flow.seatsInUse >= 0 && this.#seatsInUse >= 0, "SeatsNotNegative");
    if (flow.waiting.length > 0) this.#takeTurn(flow);
    this.#restIfIdle(flow);
    this.#startWaiting(nowMs);
    this.#noteDemand(nowMs);
  }

  /** A flow's standing: the queue of its next request, its share, and the expected wait. */
  standingOf(name: string): Standing {
    const waiting = this.#flows.get(name)?.waiting.length ?? 0;
    const shareSeats = this.#limit / Math.max(1, this.#busyFlows);
    const work = (waiting + 1) * this.#meanSeatSeconds;
    return {
      queue: this.#queuing === undefined ? undefined : this.#chooseQueue(name, this.#queuing),
      waiting,
      shareSeats,
      // All of its requests at its own share; at most everybody's with all seats.
      expectedWaitSeconds: Math.min(
        work / Math.max(shareSeats, SHARE_MIN),
        ((this.#waiting + 1) * this.#meanSeatSeconds) / Math.max(1, this.#limit),
      ),
    };
  }

  /** For debugging: all flows with requests. */
  *describe(): Generator<{
    readonly flow: string;
    /** Where its head waits, or its next request would; undefined without queues. */
    readonly queue: number | undefined;
    readonly waiting: readonly Waiter[];
    readonly working: number;
    readonly seatsInUse: number;
    readonly nextStart: number;
    /** Seat-seconds that those who wait are expected to take. */
    readonly expectedWork: number;
  }> {
    for (const one of this.#flows.values()) {
      if (!one.isBusy) continue;
      const { name: flow, waiting, working, seatsInUse, nextStart } = one;
      const seats = waiting.reduce((sum, { width }) => sum + width, 0);
      const expectedWork = seats * GUESSED_SECONDS;
      const queue = waiting[0]?.queue ?? this.standingOf(flow).queue;
      yield { flow, queue, waiting, working, seatsInUse, nextStart, expectedWork };
    }
  }

  virtualTimes(): VirtualTimes {
    const waiting = [...this.#flows.values()].filter((flow) => flow.waiting.length > 0);
    const guessed = ({ nextStart, seatsInUse }: Flow) => nextStart - GUESSED_SECONDS * seatsInUse;
    return {
      r: this.#r,
      startR: this.#startR,
      latestStart: this.#latestStart,
      next: boundsOf(waiting.map(({ nextStart }) => nextStart)),
      nextDiscounted: boundsOf(waiting.map(guessed)),
    };
  }

  /** The shortest queue of the flow's hand. */
  #chooseQueue(name: string, { queues, handSize }: Queuing): number {
    let hand = this.#hands.get(name);
    if (hand === undefined) {
      if (this.#hands.size >= HANDS_MAX) this.#hands.clear();
      hand = deal(hashOfFlow(name), queues, handSize);
      this.#hands.set(name, hand);
    }
    return hand.reduce((best, queue) =>
      this.lengthOf(queue) < this.lengthOf(best) ? queue : best,
    );
  }

  #mayStartAtOnce(name: string, width: number): boolean {
    if (!this.#hasRoom(width)) return false;
    if (this.#waiting === 0 && width === 1) return true;
    const flow = this.#flows.get(name);
    if (flow !== undefined && this.#takesTooMuch(flow, width)) return this.#queuing === undefined;
    // Flows that wait for themselves may be overtaken by all others.
    return this.#waiting === 0 || (this.#nextFlow() === undefined && !flow?.waitsForItself);
  }

  /** Whether a wide request would make its flow hold more seats than it leaves free. */
  #takesTooMuch({ seatsInUse }: Flow, width: number): boolean {
    return width > 1 && seatsInUse > 0 && seatsInUse + width > this.#limit - this.#seatsInUse;
  }

  /** A request wider than the level runs alone. */
  #hasRoom(width: number): boolean {
    return this.#seatsInUse + width <= this.#limit || (this.#seatsInUse === 0 && this.#limit > 0);
  }

  #startWaiting(nowMs: number): void {
    if (this.#parked.size > 0) {
      for (const flow of this.#parked) this.#takeTurn(flow);
      // V8 makes a new table for each clearing, also of an empty set, and an old one for an old set.
      this.#parked.clear();
    }
    while (this.#waiting > 0) {
      const flow = this.#nextFlow();
      // All waiting flows wait for themselves.
      if (flow === undefined) return;
      const head = flow.waiting[0];
      assert(head !== undefined, "WaitersHaveTurns");
      if (this.#takesTooMuch(flow, head.width)) {
        this.#park(flow);
        continue;
      }
      // A narrower request may not overtake one that waits for room: that one would starve.
      if (!this.#hasRoom(head.width)) {
        this.#onNoRoom(flow.name);
        return;
      }
      this.#remove(flow, head);
      head.settle(this.#start(flow, head.width, nowMs));
      if (flow.waiting.length > 0) this.#takeTurn(flow);
    }
  }

  #park(flow: Flow): void {
    flow.turn = undefined;
    flow.waitsForItself = true;
    this.#parked.add(flow);
  }

  #nextFlow(): Flow | undefined {
    for (;;) {
      const turn = this.#turns.first;
      if (turn === undefined) return undefined;
      if (turn.flow.turn === turn) return turn.flow;
      this.#turns.pop();
    }
  }

  /** Updates a flow's turn after a change of its head or of its account. */
  #takeTurn(flow: Flow): void {
    const [head] = flow.waiting;
    assert(head !== undefined, "TurnHasHead");
    flow.waitsForItself = false;
    const end = flow.nextStart + head.width * GUESSED_SECONDS;
    flow.turn = { flow, end, order: this.#turnsMade++ };
    this.#turns.push(flow.turn);
    if (this.#turns.size > VOID_TURNS_PER_FLOW * this.#busyFlows + VOID_TURNS_MIN) {
      this.#turns.keep((turn) => turn.flow.turn === turn);
    }
  }

  #start(flow: Flow, width: number, nowMs: number): Seats {
    this.#startR = this.#r;
    this.#latestStart = flow.nextStart;
    flow.nextStart += GUESSED_SECONDS * width;
    flow.seatsInUse += width;
    flow.working++;
    this.#seatsInUse += width;
    this.#working++;
    return new Seats(this, flow, width, nowMs);
  }

  #leave(flow: Flow, waiter: Waiter, why: Refusal, nowMs: number): void {
    if (!flow.waiting.includes(waiter)) return;
    this.#advance(nowMs);
    this.#remove(flow, waiter);
    if (flow.waiting.length > 0) this.#takeTurn(flow);
    this.#restIfIdle(flow);
    waiter.settle(why);
    this.#startWaiting(nowMs);
    this.#noteDemand(nowMs);
  }

  #remove(flow: Flow, waiter: Waiter): void {
    flow.waiting.splice(flow.waiting.indexOf(waiter), 1);
    if (flow.waiting.length === 0) {
      flow.turn = undefined;
      flow.waitsForItself = false;
      this.#parked.delete(flow);
    }
    if (this.#counted.delete(waiter)) {
      this.#queueLengths[waiter.queue] = this.lengthOf(waiter.queue) - 1;
    }
    this.#waitingSeats -= waiter.width;
    this.#waiting--;
    assert(this.#waiting >= 0 && this.#waitingSeats >= 0, "WaitingNotNegative");
  }

  /** An idle flow accumulates no claim for the time in which it was idle. */
  #wake(name: string): Flow {
    let flow = this.#flows.get(name);
    if (flow === undefined) {
      flow = new Flow(name, this.#r);
      this.#flows.set(name, flow);
    }
    if (!flow.isCounted) {
      flow.isCounted = true;
      flow.nextStart = this.#r;
      this.#busyFlows++;
    }
    return flow;
  }

  #restIfIdle(flow: Flow): void {
    if (flow.isBusy) return;
    flow.isCounted = false;
    this.#busyFlows--;
    assert(this.#busyFlows >= 0, "BusyFlowsNotNegative");
    if (this.#flows.size - this.#busyFlows > IDLE_FLOWS_MAX) this.#dropIdleFlows();
  }

  #dropIdleFlows(): void {
    for (const [name, flow] of this.#flows) if (!flow.isCounted) this.#flows.delete(name);
  }

  #advance(nowMs: number): void {
    const elapsed = nowMs - this.#atMs;
    if (elapsed <= 0) return;
    this.#atMs = nowMs;
    if (this.#busyFlows === 0) return;
    const wanted = this.#seatsInUse + this.#waitingSeats;
    this.#r += ((elapsed / 1000) * Math.min(wanted, this.#limit)) / this.#busyFlows;
  }

  #noteDemand(nowMs: number): void {
    const demand = this.#seatsInUse + this.#waitingSeats;
    this.#demand.set(demand, nowMs);
    this.#use.note(demand, this.#seatsInUse, this.#working, this.#waiting, nowMs);
  }
}

function boundsOf(values: readonly number[]): { min: number; max: number } | undefined {
  const [first, ...others] = values;
  if (first === undefined) return undefined;
  return others.reduce(
    ({ min, max }, value) => ({ min: Math.min(min, value), max: Math.max(max, value) }),
    { min: first, max: first },
  );
}
