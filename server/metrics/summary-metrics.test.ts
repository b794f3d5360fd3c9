/** Summaries: quantiles of the last hours, beside the sum and the number of all values. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { SummaryFamily } from "./summary-metrics.js";

const HOUR_MS = 3_600_000;

function open() {
  const clock = { ms: 7 * HOUR_MS };
  const registry = new Registry();
  const family = new SummaryFamily(registry, {
    name: "took_seconds",
    help: "How long it took.",
    labelNames: ["type"],
    maxAgeMs: 5 * HOUR_MS,
    nowMs: () => clock.ms,
  });
  return { clock, registry, cell: family.cell("admit") };
}

test("quantiles are within a twentieth of the values, whatever these are", () => {
  for (const scale of [1e-5, 1e-3, 1]) {
    const { cell } = open();
    for (let value = 1; value <= 1000; value++) cell.observe((value / 1000) * scale);
    const wanted = [0, 0.5, 0.9, 0.99, 1];
    for (const [index, found] of cell.quantiles(wanted).entries()) {
      const exact = Math.max(wanted[index] ?? 0, 0.001) * scale;
      assert.ok(exact < 1e-6 || Math.abs(found / exact - 1) < 0.051, `${found}, not ${exact}`);
    }
  }
});

test("values count for five hours at most, and their sum and number for ever", async () => {
  const { clock, registry, cell } = open();
  cell.observe(1);
  clock.ms += 4 * HOUR_MS;
  cell.observe(0.001);
  const [before] = cell.quantiles([1]);
  assert.ok(before !== undefined && Math.abs(before - 1) < 0.051);
  clock.ms += HOUR_MS;
  const [after] = cell.quantiles([1]);
  assert.ok(after !== undefined && Math.abs(after / 0.001 - 1) < 0.051);
  clock.ms += 100 * HOUR_MS;
  assert.deepEqual(cell.quantiles([0.5]), [Number.NaN]);
  assert.equal(
    await registry.metrics(),
    `# HELP took_seconds How long it took.
# TYPE took_seconds summary
took_seconds{type="admit",quantile="0.5"} Nan
took_seconds{type="admit",quantile="0.9"} Nan
took_seconds{type="admit",quantile="0.99"} Nan
took_seconds_sum{type="admit"} 1.001
took_seconds_count{type="admit"} 2
`,
  );
});

test("what takes no time, or an hour, is counted at the ends", () => {
  const { cell } = open();
  for (const value of [0, 1e-9, 3_600]) cell.observe(value);
  const [first = 0, last = 0] = cell.quantiles([0, 1]);
  assert.ok(first <= 1e-6 && last > 100, `${first}, ${last}`);
  assert.equal(cell.count, 3);
});
