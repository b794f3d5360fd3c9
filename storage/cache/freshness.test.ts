/** Which requests share a revision read, with a clock and a store that the test moves. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { systemClock } from "../base/clock.js";
import { Lifecycle } from "../base/lifecycle.js";
import { silentLogger } from "../base/logger.js";
import { TURN_MS } from "../base/next-turn.js";
import { ManualClock } from "../base/testing/manual-clock.js";
import { FreshnessBarrier, readDeadline } from "./freshness.js";
import { RegistryView } from "./registry-view.js";
import { ScriptedStore } from "./testing/scripted-store.js";

// Deadlines do not keep a process alive, and nothing else does here.
const heartbeat = setInterval(() => {}, 1_000);
after(() => clearInterval(heartbeat));

async function openBarrier(deadlineMs?: number, time: { now(): number } = performance) {
  const store = new ScriptedStore();
  const clock = new ManualClock();
  const parts = { store, prefix: "/registry", logger: silentLogger, traits: () => ({}) };
  const view = new RegistryView({ ...parts, clock: systemClock });
  const lifecycle = new Lifecycle(silentLogger);
  await view.start(lifecycle, lifecycle.signal);
  store.answersAtOnce = false;
  const deadline = deadlineMs === undefined ? {} : { deadline: readDeadline(deadlineMs) };
  const freshness = new FreshnessBarrier({ store, view, clock, time, ...deadline });
  return {
    clock,
    freshness,
    counts: freshness.counts,
    holdBack() {
      freshness.isHoldingBack = () => true;
    },
    ask: (count: number) =>
      Promise.all(Array.from({ length: count }, () => freshness.fresh())).then(() => undefined),
    /** How many questions were sent, after enough turns for all that go without waiting. */
    async questions() {
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      return store.revisionReads.length;
    },
    answer: () => store.revisionReads.at(-1)?.resolve(view.revision),
    answerAll() {
      for (const read of store.revisionReads) read.resolve(view.revision);
    },
    [Symbol.asyncDispose]: () => lifecycle[Symbol.asyncDispose](),
  };
}

test("S1-RV-24: two halves that take turns become one when the first asks again a little later", async () => {
  await using barrier = await openBarrier();
  const { ask, questions, answer } = barrier;
  const first = ask(8);
  assert.equal(await questions(), 1);
  const second = ask(8);
  answer();
  await first;
  assert.equal(await questions(), 1, "the second half waits for the first");
  const again = ask(8);
  assert.equal(await questions(), 2);
  answer();
  await Promise.all([second, again]);
});

test("S1-RV-24: who asks again in the next turn keeps nobody waiting, even if a few do not", async () => {
  await using barrier = await openBarrier();
  const { ask, questions, answer } = barrier;
  const first = ask(16);
  assert.equal(await questions(), 1);
  answer();
  await first;
  const again = ask(13);
  assert.equal(await questions(), 2);
  answer();
  await again;
});

test("S1-RV-24: those who do not ask again are waited for in vain for two milliseconds, and ever more seldom", async () => {
  await using barrier = await openBarrier();
  const { clock, ask, questions, answer } = barrier;
  let waiting = ask(8);
  assert.equal(await questions(), 1);
  const waited: number[] = [];
  for (let round = 2; round <= 12; round++) {
    const others = ask(8);
    answer();
    await waiting;
    waiting = others;
    if ((await questions()) < round) {
      waited.push(round);
      clock.advance(2);
      assert.equal(await questions(), round);
    }
  }
  assert.deepEqual(waited, [2, 4, 7, 12], "one, two, four questions go out between them");
  answer();
  await waiting;
});

test("S1-RV-24: while backlogs are held back nobody is waited for", async () => {
  await using barrier = await openBarrier();
  const { ask, questions, answer } = barrier;
  barrier.holdBack();
  const first = ask(8);
  assert.equal(await questions(), 1);
  const second = ask(1);
  answer();
  await first;
  assert.equal(
    await questions(),
    2,
    "the second question did not wait for the eight to come again",
  );
  answer();
  await second;
});

