/** The view of one resource: snapshots at any kept revision, and watchers as cursors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Revision, toRevision } from "../kv/store.js";
import { ByteArena } from "../objects/byte-arena.js";
import { decodeStoredObject } from "../objects/decode-object.js";
import type { StoredObject } from "../objects/stored-object.js";
import { DEFAULT_RING_LIMITS, type ObjectEvent, type RingLimits } from "./event-ring.js";
import { ObjectTree } from "./object-tree.js";
import { Partition, type PartitionHost, UNDONE_EVENTS_MAX } from "./partition.js";
import { Retention } from "./retention.js";
import type { Watcher, WatchSink } from "./watcher.js";

/** A partition whose revisions the test sets by hand. */
class Bench {
  revision = toRevision(1);
  nowMs = 0;
  readonly arena = new ByteArena();
  readonly awake: Watcher[] = [];
  readonly retention: Retention;
  readonly partition: Partition;

  constructor(limits: RingLimits = DEFAULT_RING_LIMITS) {
    const all: Partition[] = [];
    this.retention = new Retention(limits, all);
    this.partition = new Partition({
      id: "core/pods",
      host: this as unknown as PartitionHost,
      retention: this.retention,
      openDelivery: () => this,
      floor: this.revision,
      traits: { triggerField: "spec.nodeName" },
    });
    all.push(this.partition);
  }

  markAwake(watcher: Watcher): void {
    this.awake.push(watcher);
  }

  appended(): void {}

  put(path: string, labels: Record<string, string> = {}, nodeName = ""): void {
    this.revision = toRevision(this.revision + 1);
    this.partition.put(podAt(path, this.revision, labels, nodeName), this.nowMs);
  }

  delete(path: string): void {
    this.revision = toRevision(this.revision + 1);
    this.partition.delete(path, this.revision, this.nowMs);
  }

  trim(): void {
    this.retention.trim(this.nowMs);
  }

  flush(): void {
    for (const watcher of this.awake.splice(0)) watcher.deliver();
  }
}

function podAt(
  path: string,
  revision: Revision,
  labels: Record<string, string>,
  nodeName: string,
): StoredObject {
  const [namespace = "", name = ""] = path.split("/");
  const object = {
    kind: "Pod",
    apiVersion: "v1",
    metadata: { name, namespace, uid: `uid-${revision}`, labels },
    spec: { nodeName },
  };
  const value = Buffer.from(JSON.stringify(object));
  return decodeStoredObject({ path, namespace, name }, value, revision, {
    extractFields: () => ({ "spec.nodeName": nodeName }),
  });
}

/** Writes down what a client would see; takes `room` events at a time. */
class Recorder implements WatchSink {
  readonly seen: string[] = [];
  room = Number.POSITIVE_INFINITY;
  isLost = false;

  send(type: string, event: ObjectEvent): boolean {
    const object = type === "DELETED" ? event.departure : event.state;
    this.seen.push(`${type} ${object.path}@${object.revision}`);
    return --this.room > 0;
  }
  cork(): void {}
  uncork(): void {}
  ended(): void {
    this.seen.push("ended");
  }

  lost(): void {
    this.isLost = true;
  }
}

function watch(
  bench: Bench,
  scope: { namespace: string; name?: string; trigger?: string },
  matches: (object: StoredObject) => boolean,
  after = bench.revision,
): { recorder: Recorder; watcher: Watcher } {
  const recorder = new Recorder();
  const watcher = bench.partition.watch({ scope, matches, sink: recorder }, after);
  if (watcher === undefined) throw new Error("the history is gone");
  watcher.resume();
  return { recorder, watcher };
}

const everything = () => true;

