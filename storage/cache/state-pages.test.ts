/** Pages of a store whose every answer the test decides: their order, their revision, and who waits for whom. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type RangeRequest, type RangeResult, toRevision } from "../kv/store.js";
import { StatePages } from "./state-pages.js";
import { configMap, ScriptedStore } from "./testing/scripted-store.js";

class RecordingStore extends ScriptedStore {
  readonly asked: RangeRequest[] = [];

  override range(request: RangeRequest): Promise<RangeResult> {
    this.asked.push(request);
    return super.range(request);
  }
}

function storeOf(objects: number): RecordingStore {
  const store = new RecordingStore();
  store.kvs = Array.from({ length: objects }, (_, i) => configMap(String(i).padStart(6, "0"), 5));
  return store;
}

const never = new AbortController().signal;

test("every key comes once, in order, as of the revision at which it was asked for", async () => {
  const store = storeOf(7_001);
  const pages = new StatePages(store, { prefix: "/registry" });
  const revision = await pages.revision;
  store.revision = toRevision(revision + 1);
  const keys: string[] = [];
  for await (const kvs of pages.pages(never)) for (const { key } of kvs) keys.push(key);
  assert.deepEqual(
    keys,
    store.kvs.map(({ key }) => key),
  );
  assert.deepEqual([...new Set(store.asked.map((request) => request.revision))], [revision]);
});

test("the first page is asked for before anybody reads, and each next one before the last is decoded", async () => {
  const store = storeOf(7_001);
  const pages = new StatePages(store, { prefix: "/registry" });
  await pages.revision;
  assert.equal(store.asked.length, 1);
  const reader = pages.pages(never);
  await reader.next();
  assert.equal(store.asked.length, 2);
  await reader.next();
  assert.equal(store.asked.length, 3);
});

test("a page has few keys where values are large, and the next has more again where they are small", async () => {
  const store = storeOf(4_000);
  store.kvs = store.kvs.map((kv, index) =>
    index < 1_000 ? { ...kv, value: Buffer.alloc(64 * 1024) } : kv,
  );
  const sizes: number[] = [];
  for await (const kvs of new StatePages(store, { prefix: "/registry" }).pages(never)) {
    sizes.push(kvs.reduce((sum, { value }) => sum + value.length, 0));
  }
  assert.ok(Math.max(...sizes.slice(1)) <= 8 * 1024 * 1024, `${sizes}`);
  assert.ok(sizes.length < 20, `${sizes.length} pages`);
});

test("an empty store has one page without keys", async () => {
  const pages: number[] = [];
  for await (const kvs of new StatePages(storeOf(0), { prefix: "/registry" }).pages(never)) {
    pages.push(kvs.length);
  }
  assert.deepEqual(pages, [0]);
});

test("whoever gives up waits for no revision either", async () => {
  const store = storeOf(10);
  store.answersAtOnce = false;
  const giving = new AbortController();
  const pages = new StatePages(store, { prefix: "/registry" }, giving.signal);
  giving.abort(new Error("given up"));
  await assert.rejects(pages.revision, /given up/);
  await assert.rejects(pages.pages(giving.signal).next(), /given up/);
});

test("whoever gives up gets no further page", async () => {
  const giving = new AbortController();
  const reader = new StatePages(storeOf(3_000), { prefix: "/registry" }).pages(giving.signal);
  await reader.next();
  giving.abort(new Error("given up"));
  await assert.rejects(reader.next(), /given up/);
});

test("a store that is down tells the reader, and nobody if there is none", async () => {
  const store = storeOf(10);
  store.range = () => Promise.reject(new Error("down"));
  new StatePages(store, { prefix: "/registry" });
  await assert.rejects(new StatePages(store, { prefix: "/registry" }).pages(never).next(), /down/);
});
