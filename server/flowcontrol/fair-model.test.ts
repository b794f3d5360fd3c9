/**
 * The queueing compared with a simple model of fairness, under random arrivals: at each moment all busy
 * flows get the same number of seats, except those that cannot use as many.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { QueueSet, Seats, Waiter } from "./queue-set.js";

const SECONDS = 300;
/** The remainder of a request that is only a rounding error. */
const ROUNDING_SECONDS = 1e-9;
/** As a share of the model's result for a flow. */
const TOLERANCE = 0.05;
/** Smaller results are not compared: a single request counts too much. */
const SEAT_SECONDS_MIN = 40;
const QUEUING = { queues: 64, handSize: 6, queueLengthLimit: 1_000_000 };

interface RandomFlow {
  /** Its demand relative to an equal share. */
  readonly load: number;
  readonly meanSeconds: number;
}

interface Arrival {
  readonly flow: number;
  readonly atSeconds: number;
  readonly seconds: number;
}

/** Each takes a second; the long run has more, from another seed. */
const RUNS = process.env.KEELSON_TEST_LONG === "1" ? 40 : 6;

test("by random arrivals each flow gets what a plain model of fairness gives it, within 5 %", () => {
  const flow = fc.record({
    load: fc.constantFrom(0.3, 0.6, 0.9, 1.5, 3),
    meanSeconds: fc.constantFrom(0.05, 0.1, 0.2),
  });
  fc.assert(
    fc.property(
      fc.array(flow, { minLength: 2, maxLength: 6 }).filter(isClear),
      fc.integer({ min: 4, max: 12 }),
      fc.integer(),
      (flows, seats, seed) => {
        const arrivals = arrivalsOf(flows, seats, seed);
        const fair = byModel(arrivals, flows.length, seats);
        const served = byQueueSet(arrivals, flows.length, seats);
        for (const [index, wanted] of fair.entries()) {
          if (wanted < SEAT_SECONDS_MIN) continue;
          const got = served[index] ?? 0;
          assert.ok(
            Math.abs(got - wanted) <= TOLERANCE * wanted,
            `flow ${index}: ${got.toFixed(1)} seat-seconds, ${wanted.toFixed(1)} by the model`,
          );
        }
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  );
});

/**
 * Whether each flow wants clearly less than its share, or clearly more. Whole requests begin or wait, so a
 * flow that comes back gains up to one of them; one that wants just its share comes back all the time.
 */
function isClear(flows: readonly RandomFlow[]): boolean {
  const loads = flows.map(({ load }) => load);
  const given = divide(loads.length, loads);
  const level = Math.min(...given.filter((share, index) => share < (loads[index] ?? 0)));
  if (level === Number.POSITIVE_INFINITY) {
    return loads.reduce((sum, load) => sum + load, 0) < 0.92 * loads.length;
  }
  return loads.every((load) => load < 0.92 * level || load > 1.3 * level);
}

/** Independent flows with exponentially distributed intervals and durations. */
function arrivalsOf(flows: readonly RandomFlow[], seats: number, seed: number): Arrival[] {
  const random = randomOf(seed);
  const exponential = (mean: number) => -Math.log(1 - random()) * mean;
  const arrivals: Arrival[] = [];
  for (const [flow, { load, meanSeconds }] of flows.entries()) {
    const meanGap = meanSeconds / ((load * seats) / flows.length);
    for (let at = exponential(meanGap); at < SECONDS; at += exponential(meanGap)) {
      arrivals.push({ flow, atSeconds: at, seconds: exponential(meanSeconds) });
    }
  }
  return arrivals.sort((a, b) => a.atSeconds - b.atSeconds);
}

/** Divides seats as a fluid between consecutive events. @returns the seat-seconds of each flow */
function byModel(arrivals: readonly Arrival[], flows: number, seats: number): number[] {
  const served = new Array<number>(flows).fill(0);
  /** The remaining work of the arrived requests, by flow, in order. */
  const left = served.map((): number[] => []);
  let next = 0;
  for (let now = 0; now < SECONDS; ) {
    const shares = divide(
      seats,
      left.map(({ length }) => length),
    );
    // The first requests of a flow get a seat each, and the last one the rest of its share.
    const rates = shares.map((share, flow) =>
      (left[flow] ?? []).slice(0, Math.ceil(share)).map((_, index) => Math.min(1, share - index)),
    );
    const arrival = arrivals[next]?.atSeconds ?? SECONDS;
    let seconds = Math.min(arrival, SECONDS) - now;
    for (const [flow, own] of rates.entries()) {
      for (const [index, rate] of own.entries()) {
        seconds = Math.min(seconds, (left[flow]?.[index] ?? 0) / rate);
      }
    }
    for (const [flow, own] of rates.entries()) {
      const requests = left[flow] ?? [];
      for (const [index, rate] of own.entries()) {
        served[flow] = (served[flow] ?? 0) + rate * seconds;
        requests[index] = (requests[index] ?? 0) - rate * seconds;
      }
      const isLeft = (rest: number) => rest > ROUNDING_SECONDS;
      const worked = requests.splice(0, own.length);
      requests.unshift(...worked.filter(isLeft));
    }
    now += seconds;
    for (; (arrivals[next]?.atSeconds ?? Infinity) <= now; next++) {
      const { flow, seconds: work } = arrivals[next] as Arrival;
      left[flow]?.push(work);
    }
  }
  return served;
}

/** Divides seats equally, but gives no flow more than it can use. */
function divide(seats: number, usable: readonly number[]): number[] {
  const given = usable.map(() => 0);
  let rest = seats;
  const inOrder = [...usable.entries()].sort(([, a], [, b]) => a - b);
  for (const [place, [flow, most]] of inOrder.entries()) {
    const share = Math.min(most, rest / (usable.length - place));
    given[flow] = share;
    rest -= share;
  }
  return given;
}

function byQueueSet(arrivals: readonly Arrival[], flows: number, seats: number): number[] {
  const set = new QueueSet(QUEUING, 0);
  set.setLimit(seats, 0);
  const served = new Array<number>(flows).fill(0);
  const waiting = served.map((): { waiter: Waiter; seconds: number }[] => []);
  const running: { seats: Seats; endSeconds: number }[] = [];
  const begin = (flow: number, held: Seats, seconds: number, now: number) => {
    served[flow] = (served[flow] ?? 0) + Math.min(seconds, SECONDS - now);
    running.push({ seats: held, endSeconds: now + seconds });
  };
  const startedOf = (now: number) => {
    for (const [flow, queue] of waiting.entries()) {
      for (let head = queue[0]; head?.waiter.outcome instanceof Seats; head = queue[0]) {
        queue.shift();
        begin(flow, head.waiter.outcome as Seats, head.seconds, now);
      }
    }
  };
  const runUntil = (until: number) => {
    for (;;) {
      running.sort((a, b) => a.endSeconds - b.endSeconds);
      const first = running[0];
      if (first === undefined || first.endSeconds > until) return;
      running.shift();
      first.seats.release(first.endSeconds * 1000);
      startedOf(first.endSeconds);
    }
  };
  for (const { flow, atSeconds, seconds } of arrivals) {
    runUntil(atSeconds);
    const entered = set.enter(`flow-${flow}`, 1, atSeconds * 1000, Number.POSITIVE_INFINITY);
    if (entered instanceof Waiter) waiting[flow]?.push({ waiter: entered, seconds });
    else if (entered instanceof Seats) begin(flow, entered, seconds, atSeconds);
    startedOf(atSeconds);
  }
  runUntil(SECONDS);
  return served;
}

/** Mulberry32: the same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
