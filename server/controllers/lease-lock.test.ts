/** The lock: one leader at a time, takeover when it is not renewed, release on shutdown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "../../storage/base/logger.js";
import { ManualClock, settle } from "../../storage/base/testing/manual-clock.js";
import type { ApiObject } from "../api/meta.js";
import { alreadyExists, conflict, serviceUnavailable } from "../api/status.js";
import { LeaseLock } from "./lease-lock.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";

const LEASES: ControlledResource = {
  partition: "coordination.k8s.io/leases",
  group: "coordination.k8s.io",
  version: "v1",
  resource: "leases",
  kind: "Lease",
  isNamespaced: true,
  verbs: [],
  isCollected: true,
};

/** One lease with compare-and-swap, and a switch for an outage. */
class LeaseStore {
  lease: ApiObject | undefined;
  isDown = false;
  /** While a write is under way. */
  onPut = () => {};
  beforePut: (() => Promise<void>) | undefined;
  #version = 0;

  api(): ObjectsApi {
    const put = async (object: ApiObject): Promise<ApiObject> => {
      await this.beforePut?.();
      if (this.isDown) throw serviceUnavailable("down");
      this.onPut();
      const resourceVersion = String(++this.#version);
      this.lease = { ...object, metadata: { ...object.metadata, resourceVersion } };
      return this.lease;
    };
    return {
      because: () => this.api(),
      resources: [LEASES],
      resource: () => LEASES,
      byKind: () => LEASES,
      metadata: () => this.lease?.metadata,
      owner: () => undefined,
      allMetadata: () => [],
      names: () => [],
      get: () => this.lease,
      list: () => [],
      count: () => 0,
      snapshot: () => ({ count: 0, objects: [] }),
      refresh: async () => {},
      create: async (_resource, object) => {
        if (this.lease !== undefined) throw alreadyExists(LEASES, "lock");
        return await put(object);
      },
      update: async (_resource, object) => {
        const { resourceVersion } = object.metadata;
        if (resourceVersion !== this.lease?.metadata.resourceVersion) {
          throw conflict(LEASES, "lock");
        }
        return await put(object);
      },
      remove: async () => {},
      deleteAll: async () => {},
      watch: async () => {},
      follow: async () => {},
      runForEach: async () => {},
    };
  }

  get holder(): string | undefined {
    return this.#spec?.holderIdentity;
  }

  get transitions(): number | undefined {
    return this.#spec?.leaseTransitions;
  }

  get #spec(): { holderIdentity?: string; leaseTransitions?: number } | undefined {
    return this.lease?.spec as { holderIdentity?: string } | undefined;
  }
}

function lockOf(store: LeaseStore, clock: ManualClock, identity: string): LeaseLock {
  return new LeaseLock({
    objects: store.api(),
    leases: LEASES,
    clock,
    logger: silentLogger,
    namespace: "kube-system",
    name: "lock",
    identity,
  });
}

function contender(store: LeaseStore, clock: ManualClock, identity: string) {
  const stop = new AbortController();
  const state = { isLeading: false, terms: 0 };
  const lock = lockOf(store, clock, identity);
  const done = lock.run(async (signal) => {
    state.isLeading = true;
    state.terms++;
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve());
    });
    state.isLeading = false;
  }, stop.signal);
  const end = async () => {
    stop.abort();
    await done;
  };
  return { state, stop, end };
}

test("the first one leads; the next takes over at once when the lock is given back", async () => {
  const [store, clock] = [new LeaseStore(), new ManualClock(Date.parse("2030-01-01T00:00:00Z"))];
  const a = contender(store, clock, "a");
  await settle();
  const b = contender(store, clock, "b");
  await clock.advanceInSteps(60_000);
  assert.deepEqual([a.state.isLeading, b.state.isLeading], [true, false]);
  await a.end();
  assert.equal(store.holder, undefined);
  await clock.advanceInSteps(2_500);
  assert.equal(b.state.isLeading, true);
  assert.equal(store.holder, "b");
  await b.end();
});

test("a holder that disappears is followed after its lease has run out, not before", async () => {
  const [store, clock] = [new LeaseStore(), new ManualClock(Date.parse("2030-01-01T00:00:00Z"))];
  store.lease = {
    kind: "Lease",
    apiVersion: "coordination.k8s.io/v1",
    metadata: { name: "lock", namespace: "kube-system", resourceVersion: "x" },
    spec: { holderIdentity: "gone", leaseDurationSeconds: 15, leaseTransitions: 4 },
  };
  const b = contender(store, clock, "b");
  await clock.advanceInSteps(14_000);
  assert.equal(b.state.isLeading, false);
  await clock.advanceInSteps(4_000);
  assert.equal(b.state.isLeading, true);
  assert.equal(store.transitions, 5);
  await b.end();
});

test("a leader that cannot renew stops before anybody else may lead", async () => {
  const [store, clock] = [new LeaseStore(), new ManualClock(Date.parse("2030-01-01T00:00:00Z"))];
  const a = contender(store, clock, "a");
  await settle();
  assert.equal(a.state.isLeading, true);
  store.isDown = true;
  await clock.advanceInSteps(8_000);
  assert.equal(a.state.isLeading, true);
  await clock.advanceInSteps(6_000);
  assert.equal(a.state.isLeading, false);
  store.isDown = false;
  await clock.advanceInSteps(4_000);
  assert.equal(a.state.isLeading, true);
  assert.equal(a.state.terms, 2);
  await a.end();
});

test("one that ends while it takes the lock gives it back at once", async () => {
  const [store, clock] = [new LeaseStore(), new ManualClock(Date.parse("2030-01-01T00:00:00Z"))];
  store.onPut = () => queueMicrotask(() => a.stop.abort());
  const a = contender(store, clock, "a");
  await a.end();
  assert.notEqual(store.lease, undefined);
  assert.equal(store.holder, undefined);
});

test("loops that fail at once are begun again after pauses that grow, and others may lead meanwhile", async () => {
  const [store, clock] = [new LeaseStore(), new ManualClock(Date.parse("2030-01-01T00:00:00Z"))];
  let writes = 0;
  store.onPut = () => writes++;
  let begun = 0;
  const stop = new AbortController();
  const failing = lockOf(store, clock, "failing").run(async () => {
    // Without a pause this test would never end.
    if (++begun > 50) stop.abort();
    throw new Error("a loop cannot begin");
  }, stop.signal);
  await clock.advanceInSteps(60_000);
  // At 0, 2, 6, 14 and 30 s; each takes the lock and gives it back.
  assert.deepEqual([begun, writes], [5, 10]);
  const other = contender(store, clock, "other");
  await settle();
  assert.equal(other.state.isLeading, true);
  stop.abort();
  await failing;
  await other.end();
});

test("a leader whose renewal gets no answer stops 10 s after the last one that did was sent", async () => {
  const [store, clock] = [new LeaseStore(), new ManualClock(Date.parse("2030-01-01T00:00:00Z"))];
  const a = contender(store, clock, "a");
  await settle();
  let answer = () => {};
  store.beforePut = () => new Promise((resolve) => (answer = resolve));
  // Sent at 2 s, answered at 7 s: the next one is sent at 9 s and never answered, so 12 s is the end.
  await clock.advanceInSteps(7_000);
  answer();
  await clock.advanceInSteps(4_500);
  assert.equal(a.state.isLeading, true);
  await clock.advanceInSteps(1_000);
  assert.equal(a.state.isLeading, false);
  store.beforePut = undefined;
  answer();
  await a.end();
});
