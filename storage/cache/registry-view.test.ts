/** The view over a store whose every answer the test decides: loading, following, waiting, failing. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { DEADLINE_MS, eventually, soon } from "../../e2e/harness/eventually.js";
import { type Clock, systemClock } from "../base/clock.js";
import { Lifecycle } from "../base/lifecycle.js";
import { silentLogger } from "../base/logger.js";
import { ManualClock, settle } from "../base/testing/manual-clock.js";
import { StorageError } from "../kv/errors.js";
import { type KeyValue, type Revision, type StoreEvent, toRevision } from "../kv/store.js";
import type { StoredObject } from "../objects/stored-object.js";
import type { ObjectEvent } from "./event-ring.js";
import { FreshnessBarrier, readDeadline } from "./freshness.js";
import { RegistryView } from "./registry-view.js";
import { configMap, ScriptedStore } from "./testing/scripted-store.js";

function openView(store: ScriptedStore, clock: Clock = systemClock) {
  const view = new RegistryView({
    store,
    prefix: "/registry",
    clock,
    logger: silentLogger,
    traits: () => ({}),
  });
  const barrier = (deadlineMs: number) =>
    new FreshnessBarrier({ store, view, clock, deadline: readDeadline(deadlineMs) });
  const freshness = barrier(DEADLINE_MS);
  return { view, freshness, barrier, lifecycle: new Lifecycle(silentLogger) };
}

// Deadlines do not keep a process alive, and nothing else does here.
const heartbeat = setInterval(() => {}, 1_000);
after(() => clearInterval(heartbeat));

/** Resolves when a condition that other callbacks bring about is true. */
const until = (isTrue: () => boolean) => eventually(String(isTrue), isTrue);

test("a wait for a revision ends when the view follows nothing any more", async () => {
  const { view, lifecycle } = openView(new ScriptedStore());
  await view.start(lifecycle, lifecycle.signal);
  const early = view.waitForRevision(toRevision(1_000), new AbortController().signal);
  await lifecycle[Symbol.asyncDispose]();

  await assert.rejects(early, /shutting down/);
  await assert.rejects(
    view.waitForRevision(toRevision(1_000), new AbortController().signal),
    /shutting down/,
  );
});