test("S1-RV-27: a snapshot at any revision in the ring equals the state that was there", () => {
  const command = fc.record({
    path: fc.constantFrom("a/1", "a/2", "b/1", "b/2", "c/1"),
    isDelete: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const bench = new Bench();
      const states = new Map<Revision, string[]>();
      const current = new Map<string, string>();
      states.set(bench.revision, []);
      for (const { path, isDelete } of commands) {
        if (isDelete) {
          bench.delete(path);
          current.delete(path);
        } else {
          bench.put(path);
          current.set(path, `${path}@${bench.revision}`);
        }
        states.set(
          bench.revision,
          [...current.keys()].sort().map((key) => current.get(key) ?? ""),
        );
      }
      for (const [revision, expected] of states) {
        const snapshot = bench.partition.snapshotAt(revision);
        const seen: string[] = [];
        snapshot?.tree.visit("", "", (object) => {
          seen.push(`${object.path}@${object.revision}`);
          return undefined;
        });
        assert.deepEqual(seen, expected, `at ${revision}`);
      }
    }),
  );
});

test("S1-RV-27: a revision that would take long to go back to is left to the store", () => {
  const bench = new Bench();
  bench.put("a/1");
  const early = bench.revision;
  bench.put("a/1");
  for (let i = 0; i < UNDONE_EVENTS_MAX; i++) bench.put("a/2");
  // A client may ask for one revision after the other, and each is a turn, and kept.
  assert.ok(UNDONE_EVENTS_MAX <= 5_000);
  assert.equal(bench.partition.snapshotAt(early), undefined);
  const late = toRevision(early + 1);
  assert.equal(bench.partition.snapshotAt(late)?.tree.get("a/1")?.revision, late);
});

test("S1-LIST-03: a snapshot does not see what comes after it", () => {
  const bench = new Bench();
  bench.put("a/1");
  const snapshot = bench.partition.snapshot();
  bench.put("a/2");
  bench.delete("a/1");
  assert.equal(snapshot.tree.size, 1);
  assert.equal(snapshot.tree.get("a/1")?.revision, 2);
  assert.equal(bench.partition.size, 1);
});

test("S1-COLL-09: a visit goes in key order, within a namespace, from where the last one ended", () => {
  const bench = new Bench();
  for (const path of ["b/1", "a/2", "a/1", "a/10", "ab/1"]) bench.put(path);
  const visit = (namespace: string, after: string) => {
    const paths: string[] = [];
    bench.partition.snapshot().tree.visit(namespace, after, (object) => {
      paths.push(object.path);
      return undefined;
    });
    return paths;
  };
  assert.deepEqual(visit("", ""), ["a/1", "a/10", "a/2", "ab/1", "b/1"]);
  assert.deepEqual(visit("a", ""), ["a/1", "a/10", "a/2"]);
  assert.deepEqual(visit("a", "a/10"), ["a/2"]);
  assert.deepEqual(visit("", "a/2"), ["ab/1", "b/1"]);
  assert.equal(bench.partition.snapshot().tree.count("a", "a/1"), 2);
  assert.equal(bench.partition.snapshot().tree.count("", ""), 5);
});

test("S1-WATCH-03..05: a watcher sees additions, changes and deletions in order, each once", () => {
  const bench = new Bench();
  bench.put("a/1");
  const { recorder } = watch(bench, { namespace: "" }, everything);
  bench.put("a/2");
  bench.put("a/2");
  bench.flush();
  bench.delete("a/1");
  bench.flush();
  assert.deepEqual(recorder.seen, ["ADDED a/2@3", "MODIFIED a/2@4", "DELETED a/1@5"]);
});

test("S1-WATCH-21: entering a selector is ADDED, leaving it is DELETED with the state the client knew", () => {
  const bench = new Bench();
  const isBlue = (object: StoredObject) => object.labels.colour === "blue";
  const { recorder } = watch(bench, { namespace: "" }, isBlue);
  bench.put("a/1", { colour: "red" });
  bench.put("a/1", { colour: "blue" });
  bench.put("a/1", { colour: "blue" });
  bench.put("a/1", { colour: "red" });
  bench.delete("a/1");
  bench.flush();
  assert.deepEqual(recorder.seen, ["ADDED a/1@3", "MODIFIED a/1@4", "DELETED a/1@5"]);
});

