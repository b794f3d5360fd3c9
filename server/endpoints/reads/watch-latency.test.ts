import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectEvent } from "../../../storage/cache/event-ring.js";
import { WatchLatency } from "./watch-latency.js";

function open() {
  const seen: Record<string, number[]> = { view: [], socket: [], total: [] };
  const cell = (stage: string) => ({ observe: (seconds: number) => seen[stage]?.push(seconds) });
  const lag = { commitOf: (_: unknown, arrivedAtMs: number) => arrivedAtMs - 500 };
  const stages = { view: cell("view"), socket: cell("socket"), total: cell("total") };
  return { seen, latency: new WatchLatency(stages, lag) };
}

function eventOf(appendedAtMs: number): ObjectEvent {
  return { revision: 7, appendedAtMs } as unknown as ObjectEvent;
}

test("the stages of a delivery add up to what it took since the commit", () => {
  const { seen, latency } = open();
  latency.start(eventOf(performance.now() - 1_000), -10_000)?.();
  const [view = 0] = seen.view ?? [];
  const [socket = 0] = seen.socket ?? [];
  const [total = 0] = seen.total ?? [];
  assert.ok(view >= 1 && view < 1.5, `${view}`);
  assert.ok(Math.abs(total - (view + socket + 0.5)) < 1e-6);
});

test("what a watch is sent from before it was opened is not counted", () => {
  const { latency } = open();
  assert.equal(latency.start(eventOf(5), 6), undefined);
});

test("a few hundred deliveries a second are measured, however many there are", () => {
  const { seen, latency } = open();
  const event = eventOf(performance.now());
  const until = performance.now() + 50;
  let count = 0;
  for (; performance.now() < until; count++) latency.start(event, 0)?.();
  const measured = seen.total?.length ?? 0;
  assert.ok(count > 10_000 && measured > 2 && measured < 200, `${measured} of ${count}`);
});
