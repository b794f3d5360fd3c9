import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { HELD_MS_MAX, Headroom } from "./headroom.js";
import type { TurnPlace } from "./turn-place.js";
import {
  BACKLOG,
  ENOUGH,
  LONG_PIECE_MS,
  RECENT_MS,
  SLICE_MS,
  TURNS_BETWEEN,
  TURNS_WAITING_MAX,
  Turns,
} from "./turns.js";

/** Turns over a clock that only work moves. */
class Desk {
  nowMs = 0;
  readonly turns = new Turns(new Headroom(1), () => this.nowMs);
  readonly done: string[] = [];

  /** Does one piece of work, after waiting for its turn if necessary. */
  async work(flow: string, ms = 1, level = "limited"): Promise<void> {
    if (!this.turns.isFree(this.nowMs)) await this.turns.wait({ level, flow });
    this.nowMs += ms;
    this.done.push(flow);
  }
}

test("work is done at once while the loop has not worked for a slice", () => {
  const desk = new Desk();

  void desk.work("a", 0.4 * SLICE_MS);
  void desk.work("a", 0.4 * SLICE_MS);
  void desk.work("b", 0.4 * SLICE_MS);

  assert.deepEqual([desk.done, desk.turns.waiting], [["a", "a", "b"], 0]);
});

test("who waits is served by level and by flow in turn, and each flow in its order", async () => {
  const desk = new Desk();
  await desk.work("begins");
  const all = ["a1", "a2", "a3", "a4"].map((name) =>
    desk.turns.wait({ level: "low", flow: "a" }).then(() => desk.done.push(name)),
  );
  all.push(
    desk.turns.wait({ level: "low", flow: "b" }).then(() => desk.done.push("b1")),
    desk.turns.wait({ level: "high", flow: "c" }).then(() => desk.done.push("c1")),
    desk.turns.wait({ level: "high", flow: "c" }).then(() => desk.done.push("c2")),
  );
  await Promise.all(all);

  assert.deepEqual(desk.done, ["begins", "a1", "c1", "b1", "c2", "a2", "a3", "a4"]);
  assert.equal(desk.turns.waiting, 0);
});

test("however much one flow has to do, another one waits for a slice of it at most", async () => {
  const desk = new Desk();
  const greedy = Array.from({ length: 60 }, () => desk.work("greedy", 0.5 * SLICE_MS));
  const polite = desk.work("polite", 0.1 * SLICE_MS);
  await polite;

  assert.ok(desk.done.indexOf("polite") <= 4, `behind ${desk.done.indexOf("polite")} pieces`);
  await Promise.all(greedy);
  assert.deepEqual([desk.done.length, desk.turns.waiting], [61, 0]);
});

test("39: a flow that had a long piece is behind all that wait, and not for ever", async () => {
  const desk = new Desk();
  await desk.work("begins");
  const small = async (steps: number): Promise<void> => {
    for (let step = 0; step < steps; step++) await desk.work("small", 0.5 * SLICE_MS);
  };
  const large = async (name: string): Promise<void> => {
    for (let step = 0; step < 3; step++) {
      await (desk.turns.goOn({ level: "limited", flow: "large" }) ?? nextTurn());
      desk.nowMs += 4 * LONG_PIECE_MS;
      desk.done.push(name);
    }
  };
  await Promise.all([large("A"), large("B"), small(3)]);

  assert.equal(desk.done.length, 10);
  const first = desk.done.findIndex((name) => name === "A" || name === "B");
  const then = desk.done.slice(first + 1, first + 4);
  assert.deepEqual(then, ["small", "small", "small"], desk.done.join(" "));

  // Others that always wait hold it back for RECENT_MS.
  const busy = new Desk();
  let isOver = false;
  const crowd = Array.from({ length: 3 }, async (_, at) => {
    while (!isOver) await busy.work(`small ${at}`, 2 * SLICE_MS);
  });
  for (let step = 0; step < 3; step++) {
    const sinceMs = busy.nowMs;
    await busy.work("large", 2 * LONG_PIECE_MS);
    assert.ok(busy.nowMs - sinceMs <= RECENT_MS + 3 * LONG_PIECE_MS, `${busy.nowMs - sinceMs}`);
  }
  isOver = true;
  await Promise.all(crowd);
});

