/** Which control planes are in memory, and which make room for others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock } from "../../storage/base/testing/manual-clock.js";
import { StatusError } from "../api/status.js";
import type { ControlPlaneEntry, ControlPlaneIndex } from "./control-plane-index.js";
import { ControlPlanes, type LoadedControlPlane } from "./control-planes.js";

const RESOURCE = { group: "tenancy.k8s.io", resource: "controlplanes" };

/** Those of any name are there; loading takes a turn and needs no store. */
function openPlanes(loadedMax: number) {
  const clock = new ManualClock();
  const usages = new Map<string, { isIdle: boolean; lastUsedMs: number }>();
  const index = {
    subscribe() {},
    find: (name: string): ControlPlaneEntry => ({
      ...{ name, uid: `uid-${name}`, creator: "", isSuspended: false, isEnding: false },
      ...{ limits: {}, cloneFrom: undefined },
    }),
  } as unknown as ControlPlaneIndex;
  const planes = new ControlPlanes({
    ...{ index, resource: RESOURCE, clock, logger: silentLogger, idleMs: 60_000, loadedMax },
    fresh: async () => undefined,
    async load(entry) {
      const usage = { isIdle: true, lastUsedMs: clock.now() };
      usages.set(entry.name, usage);
      return { entry, usage, close: async () => {} } as unknown as LoadedControlPlane;
    },
  });
  return { clock, planes, usages };
}

const names = (planes: ControlPlanes) => planes.loaded.map(({ entry }) => entry.name);

test("beyond the bound the control plane that was unused for longest makes room", async () => {
  const { clock, planes, usages } = openPlanes(2);
  for (const name of ["a", "b"]) {
    await planes.open(name);
    await clock.advance(1_000);
  }
  const used = usages.get("a");
  assert.ok(used);
  used.lastUsedMs = clock.now();
  await planes.open("c");
  assert.deepEqual(names(planes), ["a", "c"]);
});

test("one in use makes no room: another is refused with 503, and loaded when it is idle", async () => {
  const { planes, usages } = openPlanes(1);
  await planes.open("a");
  const used = usages.get("a");
  assert.ok(used);
  used.isIdle = false;
  await assert.rejects(planes.open("b"), (error) => {
    return error instanceof StatusError && error.code === 503;
  });
  assert.deepEqual(names(planes), ["a"]);
  used.isIdle = true;
  await planes.open("b");
  assert.deepEqual(names(planes), ["b"]);
});
