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
 *
 * A flow that just had a long piece is behind the others that wait: a small request needs several turns, and has them all
 * between two long pieces of another flow.
 *
 *     A a b A a b ...      not A A a b: each step of a large write is followed by whoever waited for it
 *
 * And some turns of the loop go by before the next long piece, whether anybody waits or not: a small request that waits for its
 * connection or for the store has no piece here meanwhile, and would meet a long one at each of its steps.
 *
 *     A . . . . A . . . .  a small request that needs five turns meets one long piece, not five
 *
 * A flow with a backlog asks for more than it gets. While other flows are served, it goes on only where the thread has
 * headroom (headroom.ts): otherwise the others would meet a busy thread at each step of their requests. What more it asks
 * for is not even read (paused-connections.ts).
 *
 * The flows of a control plane are as one in all this: with a hundred users, none of whom has a backlog, it asks for no less. And
 * what waits is a backlog of a control plane only while it has used more than its share of the thread (thread-share.ts).
 */
import { assert } from "../../storage/base/assert.js";
import type { Headroom } from "./headroom.js";
import { type PausableConnection, PausedConnections } from "./paused-connections.js";
import { ThreadShare, UsedTime } from "./thread-share.js";
import type { TurnPlace } from "./turn-place.js";

/** How long the loop does waiting work before it polls its sockets again: some times what polling costs. */
export const SLICE_MS = 0.25;
/** Maximum requests waiting for a turn; a flow may have as many of them as it leaves free. */
export const TURNS_WAITING_MAX = 8_192;
/** Idle flows of a level that are kept; beyond it they are dropped. */
const IDLE_FLOWS_MAX = 1_000;

/** So many pieces of a flow that wait at once are a backlog. */
export const BACKLOG = 4;
/** So many pieces that wait keep a flow busy: its connections are paused meanwhile. */
export const ENOUGH = 16;
/** The same of a control plane above its share, whose pieces wait for long: what waits is copied by each collection. */
export const ENOUGH_HELD = BACKLOG;
/** So many paused connections are read at once. */
const READ_AT_ONCE = 8;
/** A piece that takes longer puts its flow behind others. */
export const LONG_PIECE_MS = 5;
/** Turns of the loop between two long pieces: about as many as a small request needs. Empty ones take some microseconds. */
export const TURNS_BETWEEN = 4;
/** How long a flow counts as one with a backlog or a long piece after that, and as one without after its last piece. */
export const RECENT_MS = 50;
/** How soon backlogs that have to wait are looked at again at least. */
const LOOK_AGAIN_MS = 1;
/** How long a flow reads no more connections after it did: requests take about as long from there to here. */
const READ_MORE_MS = 2;
/** How soon more connections are read of flows that have nothing waiting. */
const READ_IDLE_MS = 5;

interface Piece {
  readonly begin: () => void;
  readonly laterMs: number;
}

/** What a flow, or a level whose flows are as one, has done and has waiting. */
class Standing {
  /** Pieces that wait and do not end a request. */
  others = 0;
  backlogMs = Number.NEGATIVE_INFINITY;
  /** When a long piece ended. */
  longMs = Number.NEGATIVE_INFINITY;
}

interface Working {
  /** Of one that has a place. */
  readonly flow: Flow | undefined;
  readonly used: UsedTime | undefined;
  readonly sinceMs: number;
}

interface Taken {
  readonly flow: Flow;
  readonly piece: Piece;
}

/** A flow's pieces. Flows stay when they are idle: what comes and goes with requests lets them get old (decision 59). */
class Flow {
  readonly place: TurnPlace;
  /** Pieces that end a request; they precede the others. */
  readonly ends: Piece[] = [];
  readonly others: Piece[] = [];
  readonly own = new Standing();
  /** Of all flows that count as one with this one; its own where it is alone. */
  readonly common: Standing;
  /** What all flows of the level used of the thread, where they are as one. */
  readonly used: UsedTime | undefined;
  /** When paused connections were read again. */
  readMs = Number.NEGATIVE_INFINITY;

  constructor(place: TurnPlace, { standing, used }: Level) {
    const isAsOne = place.isAsOne === true;
    this.place = place;
    this.common = isAsOne ? standing : this.own;
    this.used = isAsOne ? used : undefined;
  }

