/** Watch streams byte by byte: tables, initial events, ends; e2e/reads covers the rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { soon } from "../../../e2e/harness/eventually.js";
import { systemClock } from "../../../storage/base/clock.js";
import { ManualClock, settle } from "../../../storage/base/testing/manual-clock.js";
import type { StoredObject } from "../../../storage/objects/stored-object.js";
import type { RemoteConversion } from "../../kinds/conversion.js";
import { DEFAULT_TABLE } from "../tables/default-table.js";
import { openTestReads } from "./testing/test-reads.js";
import { WatchTicker } from "./watch-ticker.js";

interface Event {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly reason?: string;
    readonly columnDefinitions?: unknown[] | null;
    readonly rows?: { readonly object: { readonly metadata: { readonly name: string } } }[];
    readonly metadata: { readonly name?: string; readonly resourceVersion: string };
  };
}

async function eventsOf(answer: Response, count: number): Promise<Event[]> {
  assert.equal(answer.status, 200);
  const events: Event[] = [];
  let rest = "";
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + Buffer.from(chunk).toString()).split("\n");
    rest = lines.pop() ?? "";
    events.push(...lines.map((line) => JSON.parse(line) as Event));
    if (events.length >= count) break;
  }
  return events;
}

test("S1-TABLE-05: a table names its columns in the first event of each stream only, also when it is shared", async () => {
  await using reads = await openTestReads();
  const start = await reads.put("a");
  const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const url = `?watch=1&resourceVersion=${start}`;
  const early = await reads.get(url, table);
  await reads.put("b");
  await reads.put("c");
  const late = await reads.get(`${url}&x=1`, table);
  for (const answer of [early, late]) {
    const events = await eventsOf(answer, 2);
    const columns = events.map(({ object }) => (object.columnDefinitions ?? []).length > 0);
    assert.deepEqual(columns, [true, false]);
    assert.deepEqual(
      events.map(({ object }) => object.rows?.[0]?.object.metadata.name),
      ["b", "c"],
    );
  }
});

test("S1-WATCH-11: the state comes in the order of names, and what is written meanwhile after it, once", async () => {
  await using reads = await openTestReads();
  const stored = Array.from({ length: 2_000 }, (_, i) => `o-${String(i).padStart(4, "0")}`);
  await Promise.all(stored.map((name) => reads.put(name)));
  const answer = await reads.get("?watch=1");
  for (let i = 0; i < 20; i++) await reads.put(`n-${i}`);
  const events = await eventsOf(answer, 2_020);
  const names = events.map(({ object }) => object.metadata.name);
  assert.deepEqual(names.slice(0, 2_000), stored);
  assert.deepEqual(
    names.slice(2_000),
    Array.from({ length: 20 }, (_, i) => `n-${i}`),
  );
});

test("39.3, S1-WATCH-01: large events of the past come whole and in order, in every form, and wait for each other", async () => {
  await using reads = await openTestReads();
  const { view } = reads.harness.registry;
  const text = "x".repeat(200_000);
  const largeValue = (at: number) =>
    JSON.stringify({
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "large", namespace: "default" },
      data: { text, at: String(at) },
    });
  const start = await reads.put("before");
  let last = start;
  for (let at = 0; at < 20; at++) last = await reads.put("large", largeValue(at));
  await view.waitForRevision(last, soon());
  // From here on they are kept as their differences.
  while (view.retention.retire(systemClock.monotonic() + 60_000));
  const url = `?watch=1&resourceVersion=${start}`;
  const begunBefore = reads.largeEvents.begun;
  const answers = await Promise.all([
    ...[1, 2, 3].map((at) => reads.get(`${url}&x=${at}`)),
    reads.get(url, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"),
  ]);
  const [plain, ...others] = await Promise.all(answers.map((answer) => eventsOf(answer, 20)));
  const data = plain?.map(({ object }) => (object as { data?: object }).data);
  assert.deepEqual(
    data,
    Array.from({ length: 20 }, (_, at) => ({ text, at: String(at) })),
  );
  for (const events of others.slice(0, 2)) assert.deepEqual(events, plain);
  assert.deepEqual(
    others[2]?.map(({ object }) => object.metadata.resourceVersion),
    plain?.map(({ object }) => object.metadata.resourceVersion),
  );
  assert.equal(reads.largeEvents.begun - begunBefore, 4 * 20);
});

test("past deletions that a webhook converts are converted together, once each", async () => {
  const converted = new WeakSet<StoredObject>();
  const calls: number[] = [];
  const remote: RemoteConversion = {
    isReady: (object) => converted.has(object),
    async prepare(objects) {
      calls.push(objects.length);
      for (const object of objects) converted.add(object);
    },
  };
  const unused = () => assert.fail("watches do not write");
  const ofView = (object: StoredObject) => object;
  const conversion = { toStored: unused, fromStored: unused, ofView, remote };
  await using reads = await openTestReads({ conversion });
  const { view } = reads.harness.registry;
  const names = Array.from({ length: 30 }, (_, i) => `o-${i}`);
  for (const name of names) await reads.put(name);
  const start = await reads.put("last");
  for (const name of names) await reads.delete(name);
  await view.waitForRevision(await reads.delete("last"), soon());
  while (view.retention.retire(systemClock.monotonic() + 60_000));

  const events = await eventsOf(await reads.get(`?watch=1&resourceVersion=${start}`), 31);
  assert.deepEqual(
    events.map(({ type, object }) => `${type} ${object.metadata.name}`),
    [...names, "last"].map((name) => `DELETED ${name}`),
  );
  assert.deepEqual(calls, [31]);
});

test("S1-UNS-12: the state does not leave out what cannot be read, whatever is selected", async () => {
  await using reads = await openTestReads();
  await reads.put("a");
  await reads.put("b", "junk");
  const events = await eventsOf(await reads.get("?watch=1&labelSelector=name%3Da"), 9);
  const last = events.at(-1) as Event;
  assert.deepEqual([last.type, last.object.reason], ["ERROR", "StoreReadError"]);
});

test("S1-UNS-12: an object that has no such form ends the streams that would show it, and nothing else", async () => {
  const logged: string[] = [];
  await using reads = await openTestReads({
    onError: (message) => logged.push(message),
    printer: {
      ...DEFAULT_TABLE,
      row(object, nowMs) {
        if (object.name === "odd") throw new TypeError("nobody expected this");
        return DEFAULT_TABLE.row(object, nowMs);
      },
    },
  });
  const start = await reads.put("a");
  const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const live = await reads.get(`?watch=1&resourceVersion=${start}`, table);
  const plain = await reads.get(`?watch=1&resourceVersion=${start}`);
  await reads.put("odd");
  await reads.put("z");
  const state = await reads.get("?watch=1", table);

  for (const answer of [live, state]) {
    const last = (await eventsOf(answer, 9)).at(-1) as Event;
    assert.deepEqual([last.type, last.object.reason], ["ERROR", "StoreReadError"]);
  }
  const told = await eventsOf(plain, 2);
  assert.deepEqual(
    told.map(({ type, object }) => [type, object.metadata.name]),
    [
      ["ADDED", "odd"],
      ["ADDED", "z"],
    ],
  );
  assert.deepEqual(logged, Array(2).fill("a stored object cannot be shown to a watch"));
});

test("S1-QP-09, S1-QP-05: what the table calls invalid is refused before the stream begins", async () => {
  await using reads = await openTestReads();
  for (const [query, status] of [
    ["?watch=1&sendInitialEvents=true", 422],
    ["?watch=1&resourceVersionMatch=NotOlderThan", 422],
    ["?watch=1&resourceVersion=x", 400],
    ["?watch=1&labelSelector=%3D%3D", 400],
    ["?watch=1&fieldSelector=spec.x%3D1", 400],
  ] as const) {
    assert.equal((await reads.get(query)).status, status, query);
  }
});

test("S1-WATCH-07, S1-WATCH-23: bookmarks come about every minute and before the end, which comes after one to two times the least timeout", async () => {
  const clock = new ManualClock();
  await using reads = await openTestReads({ watchClock: clock });
  const start = await reads.put("a");
  const answer = await reads.get(`?watch=1&resourceVersion=${start}&allowWatchBookmarks=true`);
  const startedAt = clock.monotonic();
  const marks: number[] = [];
  let isOver = false;
  const reading = (async () => {
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      const { type, object } = JSON.parse(Buffer.from(chunk).toString()) as Event;
      assert.equal(type, "BOOKMARK");
      assert.ok(Number(object.metadata.resourceVersion) >= start);
      marks.push(Math.round((clock.monotonic() - startedAt) / 1_000));
    }
    isOver = true;
  })();
  // The test server's minimum timeout is 60 s.
  while (!isOver) {
    await clock.untilAsleep();
    clock.advance(500);
    // What was written meanwhile arrives before the answer to a later request, and time goes on when that is there.
    await (await reads.get("/a")).text();
    await settle();
  }
  await reading;
  const tookS = (clock.monotonic() - startedAt) / 1_000;
  assert.ok(tookS >= 60 && tookS <= 123, `${tookS} s`);
  const [first = 0] = marks;
  assert.ok(first >= 29 && first <= 61, `${marks}`);
  const last = marks.at(-1) ?? 0;
  assert.ok(last < tookS && tookS - last < 5, `${marks} of ${tookS}`);
});

test("S1-WATCH-27: watches end at once, or spread over the time that they are given", async () => {
  const clock = new ManualClock();
  const ticker = new WatchTicker(clock);
  await using reads = await openTestReads();
  const resource = reads.harness.resource("", "v1", "configmaps");
  const ended: number[] = [];
  const open = (count: number) => {
    for (let i = 0; i < count; i++) {
      ticker.add({ resource, tick() {}, endHere() {}, finish() {}, end: () => ended.push(i) });
    }
  };
  open(10);
  const ending = ticker.endAllOver(1_000, new AbortController().signal);
  const steps: number[] = [];
  for (let step = 0; step < 5; step++) {
    await clock.untilAsleep();
    steps.push(ended.length);
    clock.advance(200);
    await Promise.resolve();
  }
  await ending;
  assert.equal(ended.length, 10);
  assert.ok((steps[0] ?? 10) < 4, `${steps}`);
  open(3);
  ticker.endAll();
  assert.equal(ended.length, 13);
});