test("S1-WATCH-22: only watchers whose namespace, name or trigger field is concerned are woken", () => {
  const bench = new Bench();
  const inA = watch(bench, { namespace: "a" }, (object) => object.namespace === "a");
  const inB = watch(bench, { namespace: "b" }, (object) => object.namespace === "b");
  const one = watch(bench, { namespace: "a", name: "1" }, (object) => object.path === "a/1");
  const anyOne = watch(bench, { namespace: "", name: "1" }, (object) => object.name === "1");
  const node = watch(
    bench,
    { namespace: "", trigger: "n1" },
    (object) => object.fields["spec.nodeName"] === "n1",
  );
  bench.put("a/2", {}, "n2");
  assert.deepEqual(bench.awake, [inA.watcher]);
  bench.flush();
  bench.put("a/1", {}, "n1");
  assert.deepEqual(
    new Set(bench.awake),
    new Set([inA.watcher, one.watcher, anyOne.watcher, node.watcher]),
  );
  bench.flush();
  bench.put("a/1", {}, "n2");
  bench.flush();
  assert.deepEqual(node.recorder.seen, ["ADDED a/1@3", "DELETED a/1@4"]);
  assert.deepEqual(one.recorder.seen, ["ADDED a/1@3", "MODIFIED a/1@4"]);
  assert.deepEqual(anyOne.recorder.seen, one.recorder.seen);
  assert.deepEqual(inB.recorder.seen, []);
});

test("S1-WATCH-10: a watch from an earlier revision gets exactly what came after it", () => {
  const bench = new Bench();
  for (let i = 0; i < 10; i++) bench.put(`a/${i}`);
  const { recorder } = watch(bench, { namespace: "" }, everything, toRevision(8));
  assert.deepEqual(recorder.seen, ["ADDED a/7@9", "ADDED a/8@10", "ADDED a/9@11"]);
});

test("S1-WATCH-24: a full sink stops delivery at its place, and goes on from there when it drains", () => {
  const bench = new Bench();
  const { recorder, watcher } = watch(bench, { namespace: "" }, everything);
  recorder.room = 2;
  for (let i = 0; i < 5; i++) bench.put(`a/${i}`);
  bench.flush();
  assert.equal(recorder.seen.length, 2);
  assert.equal(watcher.completeRevision, undefined);
  bench.put("a/5");
  bench.flush();
  recorder.room = 100;
  watcher.resume();
  assert.deepEqual(
    recorder.seen,
    [0, 1, 2, 3, 4, 5].map((i) => `ADDED a/${i}@${i + 2}`),
  );
  assert.equal(watcher.completeRevision, bench.revision);
});

test("S1-WATCH-14, S1-LIM-03: the ring keeps 75 seconds; who falls behind further is lost", () => {
  const limits = { ...DEFAULT_RING_LIMITS, bytesMax: 1 };
  const bench = new Bench(limits);
  const start = bench.revision;
  const slow = watch(bench, { namespace: "" }, everything);
  slow.recorder.room = 1;
  for (let i = 0; i < 3; i++) {
    bench.put(`a/${i}`);
    bench.flush();
    bench.nowMs += 30_000;
    bench.trim();
  }
  assert.equal(bench.partition.ring.length, 2);
  assert.equal(
    bench.partition.watch(
      { scope: { namespace: "" }, matches: everything, sink: slow.recorder },
      start,
    ),
    undefined,
  );
  slow.recorder.room = 100;
  bench.nowMs += 100_000;
  bench.trim();
  slow.watcher.resume();
  assert.equal(slow.recorder.isLost, true);
  assert.equal(bench.partition.watchers, 0);
});

test("S1-WATCH-24: a client that does not read is cut off when the ring has moved past its place", () => {
  const bench = new Bench({ ...DEFAULT_RING_LIMITS, bytesMax: 1 });
  const { recorder, watcher } = watch(bench, { namespace: "" }, everything);
  recorder.room = 1;
  for (let i = 0; i < 3; i++) bench.put(`a/${i}`);
  bench.flush();
  bench.nowMs += 100_000;
  bench.trim();
  assert.equal(recorder.isLost, true, "without waiting for its socket to drain");
  assert.equal(bench.partition.watchers, 0);
  watcher.resume();
  assert.deepEqual(recorder.seen, ["ADDED a/0@2"]);
});

