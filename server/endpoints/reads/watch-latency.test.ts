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
  const appendedAtMs = performance.now() - 1_000;
  latency.start(eventOf(appendedAtMs), -10_000)?.();
  const since = (performance.now() - appendedAtMs) / 1_000;
  const [view = 0] = seen.view ?? [];
  const [socket = 0] = seen.socket ?? [];
  const [total = 0] = seen.total ?? [];
  assert.ok(view >= 1 && view <= since, `${view} of ${since}`);
  assert.ok(Math.abs(total - (view + socket + 0.5)) < 1e-6);
});

test("what a watch is sent from before it was opened is not counted", () => {
  const { latency } = open();
  assert.equal(latency.start(eventOf(5), 6), undefined);
});

test("a few hundred deliveries a second are measured, however many there are", () => {
  const { seen, latency } = open();
  const event = eventOf(performance.now());
  const before = performance.now();
  for (let count = 0; count < 1_000_000; count++) latency.start(event, 0)?.();
  // One each 5 ms, those at first, before it is known how many there are, and one in 65,536.
  const most = 40 + (performance.now() - before) / 5;
  const measured = seen.total?.length ?? 0;
  assert.ok(measured > 2 && measured < most, `${measured} of a million, at most ${most}`);
});