test("S1-RV-24: a question that is not answered is overtaken after two milliseconds, the more are out the later", async () => {
  await using barrier = await openBarrier();
  const { clock, counts, ask, questions, answerAll } = barrier;
  const waiting = [ask(1)];
  assert.equal(await questions(), 1);
  for (const [before, patienceMs] of [2, 8, 32, 128, 250, 250].entries()) {
    waiting.push(ask(1));
    clock.advance(patienceMs - 1);
    assert.equal(await questions(), before + 1);
    clock.advance(1);
    assert.equal(await questions(), before + 2);
  }
  assert.equal(counts.overtakes, 6);
  answerAll();
  await Promise.all(waiting);
});

test("S1-RV-24: who comes when a question is late already shares the next one with all of the same turn", async () => {
  await using barrier = await openBarrier();
  const { clock, counts, ask, questions, answerAll } = barrier;
  const first = ask(1);
  assert.equal(await questions(), 1);
  clock.advance(2);
  const others = [ask(1), ask(1)];
  assert.equal(await questions(), 2);
  answerAll();
  assert.equal(await questions(), 2);
  assert.equal(counts.overtakes, 1);
  await Promise.all([first, ...others]);
});

test("S1-RV-24: a question is not overtaken when the thread has only not read its answer yet", async () => {
  await using barrier = await openBarrier();
  const { clock, counts, ask, questions, answer } = barrier;
  const first = ask(1);
  assert.equal(await questions(), 1);
  const second = ask(1);
  clock.advance(2);
  answer();
  await first;
  assert.equal(await questions(), 2);
  assert.equal(counts.overtakes, 0);
  answer();
  await second;
});

test("S1-RV-24: who waits behind a question that is not answered has no deadline of its own after it", async () => {
  await using barrier = await openBarrier(30);
  const { ask, questions } = barrier;
  const first = assert.rejects(ask(1), { code: "Unavailable" });
  assert.equal(await questions(), 1);
  await assert.rejects(ask(1), { code: "Unavailable" });
  await first;
  assert.equal(await questions(), 1, "its time was over before it could be asked for");
});

/** So many go on at once. */
const TOGETHER = 16;

/** In which order requests go on that are answered together and take a millisecond each, and how many in each turn. */
async function goneOn(connections: readonly object[]) {
  let ms = 0;
  await using barrier = await openBarrier(undefined, { now: () => ms });
  const { freshness, questions, answer } = barrier;
  const gone: number[] = [];
  const all = connections.map(async (connection, at) => {
    await freshness.fresh();
    await freshness.turnOf(connection);
    ms++;
    gone.push(at);
  });
  assert.equal(await questions(), 1);
  answer();
  const inTurns: number[] = [];
  while (gone.length < connections.length) {
    const before = gone.length;
    await new Promise((resolve) => setImmediate(resolve));
    inTurns.push(gone.length - before);
  }
  await Promise.all(all);
  return { gone, inTurns };
}

test("39.3: hundreds that were answered together go on in turns, of each connection one after the other", async () => {
  const [a, b, x] = [{}, {}, {}];
  const { gone, inTurns } = await goneOn([...Array(100).fill(a), ...Array(100).fill(b), x]);
  assert.ok(Math.max(...inTurns.slice(1)) <= TURN_MS, inTurns.join(" "));
  assert.equal(inTurns[0], TOGETHER);
  assert.equal(gone.indexOf(200), TOGETHER + 2);
});

test("39.3: a few that were answered together go on at once", async () => {
  const { gone, inTurns } = await goneOn(Array(TOGETHER).fill({}));
  assert.deepEqual(inTurns, [TOGETHER]);
  assert.deepEqual(gone, [...Array(TOGETHER).keys()]);
});
