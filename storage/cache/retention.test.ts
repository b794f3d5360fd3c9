/** How much history is kept: by age, by bytes over all partitions, and by snapshots that pin it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Revision, toRevision } from "../kv/store.js";
import { ByteArena } from "../objects/byte-arena.js";
import { decodeStoredObject } from "../objects/decode-object.js";
import type { StoredObject } from "../objects/stored-object.js";
import { DEFAULT_RING_LIMITS, type ObjectEvent, type RingLimits } from "./event-ring.js";
import { Partition, type PartitionHost } from "./partition.js";
import { createHistoryMemory, type HistoryMemory, Retention } from "./retention.js";
import { NO_DELIVERY } from "./testing/no-delivery.js";

/** Partitions that share one retention; every write is one revision later. */
class Bench {
  revision = toRevision(1);
  nowMs = 1_000_000;
  readonly retention: Retention;
  readonly arena = new ByteArena();
  readonly partitions: Partition[] = [];

  constructor(limits: Partial<RingLimits>, memory?: HistoryMemory) {
    const all = { ...DEFAULT_RING_LIMITS, ...limits };
    this.retention = new Retention(all, this.partitions, memory);
    this.trim();
  }

  open(id: string): Partition {
    const partition = new Partition({
      id,
      host: this as unknown as PartitionHost,
      retention: this.retention,
      openDelivery: () => NO_DELIVERY,
      floor: this.revision,
    });
    this.partitions.push(partition);
    return partition;
  }

  put(partition: Partition, name: string, bytes = 1_000): void {
    this.revision = toRevision(this.revision + 1);
    partition.put(objectOf(name, this.revision, bytes), this.nowMs);
  }

  delete(partition: Partition, name: string): void {
    this.revision = toRevision(this.revision + 1);
    partition.delete(name, this.revision, this.nowMs);
  }

  trim(): void {
    this.retention.trim(this.nowMs);
    while (this.retention.retire(this.nowMs));
  }
}

function objectOf(name: string, revision: Revision, bytes: number): StoredObject {
  const object = { kind: "Pod", apiVersion: "v1", metadata: { name }, spec: "x".repeat(bytes) };
  const key = { path: name, namespace: "", name };
  return decodeStoredObject(key, Buffer.from(JSON.stringify(object)), revision, undefined);
}

test("S1-LIM-03: events younger than 75 seconds stay, however many they are", () => {
  const bench = new Bench({ bytesMax: 10_000 });
  const busy = bench.open("core/pods");
  for (let i = 0; i < 100; i++) {
    bench.put(busy, "a");
    bench.nowMs += 740;
  }
  bench.trim();
  assert.equal(busy.ring.length, 100);
  bench.nowMs += 75_000;
  bench.trim();
  assert.ok(bench.retention.ringBytes <= 10_000);
  assert.ok(busy.ring.length > 0, "what fits into the budget stays longer");
});

test("S1-LIM-01, S1-WATCH-16: what fits into the budget stays as long as the store's history, no longer", () => {
  const bench = new Bench({});
  const quiet = bench.open("core/pods");
  bench.put(quiet, "a");
  bench.nowMs += 300_000;
  bench.trim();
  assert.equal(quiet.ring.length, 1);
  bench.nowMs += 30_001;
  bench.trim();
  assert.equal(quiet.ring.length, 0);
  assert.equal(quiet.ring.floor, bench.revision);
  assert.equal(bench.retention.ringBytes, 0);
});

test("S1-LIM-03: a busy resource uses what quiet ones leave, and the oldest event of all goes first", () => {
  const bench = new Bench({ bytesMax: 60_000 });
  const quiet = bench.open("core/secrets");
  const busy = bench.open("core/pods");
  bench.put(quiet, "old");
  bench.nowMs += 10;
  for (let i = 0; i < 30; i++) bench.put(busy, `a-${i}`);
  bench.nowMs += 10;
  bench.put(quiet, "new");
  bench.nowMs += 80_000;
  bench.trim();
  assert.equal(quiet.ring.length + busy.ring.length, 32, "all fit");
  for (let i = 0; i < 20; i++) bench.put(busy, `b-${i}`);
  bench.trim();
  assert.equal(quiet.ring.length, 1, "the oldest of all is gone, the newer one of the quiet stays");
  assert.ok(busy.ring.length >= 20, "what is young stays");
  assert.ok(bench.retention.ringBytes <= 60_000);
});

test("S1-WATCH-24: a storm of writes is bounded even within the 75 seconds, and what it costs is counted", () => {
  const bench = new Bench({ bytesMax: 20_000, hardBytesMax: 50_000 });
  const busy = bench.open("core/pods");
  for (let i = 0; i < 200; i++) {
    bench.put(busy, "a");
    bench.retention.settle(bench.nowMs);
  }
  assert.ok(bench.retention.ringBytes <= 50_000);
  assert.ok(busy.ring.droppedEarly > 100);
  assert.equal(busy.ring.droppedEarly + busy.ring.length, 200);
});

