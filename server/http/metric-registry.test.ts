/** Deprecated metrics: described as such, then hidden, then gone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { GaugeFamily } from "./fast-metrics.js";
import { MetricRegistry } from "./metric-registry.js";
import { Metrics } from "./metrics.js";

const LIFE = { old_objects: { stability: "stable", deprecated: { major: 1, minor: 34 } } } as const;

async function textIn(minor: number, showsHidden = false): Promise<string> {
  const release = { major: 1, minor };
  const registry = new MetricRegistry({ release, showsHidden, deprecated: LIFE });
  for (const name of ["old_objects", "new_objects"]) {
    new GaugeFamily(registry, { name, help: "Objects.", labelNames: [] }, (set) => set(3));
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
