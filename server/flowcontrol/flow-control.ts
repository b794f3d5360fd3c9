/**
 * FlowControl: API priority and fairness. A request belongs to a flow schema, which names a priority
 * level. The level has a share of the server's seats, lends unused seats and borrows from other
 * levels (allotment.ts), and serves its flows fairly (queue-set.ts). Exempt levels never wait.
 *
 * The configuration is replaced as a whole, in the turn of the feed that brings a change, so that it
 * is in force for the next request. A removed level takes no new requests and is dropped when its
 * waiting requests have been served.
 *
 * Seats are those of this replica: N replicas give a level N times as many.
 */
import { assert } from "../../storage/base/assert.js";
import { Slots } from "../../storage/base/slots.js";
import type { RequestInfo } from "../request/request-info.js";
import type { UserInfo } from "../request/user-info.js";
import { allot } from "./allotment.js";
import { Classifier, flowOf } from "./classify.js";
import type { FlowTimes, SchemaCounts, SchemaTimes } from "./flow-counts.js";
import { QueueSet, type Refusal, Seats, Waiter } from "./queue-set.js";
import type { DemandStatistics } from "./seat-demand.js";
import type { LevelSetting, SchemaSetting } from "./settings.js";
import type { TurnPlace } from "./turn-place.js";
import { watcherWork } from "./width.js";

/** How often limits are adjusted to the demand. */
export const ADJUST_INTERVAL_MS = 10_000;
/** How slowly a level's target follows a falling demand (kube-apiserver's value for that interval). */
const SMOOTHING = 0.977;
/** The seats that an unlimited level's use is compared with, as in kube-apiserver: a tenth of all. */
const EXEMPT_PART = 0.1;
/** The maximum share of a level's seats for a single request, and a bound for large levels. */
const WIDTH_MAX_PART = 0.15;
const WIDTH_MAX = 10;
/** Names of flows that a schema keeps; beyond it they are joined anew. */
const FLOW_NAMES_MAX = 1_000;
/** Of a flow's name, which a client may choose: namespaces that do not exist, for example. What begins alike is one flow. */
const FLOW_CHARS_MAX = 512;

interface Level {
  setting: LevelSetting;
  readonly set: QueueSet;
  nominal: number;
  lower: number;
  upper: number;
  current: number;
  /** The demand for seats in the last period, which determines the next limits. */
  wanted: DemandStatistics;
  smoothed: number;
  target: number;
  /** The waiting requests, for debugging. */
  readonly waiters: Map<Waiter, FlowRequest>;
  /** The executing requests, for debugging. */
  readonly executing: Slots<HeldSeats>;
  /** No longer configured; served until it is empty. */
  isLeaving: boolean;
}

interface Schema {
  readonly setting: SchemaSetting;
  readonly level: Level;
  readonly counts: SchemaCounts;
  readonly times: SchemaTimes;
  readonly place: Classification;
  /** Its flows' names by distinguisher, so that they need not be joined and hashed for each request. */
  readonly flowNames: Map<string, string>;
}

/** A request's schema, level and flow. */
export interface Classification {
  readonly schemaUid: string;
  readonly levelUid: string;
}

/** A request for seats; told its place before the decision. */
export interface FlowRequest {
  readonly user: UserInfo;
  readonly info: RequestInfo;
  place?: Classification | undefined;
  /** When it came and when it ends, as `performance.now()`; absent = it has no end. */
  readonly receivedAtMs?: number;
  readonly deadlineMs?: number;
}

/** The longest wait for seats, as in kube-apiserver. */
const PATIENCE_MAX_MS = 60_000;

/** A request waits for a quarter of its own time. @param patienceMs of one without an end */
function patientUntil(
  { receivedAtMs, deadlineMs = Number.POSITIVE_INFINITY }: FlowRequest,
  nowMs: number,
  patienceMs: number,
): number {
  const sinceMs = receivedAtMs ?? nowMs;
  const ownMs = deadlineMs === Number.POSITIVE_INFINITY ? patienceMs : (deadlineMs - sinceMs) / 4;
  return sinceMs + Math.min(ownMs, PATIENCE_MAX_MS);
}

