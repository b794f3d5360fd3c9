import assert from "node:assert/strict";
import { test } from "node:test";
import { noSignal, openRegistryHarness } from "../registry/testing/registry-harness.js";
import { createLocalObjects } from "./local-objects.js";
import { ensureSystemPriorityClasses } from "./system-priority-classes.js";

test("the classes of critical pods are there after a start, and stay as they are after another one", async () => {
  await using harness = await openRegistryHarness();
  const { registry } = harness;
  const objects = createLocalObjects(registry);
  await Promise.all([
    ensureSystemPriorityClasses(objects, registry.naming, noSignal),
    ensureSystemPriorityClasses(objects, registry.naming, noSignal),
  ]);
  await objects.refresh();
  await ensureSystemPriorityClasses(objects, registry.naming, noSignal);
  const resource = objects.resource("scheduling.k8s.io", "priorityclasses");
  assert.deepEqual(
    objects.list(resource, "").map(({ metadata, value }) => [metadata.name, value]),
    [
      ["system-cluster-critical", 2_000_000_000],
      ["system-node-critical", 2_000_001_000],
    ],
  );
});
