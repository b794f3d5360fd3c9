/** A migration reports progress, and a new leader resumes an interrupted one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { Clock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { ApiObject } from "../api/meta.js";
import { createNaming } from "../api/naming.js";
import type { Migration } from "./migration-status.js";
import type { ControlledResource, ObjectKey, ObjectsApi } from "./objects-api.js";
import { runStorageMigrator } from "./storage-migrator.js";
import type { StoredEntry, StoredObjects } from "./stored-objects.js";

const naming = createNaming("kubernetes");
const WIDGETS = resourceOf("example.com", "widgets");
const MIGRATIONS = resourceOf("storagemigration.k8s.io", "storageversionmigrations");
const PAGE = 10;
const COUNT = 3 * PAGE;
/** Longer than the interval of status updates. */
const PAGE_TAKES_MS = 5_000;

test("progress is told while objects are rewritten, and a process that takes over writes none twice", async () => {
  const world = createWorld();
  const first = new AbortController();
  world.onRewritten = (count) => {
    if (count === COUNT - 5) first.abort();
  };
  await world.run(first.signal);
  assert.deepEqual(world.messages, [
    "The migration is running",
    `The migration is running: ${2 * PAGE} of ${COUNT} objects`,
  ]);
  assert.deepEqual(world.remaining, [2 * PAGE, PAGE]);
  assert.equal(world.rewrites.size, COUNT - 5);

  const second = new AbortController();
  world.onEnded = () => second.abort();
  await world.run(second.signal);
  assert.equal(world.rewrites.size, COUNT);
  assert.deepEqual(new Set(world.rewrites.values()), new Set([1]));
  assert.equal(world.remaining.at(-1), 0);
  assert.deepEqual(
    world.migration.status?.conditions?.map(({ type, status }) => `${type} ${status}`),
    ["Succeeded True"],
  );
});

/** Objects stored in an old form, and the recorded statuses. */
function createWorld() {
  const rewrites = new Map<string, number>();
  const entries = Array.from({ length: COUNT }, (_, index): StoredEntry => {
    const name = `w-${String(index).padStart(2, "0")}`;
    return { namespace: "", name, isStale: true };
  });
  const messages: string[] = [];
  const remaining: number[] = [];
  let migration: Migration = {
    kind: "StorageVersionMigration",
    apiVersion: "storagemigration.k8s.io/v1beta1",
    metadata: { name: "m", uid: "1" },
    spec: { resource: { group: "example.com", resource: "widgets" } },
  };
  let nowMs = 1;
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    async sleep(delayMs, signal) {
      signal.throwIfAborted();
      // Long waits mean that it is idle and block; all others end at once.
      if (delayMs >= 60_000) await once(signal, "abort");
      nowMs += delayMs;
    },
  };
  const world = {
    messages,
    remaining,
    rewrites,
    onRewritten: (_count: number) => {},
    onEnded: () => {},
    get migration() {
      return migration;
    },
    run: (signal: AbortSignal) =>
      runStorageMigrator(
        {
          objects,
          stored,
          naming,
          clock,
          logger: silentLogger,
          metrics: {
            rewritten() {},
            remaining: (_resource, left) => remaining.push(left),
            ended: () => world.onEnded(),
          },
        },
        signal,
      ),
  };
  const stored: StoredObjects = {
    async page(_resource, after) {
      nowMs += PAGE_TAKES_MS;
      const start = after === "" ? 0 : Number(after);
      const next = start + PAGE < COUNT ? String(start + PAGE) : undefined;
      const page = entries
        .slice(start, start + PAGE)
        .map((entry) => ({ ...entry, isStale: !rewrites.has(entry.name) }));
      return { entries: page, next, revision: 7 };
    },
    async prepare() {},
    async rewrite(_resource, { name, isStale }, signal) {
      signal.throwIfAborted();
      if (!isStale) return "kept";
      rewrites.set(name, (rewrites.get(name) ?? 0) + 1);
      world.onRewritten(rewrites.size);
      return "rewritten";
    },
  };
  const objects = {
    resources: [WIDGETS, MIGRATIONS],
    list: () => [migration],
    get: () => migration,
    count: () => COUNT,
    async refresh() {},
    async update(_resource: ControlledResource, object: ApiObject) {
      migration = object as Migration;
      const running = migration.status?.conditions?.find(({ type }) => type === "Running");
      if (running?.message !== undefined && running.message !== messages.at(-1)) {
        messages.push(running.message);
      }
      return object;
    },
    async watch(
      _resource: ControlledResource,
      onChange: (key: ObjectKey) => void,
      signal: AbortSignal,
    ) {
      onChange({ namespace: "", name: "m" });
      if (!signal.aborted) await once(signal, "abort");
    },
  } satisfies Partial<ObjectsApi> as unknown as ObjectsApi;
  return world;
}

function resourceOf(group: string, resource: string): ControlledResource {
  return {
    partition: partitionId(group, resource),
    group,
    version: "v1",
    resource,
    kind: resource,
    isNamespaced: false,
    verbs: [],
    isCollected: true,
  };
}