test("versions that are past are kept as their differences, read as before, and are paid for as that", () => {
  const bench = new Bench({});
  const pods = bench.open("core/pods");
  const seen: { object: StoredObject; text: string }[] = [];
  for (let i = 0; i < 50; i++) {
    bench.put(pods, "a", 2_000);
    const object = pods.get("a");
    if (object !== undefined) seen.push({ object, text: object.bytes.toString() });
  }
  bench.put(pods, "b", 2_000);
  const before = pods.ring.bytes;
  bench.nowMs += 5_000;
  bench.trim();
  assert.ok(pods.ring.bytes < before / 2, `${pods.ring.bytes} of ${before}`);
  assert.equal(pods.ring.bytes, bench.retention.ringBytes);
  for (const { object, text } of seen) assert.equal(object.bytes.toString(), text);
  assert.ok(seen.filter(({ object }) => object.keptLength < 200).length > 40);
  const old = pods.snapshotAt(toRevision(bench.revision - 20))?.tree.get("a");
  assert.equal(old, seen.find(({ object }) => object.revision === bench.revision - 20)?.object);
  bench.nowMs += 400_000;
  bench.trim();
  assert.equal(bench.retention.ringBytes, 0, "what was counted goes with the events");
});

function shownBy(event: ObjectEvent): StoredObject {
  return event.type === "DELETED" ? event.departure : event.state;
}

test("deleted objects that resemble one another are kept as their differences, and read as before", () => {
  const bench = new Bench({});
  const pods = bench.open("core/pods");
  const names = Array.from({ length: 300 }, (_, i) => `pod-${1_000 + i}`);
  for (const name of names) bench.put(pods, name, 2_000);
  bench.put(pods, "of-another-kind", 5);
  bench.put(pods, names[0] as string, 2_001);
  for (const name of [...names.slice(0, 150), "of-another-kind", ...names.slice(150)]) {
    bench.delete(pods, name);
  }
  const events = Array.from({ length: pods.ring.length }, (_, i) =>
    pods.ring.at(pods.ring.first + i),
  );
  const texts = () => events.map((event) => shownBy(event).bytes.toString());
  const replaced = () => events.map(({ previous }) => previous?.bytes.toString());
  const before = { texts: texts(), replaced: replaced(), bytes: pods.ring.bytes };
  bench.nowMs += 5_000;
  bench.trim();
  assert.deepEqual([texts(), replaced()], [before.texts, before.replaced]);
  const overhead = events.length * 400;
  assert.ok(pods.ring.bytes - overhead < (before.bytes - overhead) / 10, `${pods.ring.bytes}`);
  assert.equal(pods.ring.bytes, bench.retention.ringBytes);
  bench.trim();
  assert.deepEqual(texts(), before.texts);
  bench.nowMs += 400_000;
  bench.trim();
  assert.equal(bench.retention.ringBytes, 0, "what was counted goes with the events");
});

test("S1-WATCH-05: an object is deleted after any number of versions, and each is sent as it was", () => {
  const bench = new Bench({});
  const pods = bench.open("core/pods");
  for (let versions = 1; versions <= 40; versions++) {
    for (let i = 0; i < versions; i++) bench.put(pods, `pod-${versions}`, 500);
    bench.delete(pods, `pod-${versions}`);
  }
  const sent = () =>
    Array.from({ length: pods.ring.length }, (_, i) => {
      const event = pods.ring.at(pods.ring.first + i);
      const object = shownBy(event);
      assert.equal(object.revision, event.revision);
      const { metadata } = JSON.parse(object.bytes.toString());
      assert.equal(metadata.resourceVersion, String(event.revision));
      return `${event.type} ${object.bytes.toString()}`;
    });
  const before = sent();
  bench.nowMs += 5_000;
  bench.trim();
  assert.deepEqual(sent(), before);
});

test("S1-WATCH-24: encodings are shared while an event is recent and cost nothing afterwards", () => {
  const bench = new Bench({});
  const pods = bench.open("core/pods");
  bench.put(pods, "a");
  const event = pods.ring.at(pods.ring.first);
  event.keepEncoding("json", "encoded");
  assert.equal(event.encoding("json"), "encoded");
  bench.nowMs += 5_000;
  bench.trim();
  assert.equal(event.encoding("json"), undefined);
  event.keepEncoding("json", "encoded");
  assert.equal(event.encoding("json"), undefined);
});