  get waiting(): number {
    return this.ends.length + this.others.length;
  }

  add(piece: Piece, nowMs: () => number): void {
    this.others.push(piece);
    if (++this.common.others >= BACKLOG) this.common.backlogMs = nowMs();
  }

  takeNext(): Piece {
    const end = this.ends.shift();
    if (end !== undefined) return end;
    const next = this.others.shift();
    assert(next !== undefined, "FlowsOfTurnsWait");
    this.common.others--;
    return next;
  }

  endLong(nowMs: number): void {
    this.own.longMs = nowMs;
    this.common.longMs = nowMs;
  }
}

class Level {
  readonly standing = new Standing();
  readonly used = new UsedTime();
  readonly flows = new Map<string, Flow>();
  /** Flows with waiting pieces; the next one comes first. */
  readonly order: Flow[] = [];

  flowOf(place: TurnPlace): Flow {
    const known = this.flows.get(place.flow);
    if (known !== undefined) return known;
    if (this.flows.size - this.order.length >= IDLE_FLOWS_MAX) this.#dropIdle();
    const flow = new Flow(place, this);
    this.flows.set(place.flow, flow);
    return flow;
  }

  #dropIdle(): void {
    for (const [name, { waiting }] of this.flows) if (waiting === 0) this.flows.delete(name);
  }
}

export class Turns {
  readonly #now: () => number;
  readonly #headroom: Headroom;
  readonly #share: ThreadShare;
  readonly #levels = new Map<string, Level>();
  /** Levels with waiting pieces; the next one comes first. */
  readonly #order: Level[] = [];
  readonly #paused = new PausedConnections();
  #waiting = 0;
  /** Whose piece is worked on, and since when. */
  #working: Working | undefined;
  /** When this turn of the loop began to work; undefined before that. */
  #sinceMs: number | undefined;
  /** Work begun in this turn that has to be finished in later ones. */
  #laterMs = 0;
  /** Turns that go by before the next long piece. */
  #turnsBeforeLong = 0;
  /** Who was served last of those without a backlog, when, and when the one before who is another. */
  #modest: Standing | undefined;
  #modestMs = Number.NEGATIVE_INFINITY;
  #otherModestMs = Number.NEGATIVE_INFINITY;
  /** Whether backlogs have to wait in this turn for the sake of others that were served. */
  #isSpent = false;
  /** When a backlog last had to wait for the sake of other flows. */
  #heldBackMs = Number.NEGATIVE_INFINITY;
  #looksAgain = false;
  #readsIdleAgain = false;

