import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { QueueSet, type Refusal, Seats, Waiter } from "./queue-set.js";

const QUEUING = { queues: 64, handSize: 6, queueLengthLimit: 50 };
const LATE = Number.POSITIVE_INFINITY;

test("a request gets its seats at once while there are some", () => {
  const set = openSet(2);

  const first = seated(set.enter("a", 1, 0, LATE));
  seated(set.enter("a", 1, 0, LATE));
  assert.equal(set.seatsInUse, 2);
  assert.ok(set.enter("a", 1, 0, LATE) instanceof Waiter);

  first.release(10);
  assert.deepEqual([set.seatsInUse, set.waiting], [2, 0]);
});

test("seats are given back once, however often that is asked for", () => {
  const set = openSet(2);
  const seats = seated(set.enter("a", 2, 0, LATE));

  seats.release(1);
  seats.release(2);

  assert.deepEqual([set.seatsInUse, set.working, set.isIdle], [0, 0, true]);
});

test("a request wider than the level runs, alone", () => {
  const set = openSet(4);

  const wide = seated(set.enter("a", 10, 0, LATE));
  const waiter = waiting(set.enter("b", 1, 0, LATE));
  wide.release(5);

  assert.ok(outcomeOf(waiter) instanceof Seats);
});

test("a wide request is not overtaken by narrow ones behind it for ever", () => {
  const set = openSet(4);
  const narrow = Array.from({ length: 4 }, () => seated(set.enter("a", 1, 0, LATE)));
  const wide = waiting(set.enter("b", 4, 1, LATE));
  const later = waiting(set.enter("a", 1, 2, LATE));

  for (const [index, seats] of narrow.entries()) seats.release(1000 + index);

  assert.ok(outcomeOf(wide) instanceof Seats);
  assert.equal(outcomeOf(later), undefined);
});

test("wide requests of a flow leave as many seats as they hold, which others find at once", () => {
  const set = openSet(60);
  const lists = Array.from({ length: 3 }, () => seated(set.enter("greedy", 10, 0, LATE)));
  const waiters = Array.from({ length: 20 }, () => waiting(set.enter("greedy", 10, 0, LATE)));
  assert.equal(set.seatsInUse, 30);

  const small = Array.from({ length: 10 }, () => seated(set.enter("polite", 1, 1, LATE)));
  const own = waiting(set.enter("greedy", 1, 1, LATE));
  assert.equal(outcomeOf(own), undefined, "a flow keeps its order");
  const other = seated(set.enter("other", 10, 1, LATE));
  waiting(set.enter("other", 10, 1, LATE));
  assert.equal(set.seatsInUse, 50);

  for (const seats of [...small, other, ...lists]) seats.release(2);
  assert.ok(waiters.slice(0, 2).every((waiter) => outcomeOf(waiter) instanceof Seats));
  assert.ok(set.seatsInUse <= 40);
  let nowMs = 3;
  while (set.waiting > 0) {
    const before = set.waiting;
    for (const waiter of [...waiters, own]) {
      const outcome = outcomeOf(waiter);
      if (outcome instanceof Seats) outcome.release(nowMs++);
    }
    assert.ok(set.waiting < before, "all of them come to their turn");
  }
});

test("flows that rest take no share from others, however many came before", () => {
  const set = openSet(4);
  for (let flow = 0; flow < 5_000; flow++) {
    seated(set.enter(`flow-${flow}`, 1, flow, LATE)).release(flow + 1);
  }
  assert.deepEqual([...set.describe()], []);

  const first = seated(set.enter("flow-1", 4, 6_000, LATE));
  waiting(set.enter("flow-2", 1, 6_000, LATE));
  const flows = [...set.describe()].map(({ flow }) => flow);

  assert.deepEqual(flows.sort(), ["flow-1", "flow-2"]);
  assert.equal(set.standingOf("flow-1").shareSeats, 2);
  // Both begin at the virtual time of their awakening, without a claim for the time of rest.
  assert.equal(set.virtualTimes().latestStart, set.virtualTimes().r);
  first.release(6_001);
});

test("a full queue refuses, and a level without queues refuses at once", () => {
  const full = new QueueSet({ queues: 1, handSize: 1, queueLengthLimit: 2 }, 0);
  full.setLimit(1, 0);
  seated(full.enter("a", 1, 0, LATE));
  waiting(full.enter("a", 1, 0, LATE));
  waiting(full.enter("a", 1, 0, LATE));
  assert.equal(full.enter("a", 1, 0, LATE), "queue-full");

  const none = new QueueSet(undefined, 0);
  none.setLimit(1, 0);
  seated(none.enter("a", 1, 0, LATE));
  assert.equal(none.enter("a", 1, 0, LATE), "concurrency-limit");
});

