import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TURNS_WAITING_MAX, type TurnPlace, Turns } from "./turns.js";

/** Turns over a clock that only work moves. */
class Desk {
  nowMs = 0;
  readonly turns = new Turns(() => this.nowMs);
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

  void desk.work("a", 0.4);
  void desk.work("a", 0.4);
  void desk.work("b", 0.4);

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
  const greedy = Array.from({ length: 60 }, () => desk.work("greedy", 0.5));
  const polite = desk.work("polite", 0.1);
  await polite;

  assert.ok(desk.done.indexOf("polite") <= 4, `behind ${desk.done.indexOf("polite")} pieces`);
  await Promise.all(greedy);
  assert.deepEqual([desk.done.length, desk.turns.waiting], [61, 0]);
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
  const turns = new Turns();
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