  constructor(headroom: Headroom, now: () => number = () => performance.now()) {
    this.#headroom = headroom;
    this.#share = new ThreadShare(headroom.busyShare);
    this.#now = now;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Connections that are not read while their flow has a backlog. */
  get pausedConnections(): number {
    return this.#paused.size;
  }

  /** Forgets a level that nobody uses any more. */
  forget(name: string): void {
    const level = this.#levels.get(name);
    if (level?.order.length === 0) this.#levels.delete(name);
  }

  /** Whether a backlog waits, with short breaks, for the sake of other flows. */
  isHoldingBack(nowMs: number): boolean {
    return nowMs - this.#heldBackMs < RECENT_MS;
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

  /** What runs at once, without a place, is work of this level, whose flows are as one. */
  countFor(level: string, sinceMs: number): void {
    this.#begin(undefined, this.#levelOf(level).used, sinceMs);
  }

  /** The next piece of a request that has begun: undefined = at once, else when it is its turn. */
  goOn(place: TurnPlace): Promise<void> | undefined {
    const nowMs = this.#now();
    const flow = this.#levelOf(place.level).flowOf(place);
    if (this.#turnsBeforeLong > 0 && wasLong(flow.common, nowMs)) return this.wait(place);
    if (!this.isFree(nowMs)) return this.wait(place);
    this.#begin(flow, flow.used, nowMs);
    return undefined;
  }

  /** Whether one more request of the flow may queue. */
  hasRoomFor(place: TurnPlace): boolean {
    return (this.#flowAt(place)?.waiting ?? 0) < TURNS_WAITING_MAX - this.#waiting;
  }

  /** Resolves when it is its turn. */
  wait(place: TurnPlace, laterMs = 0): Promise<void> {
    return new Promise((begin) => {
      const flow = this.#enter(place);
      flow.add({ begin, laterMs }, this.#now);
    });
  }

  /** The same for work that ends a request: it precedes the flow's other pieces. */
  waitToEnd(place: TurnPlace): Promise<void> {
    return new Promise((begin) => this.#enter(place).ends.push({ begin, laterMs: 0 }));
  }

  /** The flow uses the connection. @returns whether no other has */
  isOnlyFlowOf(connection: PausableConnection, place: TurnPlace): boolean {
    return this.#paused.isOnlyOf(place, connection);
  }

  /** What the connection asks for next may wait, if its flow has a backlog. */
  readLater(connection: PausableConnection, place: TurnPlace): void {
    const flow = this.#flowAt(place);
    if (flow === undefined || flow.others.length < this.#enoughOf(flow, this.#now())) return;
    this.#paused.pause(place, connection);
    this.#readIdleAgain();
  }

  #enoughOf({ used }: Flow, nowMs: number): number {
    return used !== undefined && this.#share.isAbove(used, nowMs) ? ENOUGH_HELD : ENOUGH;
  }

  /** Several at once, as they share what requests share, such as the question of the freshness barrier. */
  #readMore(flow: Flow, nowMs: number): void {
    const enough = this.#enoughOf(flow, nowMs);
    const lacking = enough - flow.others.length;
    if (lacking <= 0 || nowMs - flow.readMs < READ_MORE_MS) return;
    flow.readMs = nowMs;
    this.#paused.resume(flow.place, enough === ENOUGH_HELD ? lacking : READ_AT_ONCE);
  }

  /** Of flows with nothing waiting: those read before had nothing to ask. */
  #readIdleAgain(): void {
    if (this.#readsIdleAgain) return;
    this.#readsIdleAgain = true;
    setTimeout(() => {
      this.#readsIdleAgain = false;
      for (const place of this.#paused.places()) {
        if ((this.#flowAt(place)?.waiting ?? 0) === 0) this.#paused.resume(place, READ_AT_ONCE);
      }
      if (this.#paused.size > 0) this.#readIdleAgain();
    }, READ_IDLE_MS);
  }

  #flowAt({ level, flow }: TurnPlace): Flow | undefined {
    return this.#levels.get(level)?.flows.get(flow);
  }

  /** The flow, for one more piece. */
  #enter(place: TurnPlace): Flow {
    const level = this.#levelOf(place.level);
    const flow = level.flowOf(place);
    if (flow.waiting === 0) {
      if (level.order.length === 0) this.#order.push(level);
      level.order.push(flow);
    }
    this.#waiting++;
    this.#planTurn();
    return flow;
  }

  #levelOf(name: string): Level {
    let level = this.#levels.get(name);
    if (level === undefined) {
      level = new Level();
      this.#levels.set(name, level);
    }
    return level;
  }

  #planTurn(): void {
    if (this.#sinceMs !== undefined) return;
    this.#sinceMs = this.#now();
    setImmediate(this.#turn);
  }

  /** Runs after all socket events of the loop's turn. */
  readonly #turn = (): void => {
    this.#sinceMs = undefined;
    this.#laterMs = 0;
    const mayBeLong = this.#turnsBeforeLong === 0;
    if (!mayBeLong) this.#turnsBeforeLong--;
    if (this.#waiting === 0) return;
    const nowMs = this.#now();
    this.#isSpent = this.#headroom.isSpent(nowMs);
    const next = this.#takeNext(nowMs, mayBeLong);
    if (next === undefined && !mayBeLong) {
      this.#planTurn();
      return;
    }
    if (next === undefined) {
      this.#heldBackMs = nowMs;
      this.#lookAgain();
      return;
    }
    this.#planTurn();
    this.#serve(next, nowMs);
  };

  /** The loop is idle until then, if nothing else is to do. */
  #lookAgain(): void {
    if (this.#looksAgain) return;
    this.#looksAgain = true;
    setTimeout(
      () => {
        this.#looksAgain = false;
        if (this.#waiting > 0) this.#planTurn();
      },
      Math.max(LOOK_AGAIN_MS, this.#headroom.idleNeededMs),
    );
  }

  /** Releases one piece, and the next one after its synchronous part. */
  #serve({ flow, piece: { begin, laterMs } }: Taken, nowMs: number): void {
    this.#laterMs += laterMs;
    begin();
    this.#begin(flow, flow.used, nowMs);
  }

  #begin(flow: Flow | undefined, used: UsedTime | undefined, sinceMs: number): void {
    // Several begin one after the other when what they waited for is there.
    if (this.#working === undefined) queueMicrotask(() => process.nextTick(this.#end));
    else this.#count(this.#working, sinceMs);
    this.#working = { flow, used, sinceMs };
  }

  #count({ flow, used, sinceMs }: Working, nowMs: number): void {
    if (nowMs - sinceMs >= LONG_PIECE_MS && flow !== undefined) {
      flow.endLong(nowMs);
      this.#turnsBeforeLong = TURNS_BETWEEN;
    }
    if (used !== undefined) this.#share.add(used, nowMs - sinceMs, nowMs);
  }

  readonly #end = (): void => {
    const nowMs = this.#now();
    if (this.#working !== undefined) this.#count(this.#working, nowMs);
    this.#working = undefined;
    if (this.#waiting === 0 || this.#sinceMs === undefined || this.#isOver(nowMs)) return;
    // Answers leave at the end of the turn: what may be long waits for the next one.
    const next = this.#takeNext(nowMs, false);
    if (next !== undefined) this.#serve(next, nowMs);
  };

  #isOver(nowMs: number): boolean {
    return nowMs - (this.#sinceMs ?? nowMs) + this.#laterMs >= SLICE_MS;
  }

  /** Undefined: all that wait are backlogs that have to, or flows that had a long piece. */
  #takeNext(nowMs: number, mayBeLong: boolean): Taken | undefined {
    // What uses more than its share goes on where the thread is idle between, and else when it does not any more.
    const isHeld = ({ used }: Flow) =>
      this.#isSpent || (used !== undefined && this.#headroom.isForgiven);
    const mayGo = (flow: Flow) =>
      flow.ends.length > 0 || !isHeld(flow) || !this.#hasToWait(flow, nowMs);
    const isLight = (flow: Flow) => mayGo(flow) && !wasLong(flow.common, nowMs);
    // Among flows that are as one those come first that have not been long themselves.
    const isLighter = (flow: Flow) => mayGo(flow) && !wasLong(flow.own, nowMs);
    const found =
      this.#find(isLight) ?? (mayBeLong ? (this.#find(isLighter) ?? this.#find(mayGo)) : undefined);
    if (found === undefined) return undefined;
    const { level, flow } = found;
    if (!this.#hasBacklog(flow, nowMs)) this.#noteModest(flow.common, nowMs);
    const piece = flow.takeNext();
    this.#waiting--;
    if (this.#paused.size > 0) this.#readMore(flow, nowMs);
    toEnd(level.order, flow, flow.waiting > 0);
    toEnd(this.#order, level, level.order.length > 0);
    return { flow, piece };
  }

  #noteModest(one: Standing, nowMs: number): void {
    if (one !== this.#modest) this.#otherModestMs = this.#modestMs;
    this.#modest = one;
    this.#modestMs = nowMs;
  }

  #hasToWait(flow: Flow, nowMs: number): boolean {
    const servedMs = flow.common === this.#modest ? this.#otherModestMs : this.#modestMs;
    return nowMs - servedMs < RECENT_MS && this.#hasBacklog(flow, nowMs);
  }

  #hasBacklog({ common, used }: Flow, nowMs: number): boolean {
    const asksForMuch = common.others >= BACKLOG || nowMs - common.backlogMs < RECENT_MS;
    return asksForMuch && (used === undefined || this.#share.isAbove(used, nowMs));
  }

  /** The next flow for which it is so, by level in turn. */
  #find(isSo: (flow: Flow) => boolean): { level: Level; flow: Flow } | undefined {
    for (const level of this.#order) {
      const flow = level.order.find(isSo);
      if (flow !== undefined) return { level, flow };
    }
    return undefined;
  }
}

function wasLong({ longMs }: Standing, nowMs: number): boolean {
  return nowMs - longMs < RECENT_MS;
}

function toEnd<T>(order: T[], one: T, isKept: boolean): void {
  order.splice(order.indexOf(one), 1);
  if (isKept) order.push(one);
}