test("who waits beyond its deadline is refused, and who goes away leaves its place", async () => {
  const set = openSet(1);
  seated(set.enter("a", 1, 0, LATE));
  const impatient = waiting(set.enter("b", 1, 0, 100));
  const gone = waiting(set.enter("c", 1, 0, LATE));
  const controller = new AbortController();
  const wait = gone.wait(controller.signal);

  set.expire(99);
  assert.equal(set.waiting, 2);
  set.expire(100);
  assert.equal(outcomeOf(impatient), "time-out");
  controller.abort();
  assert.equal(await wait, "cancelled");
  assert.equal(set.waiting, 0);
});

test("a raised limit starts those who wait, a lowered one waits for those at work", () => {
  const set = openSet(1);
  const first = seated(set.enter("a", 1, 0, LATE));
  const second = waiting(set.enter("a", 1, 0, LATE));

  set.setLimit(2, 1);
  assert.ok(outcomeOf(second) instanceof Seats);

  set.setLimit(1, 2);
  const third = waiting(set.enter("a", 1, 2, LATE));
  first.release(3);
  assert.equal(outcomeOf(third), undefined);
  (outcomeOf(second) as Seats).release(4);
  assert.ok(outcomeOf(third) instanceof Seats);
});

test("a new number of queues drops nobody who waits", () => {
  const set = openSet(1);
  const first = seated(set.enter("a", 1, 0, LATE));
  const before = waiting(set.enter("a", 1, 0, LATE));

  set.configure({ queues: 8, handSize: 2, queueLengthLimit: 5 });
  const after = waiting(set.enter("a", 1, 1, LATE));
  first.release(10);
  (outcomeOf(before) as Seats).release(20);
  (outcomeOf(after) as Seats).release(30);

  assert.equal(set.isIdle, true);
});

test("a flow with ten times the requests gets no more than its share", () => {
  const served = simulate({
    seats: 4,
    seconds: 60,
    flows: [
      { name: "elephant", clients: 40, width: 1, seconds: 0.1 },
      { name: "mouse-1", clients: 4, width: 1, seconds: 0.1 },
      { name: "mouse-2", clients: 4, width: 1, seconds: 0.1 },
      { name: "mouse-3", clients: 4, width: 1, seconds: 0.1 },
    ],
  });

  assertShares(served, 0.05);
});

test("shares are of seat-seconds: wide and long requests count as what they are", () => {
  const served = simulate({
    seats: 8,
    seconds: 120,
    flows: [
      { name: "wide", clients: 8, width: 4, seconds: 0.1 },
      { name: "long", clients: 8, width: 1, seconds: 0.5 },
      { name: "short", clients: 20, width: 1, seconds: 0.02 },
    ],
  });

  assertShares(served, 0.08);
});

test("10,000 flows wait in bounded queues and all of them are served", () => {
  const set = new QueueSet({ queues: 128, handSize: 6, queueLengthLimit: 200 }, 0);
  set.setLimit(10, 0);
  const waiters: Waiter[] = [];
  const running: Seats[] = [];
  for (let flow = 0; flow < 10_000; flow++) {
    const entered = set.enter(`flow-${flow}`, 1, 0, LATE);
    if (entered instanceof Waiter) waiters.push(entered);
    else if (entered instanceof Seats) running.push(entered);
  }
  assert.equal(waiters.length + running.length, 10_000);

  let served = running.length;
  let nowMs = 0;
  let open = running;
  while (open.length > 0) {
    nowMs += 10;
    for (const seats of open) seats.release(nowMs);
    const started = new Set(waiters.filter((waiter) => outcomeOf(waiter) instanceof Seats));
    open = [...started].map((waiter) => outcomeOf(waiter) as Seats);
    served += open.length;
    waiters.splice(0, waiters.length, ...waiters.filter((waiter) => !started.has(waiter)));
  }

  assert.deepEqual([served, set.isIdle], [10_000, true]);
});