test("S1-WATCH-24: a client that does not read is not cut off for events that do not concern it", () => {
  const bench = new Bench({ ...DEFAULT_RING_LIMITS, bytesMax: 1 });
  const { recorder, watcher } = watch(bench, { namespace: "a" }, (o) => o.namespace === "a");
  recorder.room = 1;
  bench.put("a/1");
  bench.flush();
  for (let i = 0; i < 3; i++) bench.put(`b/${i}`);
  bench.nowMs += 100_000;
  bench.trim();
  assert.equal(recorder.isLost, false);
  recorder.room = 100;
  bench.put("a/2");
  watcher.resume();
  assert.deepEqual(recorder.seen, ["ADDED a/1@2", "ADDED a/2@6"]);
});

test("S1-WATCH-24: a client far behind is served in bursts, so that others get their turn", () => {
  const bench = new Bench();
  for (let i = 0; i < 12_000; i++) bench.put("a/1");
  const { recorder } = watch(bench, { namespace: "" }, everything, toRevision(1));
  assert.ok(recorder.seen.length < 12_000);
  for (let turn = 0; turn < 5; turn++) bench.flush();
  assert.equal(recorder.seen.length, 12_000);
});

test("S1-WATCH-15, S1-WATCH-06: a watch from a future version gets what comes after it, and no bookmark before", () => {
  const bench = new Bench();
  const { recorder, watcher } = watch(bench, { namespace: "" }, everything, toRevision(3));
  bench.put("a/1");
  bench.flush();
  assert.equal(watcher.completeRevision, undefined);
  bench.put("a/1");
  bench.put("a/1");
  bench.flush();
  assert.deepEqual(recorder.seen, ["MODIFIED a/1@4"]);
  assert.equal(watcher.completeRevision, 4);
});

test("S1-UNS-12: an object that cannot be read is told to every watcher in its scope, whatever they select", () => {
  const bench = new Bench();
  bench.put("a/1", { colour: "blue" });
  const isBlue = (object: StoredObject) => object.labels.colour === "blue";
  const blue = watch(bench, { namespace: "a" }, isBlue).recorder;
  const elsewhere = watch(bench, { namespace: "b" }, (o) => o.namespace === "b").recorder;
  bench.revision = toRevision(bench.revision + 1);
  const key = { path: "a/1", namespace: "a", name: "1" };
  bench.partition.put(decodeStoredObject(key, Buffer.from("junk"), bench.revision, undefined), 0);
  bench.flush();
  assert.deepEqual(blue.seen, ["MODIFIED a/1@3"]);
  assert.deepEqual(elsewhere.seen, []);
  const before = bench.partition.snapshotAt(toRevision(2));
  assert.deepEqual([...bench.partition.corrupt], ["a/1"]);
  assert.deepEqual([...(before?.tree.corrupt ?? [])], [], "it could be read then");
});

test("CacheEqualsStore: a view that starts anew ends all watchers and forgets its history", () => {
  const bench = new Bench();
  const { recorder } = watch(bench, { namespace: "a" }, everything);
  bench.put("a/1");
  bench.partition.replace(new ObjectTree(), toRevision(50));
  assert.equal(recorder.isLost, true);
  assert.equal(bench.partition.size, 0);
  assert.equal(bench.partition.ring.sequenceAfter(toRevision(2)), undefined);
});

test("Unique: an event that is not newer than the object is a defect", () => {
  const bench = new Bench();
  bench.put("a/1");
  const same = podAt("a/1", bench.revision, {}, "");
  assert.throws(() => bench.partition.put(same, 0), { name: "InvariantError" });
});

test("CacheEqualsStore: an observer is told what there is, then each change in its own turn, and of a new state", () => {
  const bench = new Bench();
  bench.put("a/1");
  const told: string[] = [];
  bench.partition.observe({
    replaced: (tree) => told.push(`replaced ${tree.size}`),
    put: (object, previous) =>
      told.push(`put ${object.path}@${object.revision} after ${previous?.revision}`),
    deleted: (previous) => told.push(`deleted ${previous.path}@${previous.revision}`),
  });
  const first = bench.revision;
  bench.put("a/1");
  bench.put("b/1");
  bench.delete("a/1");
  bench.delete("a/1");
  bench.partition.replace(new ObjectTree(), bench.revision);
  assert.deepEqual(told, [
    "replaced 1",
    `put a/1@${first + 1} after ${first}`,
    `put b/1@${first + 2} after undefined`,
    `deleted a/1@${first + 1}`,
    "replaced 0",
  ]);
});