test("39.3: between two long pieces the loop has turns in which none begins, though nobody else waits", async () => {
  const desk = new Desk();
  const large = async (): Promise<void> => {
    await desk.turns.goOn({ level: "limited", flow: "large" });
    desk.nowMs += 2 * LONG_PIECE_MS;
    desk.done.push("large");
  };
  const turnsOf = async (piece: Promise<void>): Promise<number> => {
    let isOver = false;
    let turns = 0;
    void piece.then(() => {
      isOver = true;
    });
    for (; !isOver; turns++) await nextTurn();
    return turns;
  };
  await large();
  const turns = [await turnsOf(large()), await turnsOf(large()), await turnsOf(large())];
  assert.ok(Math.min(...turns) >= TURNS_BETWEEN, turns.join(" "));

  // A small request has its turns there, also one that did not wait when they began.
  desk.done.length = 0;
  const next = large();
  for (let step = 0; step < TURNS_BETWEEN - 1; step++) {
    await nextTurn();
    void desk.work("small", SLICE_MS / 4);
  }
  await next;
  assert.deepEqual(desk.done, ["small", "small", "small", "large"]);
});

test("what ends a request comes before what begins one of the same flow, and not before other flows", async () => {
  const desk = new Desk();
  await desk.work("begins");
  const [a, b] = ["a", "b"].map((flow) => ({ level: "low", flow })) as [TurnPlace, TurnPlace];
  const all = [
    desk.turns.wait(a).then(() => desk.done.push("a1")),
    desk.turns.wait(a).then(() => desk.done.push("a2")),
    desk.turns.wait(b).then(() => desk.done.push("b1")),
    desk.turns.waitToEnd(a).then(() => desk.done.push("a ends")),
    desk.turns.waitToEnd(a).then(() => desk.done.push("a ends too")),
  ];
  await Promise.all(all);

  assert.deepEqual(desk.done, ["begins", "a ends", "b1", "a ends too", "a1", "a2"]);
});

test("between two slices the loop looks at its sockets", async () => {
  const desk = new Desk();
  const all = Array.from({ length: 10 }, () => desk.work("a", 1));
  const seen: number[] = [];
  while (desk.turns.waiting > 0) {
    await nextTurn();
    seen.push(desk.done.length);
  }
  await Promise.all(all);

  assert.ok(
    seen.every((count, index) => count - (seen[index - 1] ?? 1) <= 1),
    String(seen),
  );
});

test("a flow may have as many that wait as it leaves places", () => {
  const turns = new Turns(new Headroom(0.65));
  turns.isFree(0);
  const [greedy, polite] = ["greedy", "polite"].map((flow) => ({ level: "limited", flow })) as [
    { level: string; flow: string },
    { level: string; flow: string },
  ];
  let waits = 0;
  while (turns.hasRoomFor(greedy)) {
    void turns.wait(greedy);
    waits++;
  }

  assert.equal(waits, TURNS_WAITING_MAX / 2);
  assert.ok(turns.hasRoomFor(polite));
});

/** Turns on a thread that never rests, and a flow that has a backlog. */
function busyThread() {
  const clock = { nowMs: 0, idleMs: 0 };
  const utilization = () => ({ active: clock.nowMs - clock.idleMs, idle: clock.idleMs });
  const turns = new Turns(new Headroom(0.5, utilization), () => clock.nowMs);
  const served: string[] = [];
  const work = async (flow: string, ms = 1) => {
    await turns.wait({ level: "limited", flow });
    clock.nowMs += ms;
    served.push(flow);
  };
  const backlog = (pieces: number) => Array.from({ length: pieces }, () => work("greedy"));
  return { clock, turns, served, work, backlog };
}

test("a backlog is served without a break while no other flow is", async () => {
  const { turns, served, backlog } = busyThread();
  await Promise.all(backlog(40));

  assert.equal(served.length, 40);
  assert.ok(!turns.isHoldingBack(0));
});

test("beside another flow a backlog waits until the thread has been idle", async () => {
  const { clock, turns, served, work, backlog } = busyThread();
  const all = backlog(40);
  await work("polite", 20);
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  const before = served.length;
  assert.ok(before <= 3, String(before));
  assert.equal(turns.waiting, 40 - before + 1);
  assert.ok(turns.isHoldingBack(clock.nowMs));
  assert.ok(!turns.isHoldingBack(clock.nowMs + RECENT_MS));

  await work("polite", 0.1);
  assert.equal(served.at(-1), "polite");

  clock.nowMs += 200;
  clock.idleMs += 200;
  await Promise.all(all.slice(0, 5));
  clock.nowMs += RECENT_MS;
  await Promise.all(all);
});

