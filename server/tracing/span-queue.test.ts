import assert from "node:assert/strict";
import { test } from "node:test";
import type { SpanExporter } from "@opentelemetry/sdk-trace";
import { systemClock } from "../../storage/base/clock.js";
import { type SpanOutcome, SpanQueue } from "./span-queue.js";

type Export = SpanExporter["export"];
type EndedSpan = Parameters<Export>[0][number];

interface Options {
  readonly spansMax?: number;
  readonly closeMs?: number;
  readonly exportMs?: number;
}

function openQueue(export_: Export, options: Options = {}) {
  const counts: Record<SpanOutcome, number> = { exported: 0, full: 0, failed: 0, shutdown: 0 };
  const failures: unknown[] = [];
  const queue = new SpanQueue({
    exporter: { export: export_, shutdown: async () => {} },
    clock: systemClock,
    onOutcome(outcome, spans) {
      counts[outcome] += spans;
    },
    onFailure: (error) => failures.push(error),
    batchMax: 10,
    delayMs: 1,
    exportMs: 20,
    ...options,
  });
  const end = (spans: number) => {
    for (let i = 0; i < spans; i++) queue.onEnd({} as EndedSpan);
  };
  return { queue, counts, failures, end };
}

/** For an exporter that answers, on a machine that is busy. */
const LONG: Options = { exportMs: 60_000, closeMs: 60_000 };

test("S2-TRACE-05: spans leave in batches, one after another, and each is counted once", async () => {
  const batches: number[] = [];
  let open = 0;
  const { queue, counts, end } = openQueue((spans, done) => {
    open++;
    assert.equal(open, 1);
    batches.push(spans.length);
    setImmediate(() => {
      open--;
      done({ code: 0 });
    });
  }, LONG);
  end(25);
  await queue.shutdown();
  end(1);
  assert.deepEqual(batches, [10, 10, 5]);
  assert.deepEqual(counts, { exported: 25, full: 0, failed: 0, shutdown: 1 });
});

test("S2-TRACE-05: what finds no room is dropped, and the end does not wait for a silent exporter", async () => {
  let answer: Parameters<Export>[1] = () => {};
  const { queue, counts, end } = openQueue(
    (_spans, done) => {
      answer = done;
    },
    { ...LONG, spansMax: 15, closeMs: 10 },
  );
  end(20);
  assert.deepEqual([queue.waiting, counts.full], [15, 5]);
  await queue.shutdown();
  assert.deepEqual(counts, { exported: 0, full: 5, failed: 0, shutdown: 5 });
  assert.equal(queue.waiting, 0);
  answer({ code: 1 });
  assert.equal(counts.failed, 10);
});

test("S2-TRACE-05: a silent exporter loses batches after a while", async () => {
  const { queue, counts, end, failures } = openQueue(() => {});
  end(15);
  await queue.forceFlush();
  assert.deepEqual(counts, { exported: 0, full: 0, failed: 15, shutdown: 0 });
  assert.equal(failures.length, 1);
});

test("S2-TRACE-05: failures are counted, and told of once until the next success", async () => {
  let isBroken = true;
  const { queue, counts, end, failures } = openQueue((_spans, done) => {
    if (isBroken) throw new Error("broken");
    done({ code: 0 });
  });
  end(20);
  await queue.forceFlush();
  isBroken = false;
  end(1);
  await queue.forceFlush();
  isBroken = true;
  end(1);
  await queue.forceFlush();
  assert.deepEqual(counts, { exported: 1, full: 0, failed: 21, shutdown: 0 });
  assert.equal(failures.length, 2);
});
