/** Reports of what loaded control planes hold are spread over time, and only news is written. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import type { ControlledResource, ObjectsApi } from "../controllers/objects-api.js";
import type { LoadedControlPlane } from "./control-planes.js";
import { INTERVAL_MS, runStatusReports } from "./status-reports.js";

const COUNT = 50;
const STEP_MS = INTERVAL_MS / COUNT;

function loadedOne(name: string): LoadedControlPlane {
  return {
    entry: { name, uid: `uid-${name}` },
    usage: { lastUsedMs: 0 },
    size: () => ({ objects: 1, bytes: 1 }),
    owesWork: () => false,
  } as unknown as LoadedControlPlane;
}

test("fifty loaded control planes report one after the other within the interval, never several at once", async () => {
  const clock = new ManualClock();
  const ending = new AbortController();
  const loaded = Array.from({ length: COUNT }, (_, at) => loadedOne(`plane-${at}`));
  const stored = new Map(
    loaded.map(({ entry }) => [entry.name, { metadata: { name: entry.name, uid: entry.uid } }]),
  );
  const written: string[] = [];
  const objects = {
    resource: () => ({}) as ControlledResource,
    get: (_: ControlledResource, { name }: { name: string }) => stored.get(name),
    async update(_: ControlledResource, object: { metadata: { name: string; uid: string } }) {
      written.push(object.metadata.name);
      stored.set(object.metadata.name, object);
    },
  } as unknown as ObjectsApi;
  const options = { objects, naming: createNaming(DEFAULT_VENDOR), clock, logger: silentLogger };
  const running = runStatusReports({ ...options, planes: { loaded } }, ending.signal);
  const steps: number[] = [];
  for (let step = 0; step < COUNT; step++) {
    const before = written.length;
    clock.advance(STEP_MS);
    await settle();
    steps.push(written.length - before);
  }

  assert.deepEqual(new Set(steps), new Set([1]));
  assert.equal(new Set(written).size, COUNT);

  loaded.length = 1;
  clock.advance(2 * INTERVAL_MS);
  await settle();
  assert.equal(written.length, COUNT, "nothing has changed");

  ending.abort();
  await assert.rejects(running);
});