test("where the thread never rests, a backlog still gets on", async () => {
  const { clock, served, work, backlog } = busyThread();
  const all = backlog(BACKLOG * 2);
  let isDone = false;
  void Promise.all(all).then(() => {
    isDone = true;
  });
  let rounds = 0;
  for (; !isDone; rounds++) await work("polite", 1);

  assert.ok(rounds <= (HELD_MS_MAX + 4) * all.length, String(rounds));
  assert.ok(rounds >= (HELD_MS_MAX / 4) * all.length, String(rounds));
  assert.ok(served.includes("polite") && clock.idleMs === 0);
});

/** Pieces of a control plane, from one user or from so many that none has a backlog. */
const planePlace = (name: string, user = "one"): TurnPlace => ({
  ...{ level: `control plane ${name}`, flow: `control plane ${name} ${user}`, isAsOne: true },
});

for (const users of [1, 200]) {
  test(`44: who asks one control plane waits for a piece of another one's long queue, of ${users} users`, async () => {
    const { clock, turns } = busyThread();
    const served: string[] = [];
    const work = async (place: TurnPlace, name: string, ms: number) => {
      await turns.wait(place);
      clock.nowMs += ms;
      served.push(name);
    };
    const queue = Array.from({ length: 400 }, (_, at) =>
      work(planePlace("greedy", `user ${at % users}`), "greedy", 1),
    );
    // Fifty that ask once each, again and again, on a thread that never rests.
    let behindMax = 0;
    for (let round = 0; round < 4; round++) {
      const before = served.length;
      const others = Array.from({ length: 50 }, (_, at) =>
        work(planePlace(`polite ${at}`), "polite", 0.1),
      );
      await Promise.all(others);
      const since = served.slice(before, served.lastIndexOf("polite"));
      behindMax = Math.max(behindMax, since.filter((name) => name === "greedy").length);
    }
    assert.ok(behindMax <= 2, `behind ${behindMax} pieces of the queue`);

    // One at a time meets a thread that rests, and not the next piece of the queue.
    const before = served.length;
    for (let step = 0; step < 40; step++) await work(planePlace("polite 0"), "polite", 0.1);
    const since = served.slice(before).filter((name) => name === "greedy").length;
    assert.ok(since <= 3, `${since} pieces beside 40 small requests, one after the other`);

    // And the queue gets on when nobody else asks.
    clock.nowMs += RECENT_MS;
    await Promise.all(queue);
  });
}

test("44: one that used little is served in its turn beside a greedy one, however much of it waits after a pause", async () => {
  const { clock, turns } = busyThread();
  const served: string[] = [];
  const work = async (place: TurnPlace, name: string, ms: number) => {
    await turns.wait(place);
    clock.nowMs += ms;
    // What comes behind it is no part of it.
    await nextTurn();
    served.push(name);
  };
  const polite = Array.from({ length: 50 }, (_, at) => planePlace(`polite ${at}`));
  const queue = Array.from({ length: 400 }, () => work(planePlace("greedy"), "greedy", 1));
  await Promise.all(queue.slice(0, 40));

  for (let round = 0; round < 5; round++) {
    // A pause of the thread: of each of them more waits than a backlog has.
    const before = served.length;
    const sinceMs = clock.nowMs;
    const burst = polite.flatMap((place) =>
      Array.from({ length: BACKLOG + 2 }, () => work(place, "polite", 0.02)),
    );
    await Promise.all(burst);
    const behind = served.slice(before).filter((name) => name === "greedy").length;
    assert.ok(behind <= 2, `behind ${behind} pieces of the queue`);
    assert.ok(clock.nowMs - sinceMs <= burst.length * 0.02 + behind + 1, `${clock.nowMs}`);
    clock.nowMs += 20;
  }
  clock.nowMs += RECENT_MS;
  await Promise.all(queue);
});