test("a view loads all pages at one revision, when the store answers, and then follows the feed", async () => {
  const store = new ScriptedStore();
  store.kvs = Array.from({ length: 4_500 }, (_, i) => configMap(String(i).padStart(5, "0"), 5));
  const range = store.range.bind(store);
  const away = new StorageError("Unavailable", "the peer does not answer a ping");
  let failures = 2;
  store.range = (...asked) => (failures-- > 0 ? Promise.reject(away) : range(...asked));
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const partition = view.partition("core/configmaps");
  assert.equal(partition.size, 4_500);
  assert.equal(view.revision, 10);

  store.deliver({ revision: toRevision(12), events: [{ type: "put", kv: configMap("new", 12) }] });
  await view.waitForRevision(toRevision(12), soon());
  assert.equal(partition.get("default/new")?.revision, 12);
  store.deliver({
    revision: toRevision(13),
    events: [{ type: "delete", key: configMap("new", 0).key, modRevision: toRevision(13) }],
  });
  await view.waitForRevision(toRevision(13), soon());
  assert.equal(partition.get("default/new"), undefined);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-24: a barrier waits for the store's revision, and pushes when nothing is written below the prefix", async () => {
  const store = new ScriptedStore();
  const { view, freshness, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.revision = toRevision(20);
  store.onProgress = () => store.deliver({ revision: toRevision(20), events: [] });
  assert.equal(await freshness.fresh(), 20);
  assert.equal(view.revision, 20);
  assert.ok(store.progressRequests >= 1);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-01: requests that come while a revision read is on its way share the next one, never that one", async () => {
  const store = new ScriptedStore();
  const { view, freshness, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.answersAtOnce = false;
  const first = Promise.all([freshness.fresh(), freshness.fresh()]);
  await until(() => store.revisionReads.length === 1);
  const second = freshness.fresh();
  const third = freshness.fresh();
  store.revisionReads[0]?.resolve(toRevision(10));
  assert.deepEqual(await first, [10, 10], "of one turn, so they share one question");
  await until(() => store.revisionReads.length === 2);
  store.deliver({ revision: toRevision(15), events: [] });
  store.revisionReads[1]?.resolve(toRevision(15));
  assert.deepEqual(await Promise.all([second, third]), [15, 15]);
  assert.equal(view.revision, 15);
  assert.deepEqual(
    { reads: freshness.counts.revisionReads, requests: freshness.counts.requests },
    { reads: 2, requests: 4 },
  );
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-24: a store that does not answer fails consistent reads within the deadline, and only them", async () => {
  const store = new ScriptedStore();
  const { view, freshness, barrier, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const impatient = barrier(30);
  store.answersAtOnce = false;
  await assert.rejects(impatient.fresh(), { code: "Unavailable" });
  store.answersAtOnce = true;
  store.revision = toRevision(99);
  await assert.rejects(impatient.fresh(), { code: "Unavailable" }, "the view never gets there");
  store.revision = view.revision;
  await freshness.fresh();
  assert.equal(view.isSynced, true);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-24: a revision read that is not answered is overtaken by the next", async () => {
  const store = new ScriptedStore();
  const { view, freshness, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.answersAtOnce = false;
  const first = freshness.fresh();
  await until(() => store.revisionReads.length === 1);
  const second = freshness.fresh();
  await until(() => store.revisionReads.length === 2);
  store.revisionReads[1]?.resolve(toRevision(10));
  assert.equal(await second, 10, "the second does not wait for the first");
  store.revisionReads[0]?.resolve(toRevision(10));
  assert.equal(await first, 10);
  assert.equal(freshness.counts.overtakes, 1);
  await lifecycle[Symbol.asyncDispose]();
});

test("Fresh: while the store is behind the view, as after a restore of an older state, nothing is called fresh", async () => {
  const store = new ScriptedStore();
  const { view, freshness, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.revision = toRevision(9);
  await assert.rejects(freshness.fresh(), { code: "Unavailable" });
  store.deliver(new StorageError("Compacted", "the history is no longer the same"));
  await until(() => view.revision === 9);
  assert.equal(await freshness.fresh(), 9);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-24: the more requests share a question, the longer the next one waits for company; a lone one never waits", async () => {
  const store = new ScriptedStore();
  const clock = new ManualClock();
  const { view, freshness, lifecycle } = openView(store, clock);
  await view.start(lifecycle, soon());
  const ask = (count: number) =>
    Promise.all(Array.from({ length: count }, () => freshness.fresh()));
  // Time stands still meanwhile.
  for (let round = 0; round < 50; round++) await ask(1);
  await ask(1_000);
  const late = ask(1);
  await clock.untilAsleep();
  clock.advance(4);
  await settle();
  assert.equal(freshness.counts.revisionReads, 51);
  clock.advance(1);
  await late;
  assert.equal(freshness.counts.revisionReads, 52);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-24: many batches that wait for the view share one progress request", async () => {
  const store = new ScriptedStore();
  const clock = new ManualClock();
  const { view, freshness, lifecycle } = openView(store, clock);
  await view.start(lifecycle, soon());
  store.revision = toRevision(20);
  const all: Promise<Revision>[] = [];
  for (let i = 0; i < 200; i++) {
    all.push(freshness.fresh());
    await settle();
    // In all less than the 20 ms after which it is asked for again.
    clock.advance(0.08);
  }
  assert.ok(freshness.counts.revisionReads > 10, "these were many batches");
  assert.equal(store.progressRequests, 1);
  await clock.advanceInSteps(20, 1);
  assert.equal(store.progressRequests, 2);
  store.deliver({ revision: toRevision(20), events: [] });
  await Promise.all(all);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-24: progress that was asked for earlier is asked for again for a later revision, at once", async () => {
  const store = new ScriptedStore();
  const clock = new ManualClock();
  const { view, freshness, lifecycle } = openView(store, clock);
  await view.start(lifecycle, soon());
  // Others write all the time; each progress notification has the revision at its request.
  store.onProgress = () => {
    const revision = store.revision;
    setImmediate(() => store.deliver({ revision, events: [] }));
  };
  for (let i = 0; i < 20; i++) {
    store.revision = toRevision(store.revision + 1);
    const early = freshness.fresh();
    await settle();
    store.revision = toRevision(store.revision + 1);
    const both = Promise.all([early, freshness.fresh()]);
    // Less than the 20 ms after which it would be asked for again.
    await clock.advanceInSteps(10, 1);
    await both;
  }
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-RV-02: while the view is loaded anew, any state is still given; a fresh one waits", async () => {
  const store = new ScriptedStore();
  store.kvs = [configMap("old", 5)];
  const { view, freshness, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const partition = view.partition("core/configmaps");
  store.kvs = [configMap("other", 30)];
  store.revision = toRevision(40);
  store.answersAtOnce = false;
  store.deliver(new StorageError("Compacted", "gone"));
  await until(() => store.revisionReads.length === 1);
  assert.equal(view.isSynced, true);
  assert.equal(partition.get("default/old")?.revision, 5, "the old state is whole");
  assert.equal(view.revision, 10);
  store.answersAtOnce = true;
  const fresh = freshness.fresh();
  store.revisionReads[0]?.resolve(toRevision(40));
  assert.equal(await fresh, 40);
  assert.equal(partition.get("default/old"), undefined);
  assert.equal(partition.get("default/other")?.revision, 30);
  await lifecycle[Symbol.asyncDispose]();
});

test("Unique: a defect in the middle of a batch makes the view unusable until it is loaded anew", async () => {
  const store = new ScriptedStore();
  store.kvs = [configMap("a", 5)];
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.revision = toRevision(12);
  store.answersAtOnce = false;
  // The second event is not newer than the current object.
  const events: StoreEvent[] = [
    { type: "put", kv: configMap("b", 12) },
    { type: "put", kv: configMap("a", 5) },
  ];
  store.deliver({ revision: toRevision(12), events });
  await until(() => !view.isSynced);
  store.kvs = [configMap("a", 5), configMap("b", 12)];
  store.answersAtOnce = true;
  await until(() => view.isSynced);
  assert.deepEqual(
    [...view.partition("core/configmaps").snapshot().tree.paths()],
    ["default/a", "default/b"],
  );
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-UNS-12: a watcher that fails is ended, and the others are told all the same", async () => {
  const store = new ScriptedStore();
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const told: string[] = [];
  const open = (name: string, send: (object: StoredObject) => boolean) => {
    const sink = {
      send: (_type: unknown, { state }: ObjectEvent) => send(state),
      cork() {},
      uncork() {},
    };
    const lost = () => told.push(`${name} is lost`);
    const ended = assert.fail;
    const whole = { ...sink, lost, ended };
    const options = { scope: { namespace: "" }, matches: () => true, sink: whole };
    view.partition("core/configmaps").watch(options, view.revision)?.resume();
  };
  open("bad", () => {
    throw new TypeError("nobody expected this");
  });
  open("good", ({ name }) => told.push(name) > 0);

  for (const [name, revision] of [
    ["a", 11],
    ["b", 12],
  ] as const) {
    const kv = configMap(name, revision);
    store.deliver({ revision: kv.modRevision, events: [{ type: "put", kv }] });
    await view.waitForRevision(kv.modRevision, soon());
    await until(() => told.includes(name));
  }
  assert.deepEqual(told, ["bad is lost", "a", "b"]);
  await lifecycle[Symbol.asyncDispose]();
});

test("RulesInForce: epochs are those of the view's revision, and no objects", async () => {
  const store = new ScriptedStore();
  const epoch = (name: string, revision: number): KeyValue => {
    const at = toRevision(revision);
    const key = `/registry/.epoch/${name}`;
    return { key, value: Buffer.alloc(0), modRevision: at, createRevision: at };
  };
  store.kvs = [epoch("cluster", 4), epoch("namespace:a", 5), configMap("x", 5)];
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const seen = () => ["cluster", "namespace:a", "grants"].map((name) => view.epoch(name));
  assert.deepEqual(seen(), [4, 5, 0]);
  const events: StoreEvent[] = [
    { type: "put", kv: epoch("grants", 12) },
    { type: "delete", key: epoch("namespace:a", 12).key, modRevision: toRevision(12) },
  ];
  store.deliver({ revision: toRevision(12), events });
  await view.waitForRevision(toRevision(12), soon());
  assert.deepEqual(seen(), [4, 0, 12]);
  // The store is set back to an older state: only the epochs stored there count.
  store.kvs = [epoch("cluster", 3)];
  store.revision = toRevision(40);
  store.deliver(new StorageError("Compacted", "gone"));
  await view.waitForRevision(toRevision(40), soon());
  assert.deepEqual(seen(), [3, 0, 0]);
  assert.deepEqual(
    [...view.partitions].map(({ id }) => id),
    ["core/configmaps"],
  );
  await lifecycle[Symbol.asyncDispose]();
});

test("CacheEqualsStore: when the store's history is gone the view is loaded anew and counts it", async () => {
  const store = new ScriptedStore();
  store.kvs = [configMap("old", 5)];
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.kvs = [configMap("other", 30)];
  store.revision = toRevision(40);
  store.deliver(new StorageError("Compacted", "gone"));
  await view.waitForRevision(toRevision(40), soon());
  const partition = view.partition("core/configmaps");
  assert.equal(partition.get("default/old"), undefined);
  assert.equal(partition.get("default/other")?.revision, 30);
  assert.equal(view.reloads, 1);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-UNS-08: a value that cannot be read is one corrupt object, and the feed goes on", async () => {
  const store = new ScriptedStore();
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const junk = { ...configMap("junk", 11), value: Buffer.from("\u0000") };
  store.deliver({ revision: toRevision(11), events: [{ type: "put", kv: junk }] });
  store.deliver({ revision: toRevision(12), events: [{ type: "put", kv: configMap("a", 12) }] });
  await view.waitForRevision(toRevision(12), soon());
  const partition = view.partition("core/configmaps");
  assert.deepEqual([...partition.corrupt], ["default/junk"]);
  store.deliver({
    revision: toRevision(13),
    events: [{ type: "delete", key: junk.key, modRevision: toRevision(13) }],
  });
  await view.waitForRevision(toRevision(13), soon());
  assert.equal(partition.corrupt.size, 0);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-WATCH-10, CARD-01: a view that was just loaded still tells what happened before", async () => {
  const store = new ScriptedStore();
  const first = configMap("a", 3);
  const second = { ...configMap("a", 6), createRevision: toRevision(3) };
  store.history = [
    { type: "put", kv: first },
    { type: "put", kv: configMap("b", 4) },
    { type: "put", kv: second, previous: first },
    {
      type: "delete",
      key: configMap("b", 0).key,
      modRevision: toRevision(8),
      previous: configMap("b", 4),
    },
  ];
  store.kvs = [second];
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  view.recall.start(lifecycle);
  await view.recall.waitFor(toRevision(0), soon());
  const partition = view.partition("core/configmaps");
  const seen: string[] = [];
  const watcher = partition.watch(
    {
      scope: { namespace: "" },
      matches: () => true,
      sink: {
        send: (type, { state, revision }) => seen.push(`${type} ${state.name}@${revision}`) > 0,
        cork() {},
        uncork() {},
        lost() {},
        ended() {},
      },
    },
    toRevision(3),
  );
  watcher?.resume();
  assert.deepEqual(seen, ["ADDED b@4", "MODIFIED a@6", "DELETED b@8"]);
  assert.deepEqual(
    [...(partition.snapshotAt(toRevision(4))?.tree.paths() ?? [])],
    ["default/a", "default/b"],
  );
  assert.equal(partition.size, 1);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-WATCH-10: a watch that resumes waits for the history, which goes before what came meanwhile", async () => {
  const store = new ScriptedStore();
  const [first, second] = [configMap("a", 3), configMap("a", 6)];
  store.history = [
    { type: "put", kv: first },
    { type: "put", kv: second, previous: first },
  ];
  store.kvs = [second];
  const tell = store.holdHistory();
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  store.deliver({ revision: toRevision(12), events: [{ type: "put", kv: configMap("a", 12) }] });
  await view.waitForRevision(toRevision(12), soon());
  const { ring } = view.partition("core/configmaps");
  assert.equal(ring.sequenceAfter(toRevision(5)), undefined);
  assert.equal(view.recall.waitFor(toRevision(10), soon()), undefined);
  await assert.rejects(async () => view.recall.waitFor(toRevision(5), AbortSignal.abort()));
  const waiting = view.recall.waitFor(toRevision(5), soon());
  assert.ok(waiting);
  view.recall.start(lifecycle);
  tell();
  await waiting;

  const start = ring.sequenceAfter(toRevision(5)) ?? Number.NaN;
  const events = Array.from({ length: ring.end - start }, (_, index) => ring.at(start + index));
  assert.deepEqual(
    events.map(({ type, revision }) => `${type} ${revision}`),
    ["MODIFIED 6", "MODIFIED 12"],
  );
  assert.equal(events[1]?.previous, events[0]?.state, "the ring is charged for it once");
  const { retention } = view;
  while (retention.retire(systemClock.monotonic() + 60_000));
  view.retire("core/configmaps");
  assert.equal(retention.ringBytes, 0);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-WATCH-10: a view that is loaded anew during a recall recalls again, and no watch waits for ever", async () => {
  const store = new ScriptedStore();
  const tell = store.holdHistory();
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  view.recall.start(lifecycle);
  store.revision = toRevision(40);
  store.deliver(new StorageError("Compacted", "gone"));
  await view.waitForRevision(toRevision(40), soon());
  const waiting = view.recall.waitFor(toRevision(30), soon());
  assert.ok(waiting);
  tell();
  await waiting;
  assert.equal(view.recall.waitFor(toRevision(30), soon()), undefined);
  await lifecycle[Symbol.asyncDispose]();
});

test("S1-WATCH-14: what the store can no longer tell bounds what a watch may ask for", async () => {
  const store = new ScriptedStore();
  store.history = [
    { type: "delete", key: configMap("lost", 0).key, modRevision: toRevision(5) },
    { type: "put", kv: configMap("a", 7) },
  ];
  store.kvs = [configMap("a", 7)];
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  view.recall.start(lifecycle);
  await view.recall.waitFor(toRevision(0), soon());
  const { ring } = view.partition("core/configmaps");
  assert.equal(ring.sequenceAfter(toRevision(4)), undefined);
  assert.equal(ring.sequenceAfter(toRevision(5)), ring.first);
  assert.equal(view.partition("core/secrets").ring.floor, 0, "of others everything is known");
  await lifecycle[Symbol.asyncDispose]();
});

test("a partition that goes takes its past with it, and one of its name knows nothing of that", async () => {
  const store = new ScriptedStore();
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const { key } = configMap("a", 0);
  store.deliver({ revision: toRevision(12), events: [{ type: "put", kv: configMap("a", 12) }] });
  await view.waitForRevision(toRevision(12), soon());
  const kept = view.partition("core/configmaps");
  view.retire("core/configmaps");
  assert.equal(view.partition("core/configmaps"), kept, "its object is still in the store");
  assert.equal(kept.size, 1);

  store.deliver({
    revision: toRevision(13),
    events: [{ type: "delete", key, modRevision: toRevision(13) }],
  });
  await view.waitForRevision(toRevision(13), soon());
  view.retire("core/configmaps");
  view.retire("core/configmaps");
  assert.equal(view.retention.ringBytes, 0);
  assert.deepEqual([...view.partitions], []);

  const { ring } = view.partition("core/configmaps");
  assert.equal(ring.sequenceAfter(toRevision(12)), undefined, "the deletion cannot be told");
  assert.equal(ring.sequenceAfter(toRevision(13)), ring.end);
  await lifecycle[Symbol.asyncDispose]();
});

test("a partition that somebody observes stays", async () => {
  const store = new ScriptedStore();
  const { view, lifecycle } = openView(store);
  await view.start(lifecycle, soon());
  const partition = view.partition("core/configmaps");
  partition.observe({ replaced() {}, put() {}, deleted() {} });
  view.retire("core/configmaps");
  assert.equal(view.partition("core/configmaps"), partition);
  await lifecycle[Symbol.asyncDispose]();
});

test("what an observer says of objects that are being loaded with its own holds for them", async () => {
  const store = new ScriptedStore();
  store.kvs = [configMap("a", 5)];
  store.history = [{ type: "put", kv: configMap("a", 5) }];
  let traits = {};
  const view = new RegistryView({
    store,
    prefix: "/registry",
    clock: systemClock,
    logger: silentLogger,
    traits: () => traits,
  });
  const lifecycle = new Lifecycle(silentLogger);
  view.partition("core/kinds").observe({
    replaced() {
      traits = { extractFields: () => ({ colour: "red" }) };
      view.takeTraits();
    },
    put() {},
    deleted() {},
  });
  await view.start(lifecycle, soon());
  view.recall.start(lifecycle);
  await view.recall.waitFor(toRevision(0), soon());
  const partition = view.partition("core/configmaps");
  assert.deepEqual(partition.get("default/a")?.fields, { colour: "red" });
  assert.deepEqual(partition.ring.at(partition.ring.first).state.fields, { colour: "red" });
  await lifecycle[Symbol.asyncDispose]();
});

test("many watchers get the events of writes under way in one piece, those of another resource at once", async () => {
  const store = new ScriptedStore();
  // It stands still, so nothing leaves because of the time.
  const { view, lifecycle } = openView(store, new ManualClock());
  await view.start(lifecycle, lifecycle.signal);
  const seen: string[] = [];
  let pieces = 0;
  const sink = {
    send: (_: string, { state }: ObjectEvent) => seen.push(state.name) > 0,
    cork: () => pieces++,
    uncork: () => {},
    lost: () => {},
    ended: () => {},
  };
  const options = { scope: { namespace: "" }, matches: () => true, sink };
  for (const id of ["core/configmaps", "core/secrets"]) {
    const partition = view.partition(id);
    for (let i = 0; i < 100; i++) partition.watch(options, view.revision)?.resume();
  }
  const [first, last] = [configMap("a", 11), configMap("b", 12)];
  for (const { key, value } of [first, last]) {
    assert.ok(view.expect(key, value, JSON.parse(value.toString())));
  }
  const tell = async (kv: KeyValue) => {
    store.deliver({ revision: kv.modRevision, events: [{ type: "put", kv }] });
    await settle();
  };

  await tell(first);
  assert.equal(seen.length, 0, "b is still under way");
  const secret = configMap("s", 12);
  await tell({ ...secret, key: secret.key.replace("configmaps", "secrets") });
  assert.deepEqual([seen.length, new Set(seen)], [100, new Set(["s"])]);
  seen.length = 0;
  await tell({ ...last, modRevision: toRevision(13) });
  assert.deepEqual(seen, Array.from({ length: 100 }, () => ["a", "b"]).flat());
  assert.equal(pieces, 100);
  await lifecycle[Symbol.asyncDispose]();
});
