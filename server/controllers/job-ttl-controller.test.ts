/** Finished Jobs are deleted after their TTL, not before, and only if they have one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import type { ApiObject } from "../api/meta.js";
import { runJobTtlController } from "./job-ttl-controller.js";
import type { ControlledResource, ObjectKey, ObjectsApi, RemoveOptions } from "./objects-api.js";

const JOBS: ControlledResource = {
  partition: "batch/jobs",
  group: "batch",
  version: "v1",
  resource: "jobs",
  kind: "Job",
  isNamespaced: true,
  verbs: ["delete"],
  isCollected: true,
};

interface Removal extends ObjectKey {
  readonly options: RemoveOptions;
}

function open(jobs: ApiObject[]) {
  const clock = new ManualClock(Date.parse("2030-01-01T00:00:00Z"));
  const removed: Removal[] = [];
  const stop = new AbortController();
  const byName = new Map(jobs.map((job) => [job.metadata.name ?? "", job]));
  const onChange: ((key: ObjectKey) => void)[] = [];
  const objects: ObjectsApi = {
    because: () => objects,
    resources: [JOBS],
    resource: () => JOBS,
    byKind: () => JOBS,
    metadata: (_resource, { name }) => byName.get(name)?.metadata,
    owner: () => undefined,
    allMetadata: () => [],
    names: () => [],
    get: (_resource, { name }) => byName.get(name),
    list: () => [...byName.values()],
    count: () => byName.size,
    snapshot: () => ({ count: byName.size, objects: [...byName.values()] }),
    refresh: async () => {},
    create: async (_resource, object) => object,
    update: async (_resource, object) => object,
    remove: async (_resource, { namespace, name }, options) => {
      byName.delete(name);
      removed.push({ namespace, name, options });
    },
    deleteAll: async () => {},
    follow: async () => {},
    runForEach: async () => {},
    watch: async (_resource, callback) => {
      onChange.push(callback);
      for (const name of byName.keys()) callback({ namespace: "shop", name });
    },
  };
  const running = runJobTtlController({ objects, clock, logger: silentLogger }, stop.signal);
  return {
    clock,
    removed,
    put(job: ApiObject) {
      const name = job.metadata.name ?? "";
      byName.set(name, job);
      for (const callback of onChange) callback({ namespace: "shop", name });
    },
    async end() {
      stop.abort();
      await running;
    },
  };
}

/** The manual clock begins at 2030-01-01T00:00:00Z. */
const ENDED_AT = "2029-12-31T23:59:55Z";

function job(
  name: string,
  ttl: number | undefined,
  condition?: string,
  status = "True",
): ApiObject {
  const conditions =
    condition === undefined ? [] : [{ type: condition, status, lastTransitionTime: ENDED_AT }];
  return {
    kind: "Job",
    apiVersion: "batch/v1",
    metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "7" },
    spec: ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl },
    status: { conditions },
  };
}

test("a finished Job is deleted with its pods when its TTL is over", async () => {
  const { clock, removed, end } = open([
    job("now", 0, "Complete"),
    job("soon", 10, "Failed"),
    job("kept", undefined, "Complete"),
    job("running", 1),
    job("suspended", 1, "Suspended"),
    job("not-yet", 1, "Complete", "False"),
  ]);
  await settle();
  assert.deepEqual(removed, [
    {
      namespace: "shop",
      name: "now",
      options: { uid: "uid-now", resourceVersion: "7", propagationPolicy: "Foreground" },
    },
  ]);
  await clock.advanceInSteps(4_500);
  assert.equal(removed.length, 1);
  await clock.advanceInSteps(1_000);
  assert.deepEqual(
    removed.map(({ name }) => name),
    ["now", "soon"],
  );
  await clock.advanceInSteps(60_000);
  assert.equal(removed.length, 2);
  await end();
});

test("a TTL that is changed meanwhile counts as it is when time is up", async () => {
  const { clock, removed, put, end } = open([job("a", 10, "Complete")]);
  await settle();
  put(job("a", 20, "Complete"));
  await clock.advanceInSteps(8_000);
  assert.equal(removed.length, 0);
  await clock.advanceInSteps(8_000);
  assert.equal(removed.length, 1);
  await end();
});
