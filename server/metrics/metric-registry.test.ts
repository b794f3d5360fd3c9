/** Deprecated metrics: marked, then hidden, then deleted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CounterFamily, GaugeFamily, HistogramFamily } from "./fast-metrics.js";
import { MetricRegistry, prefersOpenMetrics, toOpenMetrics } from "./metric-registry.js";
import { Metrics } from "./metrics.js";

const LIFE = { old_objects: { stability: "stable", deprecated: { major: 1, minor: 34 } } } as const;

async function textIn(minor: number, showsHidden = false): Promise<string> {
  const release = { major: 1, minor };
  const registry = new MetricRegistry({ release, showsHidden, deprecated: LIFE });
  for (const name of ["old_objects", "new_objects"]) {
    new GaugeFamily(registry, { name, help: "Objects." }, (set) => set(3));
  }
  return await registry.metrics();
}

test("S2-DEP-10, S2-DEP-11: a deprecated metric is noted, hidden after its time, shown on demand for a release, then gone", async () => {
  for (const minor of [34, 36]) {
    const text = await textIn(minor);
    assert.match(text, /^# HELP old_objects \(Deprecated since 1\.34\.0\) Objects\.$/m);
    assert.match(text, /^old_objects 3$/m);
    assert.match(text, /^# HELP new_objects Objects\.$/m);
  }
  assert.doesNotMatch(await textIn(37), /old_objects/);
  assert.match(await textIn(37, true), /^old_objects 3$/m);
  assert.doesNotMatch(await textIn(38, true), /old_objects/);
  assert.match(await textIn(38), /^new_objects 3$/m);
});

test("S2-DEP-11: of this server's own metrics the older name of the object count is deprecated", async () => {
  const metrics = new Metrics();
  metrics.observeObjects(() => [{ group: "", resource: "pods", count: 2 }]);
  const text = await metrics.registry.metrics();
  assert.match(text, /^# HELP apiserver_storage_objects \(Deprecated since 1\.34\.0\) Number of/m);
  assert.match(text, /^apiserver_storage_objects\{resource="pods"\} 2$/m);
});

test("S2-TRACE-07: OpenMetrics has the same samples under the same names, and exemplars of latencies", async () => {
  const registry = new MetricRegistry();
  const family = { help: "Help.", labelNames: ["verb"] };
  new CounterFamily(registry, { ...family, name: "requests_total" }).add(2, "get");
  new CounterFamily(registry, { ...family, name: "requests_seen" }).add(3, "get");
  new GaugeFamily(registry, { ...family, name: "open" }, (set) => set(1, "get"));
  new CounterFamily(registry, { ...family, name: "open_total" }).add(4, "get");
  const buckets = [0.1, 1];
  const cell = new HistogramFamily(registry, { ...family, name: "seconds", buckets }).cell("get");
  cell.observe(0.05);
  cell.observe(0.5, "0af7651916cd43dd8448eb211c80319c");
  const samples = (text: string) =>
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => line.split(" # ")[0])
      .toSorted();

  const plain = await registry.metrics();
  const open = await toOpenMetrics(registry);
  assert.deepEqual(samples(open), samples(plain));
  assert.doesNotMatch(plain, /trace_id/);
  assert.match(
    open,
    /^seconds_bucket\{verb="get",le="1"\} 2 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} 0\.5 \d+\.\d+$/m,
  );
  assert.match(open, /^seconds_bucket\{verb="get",le="0.1"\} 1$/m);
  assert.match(open, /^# TYPE requests counter$/m);
  assert.match(open, /^# TYPE requests_seen unknown$/m);
  assert.match(open, /^# TYPE open gauge$/m, "its counter is not named like it");
  assert.ok(open.endsWith("\n# EOF\n"));
  assert.equal(await registry.metrics(), plain, "the one format leaves nothing in the other");
});

for (const [families, cells] of [
  [40, 60],
  [1, 2_400],
] as const) {
  test(`a scrape of ${families} families of ${cells} histograms lets the event loop turn, in both formats`, async () => {
    const registry = new MetricRegistry();
    const buckets = Array.from({ length: 20 }, (_, index) => index);
    for (let index = 0; index < families; index++) {
      const options = { name: `family_${index}`, help: "Help.", labelNames: ["resource"], buckets };
      const family = new HistogramFamily(registry, options);
      for (let resource = 0; resource < cells; resource++) family.cell(String(resource)).observe(1);
    }
    for (const render of [() => registry.metrics(), () => toOpenMetrics(registry)]) {
      let [turns, isOver] = [0, false];
      const count = () => {
        if (isOver) return;
        turns++;
        setImmediate(count);
      };
      setImmediate(count);
      const text = await render();
      isOver = true;
      assert.ok(turns >= 5, `${turns} turns`);
      const lines = text.split("\n");
      assert.equal(
        lines.filter((line) => /^family_\d+_count\{/.test(line)).length,
        families * cells,
      );
      assert.equal(
        lines.filter((line) => /^family_\d+_bucket\{/.test(line)).length,
        21 * families * cells,
      );
      assert.equal(lines.filter((line) => line.startsWith("# TYPE ")).length, families);
    }
  });
}

test("S2-TRACE-07: who prefers OpenMetrics gets it", () => {
  const prometheus =
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
  assert.equal(prefersOpenMetrics(prometheus), true);
  assert.equal(prefersOpenMetrics("application/openmetrics-text"), true);
  for (const accept of [
    undefined,
    "*/*",
    "text/plain",
    "application/openmetrics-text;q=0",
    "application/openmetrics-text;version=9.0",
    "application/openmetrics-text;q=0.2,text/plain;q=0.5",
  ]) {
    assert.equal(prefersOpenMetrics(accept), false, accept);
  }
});