test("44: where the others keep the thread busy, a greedy one gets its share of it and no more", async () => {
  const { clock, turns } = busyThread();
  let greedyMs = 0;
  const work = async (place: TurnPlace, ms: number) => {
    await turns.wait(place);
    clock.nowMs += ms;
    await nextTurn();
  };
  const queue = Array.from({ length: 200 }, () =>
    work(planePlace("greedy"), 1).then(() => {
      greedyMs++;
    }),
  );
  const polite = Array.from({ length: 50 }, (_, at) => planePlace(`polite ${at}`));
  while (clock.nowMs < 1_500) for (const place of polite) await work(place, 0.2);
  const share = greedyMs / clock.nowMs;

  clock.nowMs += 2 * RECENT_MS;
  await Promise.all(queue);

  // Its share is two equal parts, and the longest piece of each window is not counted (thread-share.ts).
  assert.ok(share > 1 / 51 && share < 3 / 51, `${share} of the thread`);
});

test("44: a long piece of one user puts their control plane behind others, and the user behind its others", async () => {
  const desk = new Desk();
  const done: string[] = [];
  const work = async (place: TurnPlace, name: string, ms: number) => {
    await desk.turns.wait(place);
    desk.nowMs += ms;
    await nextTurn();
    done.push(name);
  };
  await work(planePlace("a", "large"), "large", 2 * LONG_PIECE_MS);
  await Promise.all([
    work(planePlace("a", "large"), "large", 0),
    work(planePlace("a", "small"), "small", 0),
    work(planePlace("b"), "other", 0),
    work(planePlace("b"), "other", 0),
  ]);

  assert.deepEqual(done, ["large", "other", "other", "small", "large"]);
});

/** A connection whose client asks again whenever it is read, if it has something to ask. */
class Connection {
  isPaused = false;
  readonly #ask: () => void;

  constructor(ask: () => void) {
    this.#ask = ask;
  }
  pause() {
    this.isPaused = true;
  }
  resume() {
    this.isPaused = false;
    this.#ask();
  }
}

/** Connections of a flow, each of which asks `requests` times, one after the other. */
function clientsOf(turns: Turns, connections: number, requests: number) {
  const place = { level: "limited", flow: "greedy" };
  let answered = 0;
  let waitingMax = 0;
  const all = Array.from({ length: connections }, () => {
    let left = requests;
    const connection = new Connection(() => {
      if (left-- > 0) void request();
    });
    const request = async () => {
      assert.ok(turns.isOnlyFlowOf(connection, place));
      await turns.wait(place);
      answered++;
      turns.readLater(connection, place);
      if (!connection.isPaused) connection.resume();
    };
    connection.resume();
    return connection;
  });
  return {
    all,
    answered: () => answered,
    async finish() {
      while (answered < connections * requests) {
        await nextTurn();
        if (answered > connections) waitingMax = Math.max(waitingMax, turns.waiting);
      }
      return waitingMax;
    },
  };
}

test("of a flow with a backlog few requests are read, and all of them are answered", async () => {
  const turns = new Turns(new Headroom(1));
  const clients = clientsOf(turns, 200, 10);
  const waitingMax = await clients.finish();

  assert.ok(waitingMax <= 4 * ENOUGH, String(waitingMax));
  while (turns.pausedConnections > 0) await nextTurn();
  assert.deepEqual(
    clients.all.filter(({ isPaused }) => isPaused),
    [],
  );
});

test("connections that have nothing more to ask are read again when nobody of their flow waits", async () => {
  const turns = new Turns(new Headroom(1));
  const clients = clientsOf(turns, 100, 1);
  await clients.finish();
  assert.ok(turns.pausedConnections > 0);
  while (turns.pausedConnections > 0) await nextTurn();
});

test("a connection that several flows use is never paused", () => {
  const turns = new Turns(new Headroom(1));
  const connection = new Connection(() => {});
  const [a, b] = ["a", "b"].map((flow) => ({ level: "limited", flow })) as [TurnPlace, TurnPlace];

  assert.ok(turns.isOnlyFlowOf(connection, a));
  assert.ok(turns.isOnlyFlowOf(connection, a));
  assert.ok(!turns.isOnlyFlowOf(connection, b));
  assert.ok(!turns.isOnlyFlowOf(connection, a));
});

test("without a backlog no connection is paused", () => {
  const turns = new Turns(new Headroom(1));
  const connection = new Connection(() => {});
  const place = { level: "limited", flow: "a" };
  for (let waiting = 0; waiting < ENOUGH - 1; waiting++) void turns.wait(place);
  turns.readLater(connection, place);
  assert.ok(!connection.isPaused);

  void turns.wait(place);
  turns.readLater(connection, place);
  assert.ok(connection.isPaused);
});