test("S1-RV-27: kept snapshots cost what they alone hold, are bounded by it, and give it back", () => {
  const bench = new Bench({ bytesMax: 50_000, minAgeMs: 0 });
  const pods = bench.open("core/pods");
  for (let i = 0; i < 20; i++) bench.put(pods, `pod-${i}`);
  const first = pods.snapshot();
  pods.keep(first);
  bench.put(pods, "pod-0");
  const second = pods.snapshot();
  pods.keep(second);
  for (let i = 0; i < 20; i++) bench.put(pods, `pod-${i}`, 2_000);
  assert.equal(bench.retention.pinnedBytes, 0, "the ring still holds what was replaced");
  bench.nowMs += 100;
  for (let i = 0; i < 20; i++) bench.put(pods, `pod-${i}`, 2_000);
  bench.trim();
  assert.ok(bench.retention.pinnedBytes > 0, "now the snapshots alone hold it");
  assert.ok(bench.retention.pinnedBytes <= 50_000);
  assert.equal(pods.snapshotAt(second.revision)?.tree.get("pod-0")?.revision, second.revision);
  bench.nowMs += 330_001;
  bench.trim();
  assert.equal(pods.snapshots, 0, "nobody continues a list that old");
  assert.equal(bench.retention.pinnedBytes, 0);
});

test("S1-RV-27: the oldest snapshot goes when snapshots hold more than their budget", () => {
  const bench = new Bench({ bytesMax: 10_000, minAgeMs: 0 });
  const pods = bench.open("core/pods");
  const kept: Revision[] = [];
  for (let round = 0; round < 10; round++) {
    for (let i = 0; i < 3; i++) bench.put(pods, `pod-${i}`, 1_500);
    const snapshot = pods.snapshot();
    pods.keep(snapshot);
    kept.push(snapshot.revision);
    bench.nowMs += 10;
    bench.trim();
  }
  bench.nowMs += 10;
  bench.trim();
  assert.ok(bench.retention.pinnedBytes <= 10_000);
  assert.ok(bench.retention.evictedSnapshots > 0);
  assert.equal(pods.snapshotAt(kept[0] as Revision), undefined);
  assert.notEqual(pods.snapshotAt(kept.at(-1) as Revision), undefined);
});

test("a busy second is retired a few events at a time", () => {
  const bench = new Bench({});
  const busy = bench.open("core/pods");
  for (let i = 0; i < 200; i++) bench.put(busy, "a");
  bench.nowMs += 3_000;
  const before = bench.retention.ringBytes;
  let slices = 1;
  while (bench.retention.retire(bench.nowMs)) slices++;
  assert.ok(bench.retention.ringBytes < before / 2, "past versions are kept as differences");
  assert.ok(slices >= 200 / 32, `${slices} slices`);
});

test("44: views that share a budget are within it together, and one that holds little loses nothing", () => {
  const limits = { ...DEFAULT_RING_LIMITS, bytesMax: 100_000, hardBytesMax: 300_000 };
  const memory = createHistoryMemory(limits);
  const quiet = new Bench(limits, memory);
  const secrets = quiet.open("core/secrets");
  for (let i = 0; i < 5; i++) quiet.put(secrets, "a");
  const from = secrets.revision;
  const loud = [1, 2, 3].map(() => new Bench(limits, memory));
  const busy = loud.map((bench) => bench.open("core/pods"));
  for (let i = 0; i < 150; i++) {
    for (const [index, bench] of loud.entries()) {
      bench.put(busy[index] as Partition, `a-${i}`);
      bench.retention.settle(bench.nowMs);
      assert.ok(memory.events.bytes <= 300_000, "a storm, each of them below the bound");
    }
  }
  for (const bench of [quiet, ...loud]) bench.nowMs += 80_000;
  for (const bench of [quiet, ...loud]) bench.trim();
  assert.ok(memory.events.bytes <= 100_000, "what is old");
  assert.equal(secrets.ring.length, 5);
  assert.notEqual(secrets.ring.sequenceAfter(from), undefined);
  const [least = 0] = busy.map(({ ring }) => ring.bytes).sort((one, other) => one - other);
  assert.ok(least > 25_000, "those that are over get as much each");
  loud[0]?.retention.close();
  const left = [quiet, ...loud.slice(1)].reduce(
    (sum, { retention }) => sum + retention.ringBytes,
    0,
  );
  assert.equal(memory.events.bytes, left);
});

test("44: a watch ends that was behind events which gave way to those of another view", () => {
  const limits = { ...DEFAULT_RING_LIMITS, bytesMax: 10_000, hardBytesMax: 20_000 };
  const memory = createHistoryMemory(limits);
  const [one, other] = [new Bench(limits, memory), new Bench(limits, memory)];
  const [busy, also] = [one.open("core/pods"), other.open("core/pods")];
  const from = one.revision;
  for (let i = 0; i < 12; i++) one.put(busy, `a-${i}`);
  let ended = 0;
  const lost = () => void ended++;
  const sink = { send: () => false, cork() {}, uncork() {}, lost, ended() {} };
  busy.watch({ scope: { namespace: "" }, matches: () => true, sink }, from)?.resume();
  for (let i = 0; i < 12; i++) other.put(also, `a-${i}`);
  other.retention.settle(other.nowMs);
  assert.equal(ended, 1);
  assert.equal(busy.ring.sequenceAfter(from), undefined, "410");
});