test("a partition that nobody serves any more sends what there is and ends its watchers", () => {
  const bench = new Bench();
  const { recorder } = watch(bench, { namespace: "" }, everything);
  const { recorder: full } = watch(bench, { namespace: "a" }, everything);
  full.room = 1;
  bench.put("a/1");
  bench.put("a/2");
  bench.delete("a/1");
  bench.delete("a/2");
  assert.equal(bench.partition.retire(), true);
  assert.deepEqual(recorder.seen, [
    "ADDED a/1@2",
    "ADDED a/2@3",
    "DELETED a/1@4",
    "DELETED a/2@5",
    "ended",
  ]);
  assert.deepEqual(full.seen, ["ADDED a/1@2", "ended"]);
  assert.equal(bench.partition.watchers, 0);
  assert.equal(bench.retention.ringBytes, 0);
});

test("a watcher that is to end here is sent what there is by now, and promises nothing beyond", () => {
  const bench = new Bench();
  const { recorder, watcher } = watch(bench, { namespace: "" }, everything);
  bench.put("a/1");
  watcher.endHere();
  bench.put("a/2");
  bench.delete("a/1");
  assert.equal(watcher.completeRevision, undefined);
  bench.flush();
  bench.put("a/3");
  bench.flush();
  assert.equal(watcher.completeRevision, undefined);
  watcher.finish();
  assert.deepEqual(recorder.seen, ["ADDED a/1@2", "ended"]);

  const { recorder: idle, watcher: other } = watch(bench, { namespace: "" }, everything);
  other.endHere();
  bench.put("a/4");
  bench.flush();
  other.finish();
  assert.deepEqual(idle.seen, ["ended"]);
});

test("with other traits selectors see other fields of objects and of events, and the log goes on", () => {
  const bench = new Bench();
  bench.put("a/1", { colour: "red" });
  const start = bench.revision;
  bench.put("a/1", { colour: "blue" });
  let reads = 0;
  bench.partition.takeTraits({
    triggerField: "spec.nodeName",
    extractFields(object) {
      reads++;
      const { labels } = object.metadata as { labels: Record<string, string> };
      return { "metadata.colour": labels.colour ?? "" };
    },
  });
  assert.equal(reads, 0, "fields are read when somebody asks");
  const isRed = (object: StoredObject) => object.fields["metadata.colour"] === "red";
  const { recorder } = watch(bench, { namespace: "" }, isRed, start);
  assert.deepEqual(recorder.seen, [`DELETED a/1@${start + 1}`]);
  assert.equal(bench.partition.get("a/1")?.fields["metadata.colour"], "blue");
  assert.equal(recorder.isLost, false);

  bench.partition.takeTraits({ triggerField: "metadata.colour" });
  assert.equal(recorder.isLost, true, "it was filed by another field");
  assert.deepEqual(bench.partition.get("a/1")?.fields, {});
});

test("39.3: a watcher far behind whose selector takes long goes on in later turns, and misses nothing", () => {
  const bench = new Bench();
  const start = bench.revision;
  for (let at = 0; at < 100; at++) bench.put(`a/${at}`);
  bench.flush();
  let ms = 0;
  const recorder = new Recorder();
  const matches = () => {
    ms++;
    return true;
  };
  const watcher = bench.partition.watch(
    { scope: { namespace: "" }, matches, sink: recorder, time: { now: () => ms } },
    start,
  );
  assert.ok(watcher !== undefined);
  watcher.resume();
  const inOneTurn = recorder.seen.length;
  assert.ok(inOneTurn >= 5 && inOneTurn <= 16, String(inOneTurn));
  while (recorder.seen.length < 100) {
    const before = recorder.seen.length;
    bench.flush();
    assert.ok(recorder.seen.length > before && recorder.seen.length <= before + 16);
  }
  assert.deepEqual(
    recorder.seen,
    Array.from({ length: 100 }, (_, at) => `ADDED a/${at}@${start + 1 + at}`),
  );
});