test("random arrivals: no seat too many, no reordering within a flow, nobody is left behind", () => {
  const arrival = fc.record({
    flow: fc.integer({ min: 0, max: 5 }),
    width: fc.integer({ min: 1, max: 5 }),
    gapMs: fc.integer({ min: 0, max: 20 }),
    takesMs: fc.integer({ min: 1, max: 60 }),
  });
  fc.assert(
    fc.property(
      fc.array(arrival, { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 1, max: 6 }),
      (arrivals, limit) => {
        const set = new QueueSet({ queues: 16, handSize: 4, queueLengthLimit: 1000 }, 0);
        set.setLimit(limit, 0);
        const pending: { flow: number; index: number; takesMs: number; waiter: Waiter }[] = [];
        const running: { seats: Seats; endMs: number }[] = [];
        const lastStarted = new Map<number, number>();
        let nowMs = 0;
        const note = (flow: number, index: number) => {
          assert.ok((lastStarted.get(flow) ?? -1) < index, "order within a flow");
          lastStarted.set(flow, index);
        };
        const collect = () => {
          for (const one of [...pending]) {
            const outcome = outcomeOf(one.waiter);
            if (!(outcome instanceof Seats)) continue;
            note(one.flow, one.index);
            running.push({ seats: outcome, endMs: nowMs + one.takesMs });
            pending.splice(pending.indexOf(one), 1);
          }
          const widths = running.map(({ seats }) => seats.width);
          const sum = widths.reduce((total, width) => total + width, 0);
          assert.ok(sum <= limit || widths.length === 1, "no seat too many");
          assert.equal(set.seatsInUse, sum);
        };
        const runUntil = (untilMs: number) => {
          for (;;) {
            const next = running.sort((a, b) => a.endMs - b.endMs)[0];
            if (next === undefined || next.endMs > untilMs) break;
            running.shift();
            nowMs = next.endMs;
            next.seats.release(nowMs);
            collect();
          }
          nowMs = untilMs;
        };
        for (const [index, { flow, width, gapMs, takesMs }] of arrivals.entries()) {
          runUntil(nowMs + gapMs);
          const entered = set.enter(`flow-${flow}`, width, nowMs, LATE);
          if (entered instanceof Waiter) pending.push({ flow, index, takesMs, waiter: entered });
          else {
            note(flow, index);
            running.push({ seats: seated(entered), endMs: nowMs + takesMs });
          }
          collect();
        }
        runUntil(1e9);
        assert.deepEqual([pending.length, running.length, set.isIdle], [0, 0, true]);
      },
    ),
    { numRuns: 150 },
  );
});

function openSet(limit: number): QueueSet {
  const set = new QueueSet(QUEUING, 0);
  set.setLimit(limit, 0);
  return set;
}

function seated(entered: Seats | Waiter | Refusal): Seats {
  assert.ok(entered instanceof Seats, String(entered));
  return entered;
}

function waiting(entered: Seats | Waiter | Refusal): Waiter {
  assert.ok(entered instanceof Waiter, String(entered));
  return entered;
}

function outcomeOf(waiter: Waiter): Seats | Refusal | undefined {
  return waiter.outcome;
}

interface SimulatedFlow {
  readonly name: string;
  /** Each sends its next request when the previous one has ended. */
  readonly clients: number;
  readonly width: number;
  readonly seconds: number;
}

/** Seat-seconds that each flow got. */
function simulate(plan: {
  readonly seats: number;
  readonly seconds: number;
  readonly flows: readonly SimulatedFlow[];
}): Map<string, number> {
  const set = new QueueSet(QUEUING, 0);
  set.setLimit(plan.seats, 0);
  const served = new Map(plan.flows.map(({ name }) => [name, 0]));
  const pending: { flow: SimulatedFlow; waiter: Waiter }[] = [];
  const running: { flow: SimulatedFlow; seats: Seats; endMs: number }[] = [];
  let nowMs = 0;
  const send = (flow: SimulatedFlow) => {
    const entered = set.enter(flow.name, flow.width, nowMs, LATE);
    if (entered instanceof Waiter) pending.push({ flow, waiter: entered });
    else if (entered instanceof Seats) begin(flow, entered);
  };
  const begin = (flow: SimulatedFlow, seats: Seats) => {
    running.push({ flow, seats, endMs: nowMs + flow.seconds * 1000 });
  };
  for (const flow of plan.flows) for (let i = 0; i < flow.clients; i++) send(flow);
  while (nowMs < plan.seconds * 1000) {
    running.sort((a, b) => a.endMs - b.endMs);
    const next = running.shift();
    assert.ok(next !== undefined);
    nowMs = next.endMs;
    served.set(
      next.flow.name,
      (served.get(next.flow.name) ?? 0) + next.flow.width * next.flow.seconds,
    );
    next.seats.release(nowMs);
    for (const one of [...pending]) {
      const { outcome } = one.waiter;
      if (!(outcome instanceof Seats)) continue;
      pending.splice(pending.indexOf(one), 1);
      begin(one.flow, outcome);
    }
    send(next.flow);
  }
  return served;
}

function assertShares(served: ReadonlyMap<string, number>, tolerance: number): void {
  const total = [...served.values()].reduce((sum, seconds) => sum + seconds, 0);
  const fair = total / served.size;
  for (const [name, seconds] of served) {
    const off = Math.abs(seconds - fair) / fair;
    assert.ok(
      off <= tolerance,
      `${name}: ${seconds.toFixed(1)} of ${fair.toFixed(1)} seat-seconds`,
    );
  }
}