/** The result of entering. */
export type Entry =
  | { readonly type: "seated"; readonly seats: HeldSeats }
  | { readonly type: "waiting"; wait(signal: AbortSignal): Promise<HeldSeats | Denial> }
  | { readonly type: "denied"; readonly denial: Denial };

export interface Denial {
  readonly reason: Refusal;
  /** For the client: level, schema and the flow's standing there. */
  readonly text: string;
  readonly retryAfterSeconds: number;
}

/** The seats of a request; released once. */
export class HeldSeats {
  readonly #seats: Seats;
  readonly #schema: Schema;
  readonly request: FlowRequest;
  readonly flow: string;
  /** When the request came, and when it got its seats; milliseconds of `performance`. */
  readonly arrivedMs: number;
  readonly startMs: number;
  readonly #slot: number;
  #isHeld = true;

  constructor(
    seats: Seats,
    schema: Schema,
    request: FlowRequest,
    flow: string,
    arrivedMs: number,
    startMs: number,
  ) {
    this.#seats = seats;
    this.#schema = schema;
    this.request = request;
    this.flow = flow;
    this.arrivedMs = arrivedMs;
    this.startMs = startMs;
    const { counts, level } = schema;
    counts.dispatched++;
    counts.executing++;
    counts.executingSeats += seats.width;
    this.#slot = level.executing.add(this);
  }

  get width(): number {
    return this.#seats.width;
  }

  /** @param watchers of a write: how many have to be notified after the answer */
  release(nowMs: number, watchers?: number): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const { counts, times, level } = this.#schema;
    level.executing.remove(this.#slot);
    counts.executing--;
    counts.executingSeats -= this.#seats.width;
    const seconds = Math.max(0, nowMs - this.startMs) / 1000;
    times.worked(this.request.info.verb === "watch", seconds);
    if (watchers !== undefined) times.watched(watchers);
    this.#seats.release(nowMs, watcherWork(watchers ?? 0));
  }
}

export interface FlowControlOptions {
  /** All seats of this replica. */
  readonly seats: number;
  /** How long a request may wait for its seats. */
  readonly patienceMs: number;
  /** Always in force, whatever is configured; they include levels and schemas for everybody. */
  readonly mandatory: {
    readonly levels: readonly LevelSetting[];
    readonly schemas: readonly SchemaSetting[];
  };
  readonly times: FlowTimes;
  readonly nowMs: number;
  /** The one level of turns for all its requests; absent = each level has its own. */
  readonly turnLevel?: string | undefined;
}

export class FlowControl {
  readonly #options: FlowControlOptions;
  readonly #levels = new Map<string, Level>();
  #schemas = new Map<SchemaSetting, Schema>();
  #schemasByName = new Map<string, Schema>();
  #classifier = new Classifier([]);
  #fairShare = 0;

  constructor(options: FlowControlOptions) {
    assert(options.seats > 0, "SeatsExist");
    this.#options = options;
    this.replace([], [], options.nowMs);
  }

  /** Seats per seat of demand that levels get when seats are scarce. */
  get fairShare(): number {
    return this.#fairShare;
  }

