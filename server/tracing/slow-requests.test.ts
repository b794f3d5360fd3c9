import assert from "node:assert/strict";
import { test } from "node:test";
import { type LogFields, silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import type { RecordedSpan } from "./request-trace.js";
import { describeSteps, SlowRequests } from "./slow-requests.js";

test("S2-TRACE-08: of very many slow requests ten a second are logged, and the next line counts the others", async () => {
  const lines: LogFields[] = [];
  const clock = new ManualClock();
  const logger = { ...silentLogger, warn: (fields: LogFields) => void lines.push(fields) };
  const slow = new SlowRequests({ thresholdMs: 100, clock, logger });
  for (let i = 0; i < 25; i++) slow.log(150, { URI: `/${i}` });
  await clock.advance(1_000);
  slow.log(150, { URI: "/last" });
  assert.equal(lines.length, 11);
  assert.deepEqual(lines.at(-1), { latency: "150.0ms", URI: "/last", omittedBefore: 15 });
});

test("S2-TRACE-08: steps say when they began and how long they took, the very short ones nothing", () => {
  const nowMs = performance.now();
  const step = (name: string, startMs: number, endMs?: number) =>
    ({ name, startMs: nowMs + startMs, endMs: endMs && nowMs + endMs }) as RecordedSpan;
  const steps = [step("freshness", 1, 1.5), step("commit", 2, 205.4), step("write", -50)];
  const shown = describeSteps(steps, nowMs);
  assert.equal(shown[0], "commit: took 203.4ms, from 2.0ms");
  assert.match(shown[1] ?? "", /^write: not over, from -50.0ms$/);
  assert.equal(shown.length, 2);
});