  /** Replaces the configuration; mandatory objects cannot be overridden. */
  replace(levels: readonly LevelSetting[], schemas: readonly SchemaSetting[], nowMs: number): void {
    const { mandatory } = this.#options;
    const levelsNow = mergeByName(mandatory.levels, levels);
    for (const level of this.#levels.values()) level.isLeaving = !levelsNow.has(level.setting.name);
    for (const setting of levelsNow.values()) this.#putLevel(setting, nowMs);
    this.#dropEmptyLevels();
    const before = this.#schemasByName;
    this.#schemas = new Map();
    // A schema whose level is missing matches nothing: the next one decides.
    for (const setting of mergeByName(mandatory.schemas, schemas).values()) {
      const level = this.#levels.get(setting.level);
      if (level === undefined || level.isLeaving) continue;
      const known = before.get(setting.name);
      const isKnown = known?.level === level;
      this.#schemas.set(setting, {
        setting,
        level,
        place: { schemaUid: setting.uid, levelUid: level.setting.uid },
        counts: isKnown ? known.counts : newCounts(),
        times: isKnown ? known.times : this.#options.times(setting.level, setting.name),
        flowNames: new Map(),
      });
    }
    this.#schemasByName = new Map(
      [...this.#schemas.values()].map((one) => [one.setting.name, one]),
    );
    this.#classifier = new Classifier(this.#schemas.keys());
    this.#share(nowMs);
  }

  /**
   * @param width seats of the request; capped at the level's maximum per request
   */
  enter(request: FlowRequest, width: number, nowMs: number): Entry {
    const { user, info } = request;
    const schema = this.#schemaOf(user, info);
    const { level } = schema;
    request.place = schema.place;
    const seatsMax = Math.min(WIDTH_MAX, Math.max(1, Math.ceil(level.nominal * WIDTH_MAX_PART)));
    const seatsWanted = Math.min(Math.max(1, width), seatsMax);
    const until = patientUntil(request, nowMs, this.#options.patienceMs);
    schema.times.estimated(seatsWanted);
    const flow = flowName(schema, user, info);
    const entered = level.set.enter(flow, seatsWanted, nowMs, until);
    if (entered instanceof Seats) {
      // It was alone in a queue, for no time at all.
      if (level.setting.queuing !== undefined) {
        schema.times.queued(1);
        schema.times.waited(true, 0);
      }
      const seats = new HeldSeats(entered, schema, request, flow, nowMs, nowMs);
      return { type: "seated", seats };
    }
    if (entered instanceof Waiter) {
      schema.times.queued(level.set.lengthOf(entered.queue));
      return { type: "waiting", wait: (signal) => this.#wait(entered, schema, request, signal) };
    }
    return { type: "denied", denial: this.#deny(schema, flow, entered) };
  }

  /** The level of all requests that wait for the thread; undefined: it is that of their priority. */
  get turnLevel(): string | undefined {
    return this.#options.turnLevel;
  }

  /** The request's place among those that wait for the thread; undefined: it does not wait. */
  turnPlaceOf(user: UserInfo, info: RequestInfo): TurnPlace | undefined {
    const { turnLevel } = this.#options;
    const schema = this.#schemaOf(user, info);
    const { setting } = schema.level;
    if (turnLevel === undefined && setting.isExempt) return undefined;
    const flow = flowName(schema, user, info);
    if (turnLevel === undefined) return { level: setting.name, flow };
    // Where many share the thread, each is one level of it, however many users it has.
    return { level: turnLevel, flow: `${turnLevel} ${setting.name} ${flow}`, isAsOne: true };
  }

  /**
   * Whether the request waits for nothing that the process has once. Where many share it nobody is: who administers one of
   * them says there who is exempt.
   */
  isExempt(user: UserInfo, info: RequestInfo): boolean {
    const { turnLevel } = this.#options;
    return turnLevel === undefined && this.#schemaOf(user, info).level.setting.isExempt;
  }

  /** Whether any request waits, so that `tick` must be called. */
  get isAnybodyWaiting(): boolean {
    for (const { set } of this.#levels.values()) if (set.waiting > 0) return true;
    return false;
  }

  /** Refuses overdue requests, and drops removed levels that are empty. */
  tick(nowMs: number): void {
    for (const { set } of this.#levels.values()) set.expire(nowMs);
    this.#dropEmptyLevels();
  }

  /** Moves seats between the levels with the demand; once per ADJUST_INTERVAL_MS. */
  adjust(nowMs: number): void {
    const levels = [...this.#levels.values()];
    const limited = levels.filter(({ setting }) => !setting.isExempt);
    let exemptHigh = 0;
    const claimants = new Map<Level, { lower: number; upper: number; target: number }>();
    for (const level of levels) {
      level.wanted = level.set.demand.take(nowMs);
      const { mean, deviation, high } = level.wanted;
      if (level.setting.isExempt) {
        exemptHigh += high;
        continue;
      }
      const envelope = mean + deviation;
      level.smoothed = Math.max(envelope, SMOOTHING * level.smoothed + (1 - SMOOTHING) * envelope);
      const lower = Math.max(level.lower, Math.min(level.nominal, high));
      level.target = Math.max(lower, level.smoothed);
      const upper = Math.max(lower, level.upper);
      claimants.set(level, { lower, upper, target: level.target });
    }
    const least = [...claimants.values()].reduce((sum, { lower }) => sum + lower, 0);
    const total = Math.max(least, this.#options.seats - exemptHigh);
    const { seats, fairShare } = allot(total, [...claimants.values()]);
    this.#fairShare = fairShare;
    for (const [index, level] of limited.entries()) {
      level.current = Math.max(1, Math.round(seats[index] ?? level.nominal));
      level.set.setLimit(level.current, nowMs);
    }
  }

  describeLevels(nowMs = performance.now()) {
    return [...this.#levels.values()].map((level) => {
      const { setting, set } = level;
      // Member by member: V8 gives each object made by rest and spread a class of its own (decision 59).
      return {
        name: setting.name,
        isExempt: setting.isExempt,
        queuing: setting.queuing,
        nominal: level.nominal,
        lower: level.lower,
        upper: level.upper,
        current: level.current,
        wanted: level.wanted,
        smoothed: level.smoothed,
        target: level.target,
        waiters: level.waiters,
        executing: level.executing,
        isLeaving: level.isLeaving,
        use: set.use.read(nowMs),
        virtual: set.virtualTimes(),
        waiting: set.waiting,
        working: set.working,
        seatsInUse: set.seatsInUse,
        flows: () => set.describe(),
        isIdle: set.isIdle,
      };
    });
  }

  describeSchemas() {
    return [...this.#schemas.values()].map(({ setting, level, counts }) => ({
      schema: setting.name,
      level: level.setting.name,
      counts,
    }));
  }

  #schemaOf(user: UserInfo, info: RequestInfo): Schema {
    const setting = this.#classifier.classify(user, info) ?? this.#lastResort();
    const schema = this.#schemas.get(setting);
    assert(schema !== undefined, "SchemaHasLevel");
    return schema;
  }

  /** The last schema matches users without any group. */
  #lastResort(): SchemaSetting {
    const last = this.#classifier.schemas.at(-1);
    assert(last !== undefined, "SchemasExist");
    return last;
  }

  async #wait(
    waiter: Waiter,
    schema: Schema,
    request: FlowRequest,
    signal: AbortSignal,
  ): Promise<HeldSeats | Denial> {
    const { counts, times, level } = schema;
    counts.inQueue++;
    counts.inQueueSeats += waiter.width;
    level.waiters.set(waiter, request);
    const outcome = await waiter.wait(signal);
    const nowMs = performance.now();
    counts.inQueue--;
    counts.inQueueSeats -= waiter.width;
    level.waiters.delete(waiter);
    const isSeated = outcome instanceof Seats;
    const seconds = Math.max(0, nowMs - waiter.sinceMs) / 1000;
    times.waited(isSeated, seconds);
    if (!isSeated) return this.#deny(schema, waiter.flow, outcome);
    return new HeldSeats(outcome, schema, request, waiter.flow, waiter.sinceMs, nowMs);
  }

  #deny({ setting, level, counts }: Schema, flow: string, reason: Refusal): Denial {
    counts.rejected[reason] = (counts.rejected[reason] ?? 0) + 1;
    const { set } = level;
    const { queue, waiting, shareSeats, expectedWaitSeconds } = set.standingOf(flow);
    const inQueue = queue === undefined ? "" : `queue ${queue}, `;
    const text =
      `priority level "${level.setting.name}", flow schema "${setting.name}", ${inQueue}${reason}: ` +
      `${set.seatsInUse} of ${level.current} seats in use, your share is ${shareSeats.toFixed(1)}, ` +
      `${waiting} of the ${set.waiting} requests that wait are yours, ` +
      `about ${expectedWaitSeconds.toFixed(1)} s`;
    const retryAfterSeconds = Math.min(30, Math.max(1, Math.ceil(expectedWaitSeconds)));
    return { reason, text, retryAfterSeconds };
  }

  #putLevel(setting: LevelSetting, nowMs: number): void {
    const known = this.#levels.get(setting.name);
    if (known !== undefined) {
      known.setting = setting;
      known.set.configure(setting.queuing);
      return;
    }
    this.#levels.set(setting.name, {
      setting,
      set: new QueueSet(setting.queuing, nowMs, (flow) => this.#noteNoRoom(flow)),
      nominal: 0,
      lower: 0,
      upper: 0,
      current: 0,
      wanted: { mean: 0, deviation: 0, high: 0 },
      smoothed: 0,
      target: 0,
      waiters: new Map(),
      executing: new Slots(),
      isLeaving: false,
    });
  }

  #noteNoRoom(flow: string): void {
    const schema = this.#schemasByName.get(schemaNameOf(flow));
    if (schema !== undefined) schema.counts.noRoom++;
  }

  #dropEmptyLevels(): void {
    for (const [name, { isLeaving, set }] of this.#levels) {
      if (isLeaving && set.isIdle) this.#levels.delete(name);
    }
  }

  /** Computes the bounds of each level, and starts with its nominal seats. */
  #share(nowMs: number): void {
    const { seats } = this.#options;
    const levels = [...this.#levels.values()];
    const sharesOf = ({ setting, isLeaving }: Level) => (isLeaving ? 0 : setting.shares);
    const shares = levels.reduce((sum, level) => sum + sharesOf(level), 0);
    for (const level of levels) {
      const { lendablePercent, borrowingLimitPercent, isExempt } = level.setting;
      const before = level.nominal;
      // The remaining requests of a removed level are served one by one.
      level.nominal = level.isLeaving ? 1 : Math.ceil((seats * sharesOf(level)) / (shares || 1));
      level.lower = level.nominal - Math.round((level.nominal * lendablePercent) / 100);
      level.upper =
        borrowingLimitPercent === undefined
          ? level.nominal + seats
          : level.nominal + Math.round((level.nominal * borrowingLimitPercent) / 100);
      if (isExempt) {
        level.current = Number.POSITIVE_INFINITY;
      } else if (level.nominal !== before || level.current === Number.POSITIVE_INFINITY) {
        level.current = level.nominal;
      }
      level.current = Math.max(1, level.current);
      const usual = isExempt ? Math.max(1, Math.round(seats * EXEMPT_PART)) : level.current;
      level.set.setLimit(level.current, nowMs, usual);
    }
  }
}

function flowName({ setting, flowNames }: Schema, user: UserInfo, info: RequestInfo): string {
  const distinguisher = flowOf(setting, user, info).slice(0, FLOW_CHARS_MAX);
  let name = flowNames.get(distinguisher);
  if (name === undefined) {
    if (flowNames.size >= FLOW_NAMES_MAX) flowNames.clear();
    // A copy, as a part of a request's path keeps all of it alive.
    const kept = Buffer.from(distinguisher).toString();
    name = `${setting.name}\u0000${kept}`;
    flowNames.set(kept, name);
  }
  return name;
}

export function schemaNameOf(flow: string): string {
  return flow.slice(0, flow.indexOf("\u0000"));
}

function newCounts(): SchemaCounts {
  return {
    dispatched: 0,
    executing: 0,
    executingSeats: 0,
    inQueue: 0,
    inQueueSeats: 0,
    noRoom: 0,
    rejected: {},
  };
}

/** Those of `fixed` always exist and override configured ones. */
function mergeByName<T extends { readonly name: string }>(
  fixed: readonly T[],
  configured: readonly T[],
): Map<string, T> {
  return new Map([...fixed, ...configured].map((one) => [one.name, one]));
}
