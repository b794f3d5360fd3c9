/** One watch for many registries, whose batches the test makes: who gets what, and when a part has to load anew. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SharedFeed } from "./shared-feed.js";
import {
  type Revision,
  type RevisionedStore,
  type StoreEvent,
  toRevision,
  type WatchBatch,
  type WatchOptions,
} from "./store.js";

const never = new AbortController().signal;
const PREFIX = "/registry/";

function putAt(revision: number, key: string): StoreEvent {
  const modRevision = toRevision(revision);
  const kv = { key, value: Buffer.from("{}"), modRevision, createRevision: modRevision };
  return { type: "put", kv };
}

/** A feed whose next batch the test gives, and the registry above, which reads it. */
function openFeed(after = 10) {
  const given: WatchBatch[] = [];
  const store = {
    watch: () => ({
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: given.shift() as WatchBatch }),
      }),
    }),
    requestProgress() {},
    get: async () => ({ kv: undefined, revision: toRevision(after) }),
    range: async () => ({ kvs: [], more: false, count: 0, revision: toRevision(after) }),
    commit: async () => ({ succeeded: true, revision: toRevision(after) }),
  } as unknown as RevisionedStore;
  const partsPrefix = `${PREFIX}.control-planes/`;
  const feed = new SharedFeed({ store, prefix: PREFIX, partsPrefix });
  const watchFrom = (revision: number) =>
    feed.store
      .watch({ prefix: PREFIX, after: toRevision(revision) }, never)
      [Symbol.asyncIterator]();
  let root = watchFrom(after);
  return {
    feed,
    keyOf: (part: string, rest: string) => `${partsPrefix}${part}/${rest}`,
    async give(revision: number, ...keys: string[]): Promise<readonly string[]> {
      const events = keys.map((key) => putAt(revision, key));
      given.push({ revision: toRevision(revision), events });
      const { value } = await root.next();
      return keysOf(value);
    },
    restart(revision: number) {
      root = watchFrom(revision);
    },
    part(name: string, fresh = async () => toRevision(after)) {
      const part = feed.part(name, fresh);
      const read = (from: number) =>
        part.watch({ prefix: part.prefix, after: toRevision(from) }, never)[Symbol.asyncIterator]();
      return { part, read };
    },
  };
}

function keysOf({ events }: WatchBatch): string[] {
  return events.map((event) => (event.type === "put" ? event.kv.key : event.key));
}

test("each part gets its events, the registry above gets its own, and nobody's are dropped", async () => {
  const { feed, keyOf, give, part } = openFeed();
  const told: string[] = [];
  feed.onUnread((name, key, isDeletion) => told.push(`${name} ${key} ${isDeletion}`));
  const [one, other] = [part("one").read(10), part("other").read(10)];
  const [first, second, unread] = [
    keyOf("one", "core/a"),
    keyOf("other", "core/b"),
    keyOf("x", "c"),
  ];
  assert.deepEqual(await give(11, first, "/registry/core/r", second, unread), ["/registry/core/r"]);
  assert.deepEqual(keysOf((await one.next()).value), [first]);
  assert.deepEqual(keysOf((await other.next()).value), [second]);
  assert.equal(feed.dropped, 1);
  assert.deepEqual(told, ["x c false"], "who listens is told of it, and of no other");
});

test("events between the opening of a part and its watch are kept, and those it has loaded are left out", async () => {
  const { keyOf, give, part } = openFeed();
  const { read } = part("one");
  await give(11, keyOf("one", "core/loaded"));
  await give(12, keyOf("one", "core/late"));
  assert.deepEqual(keysOf((await read(11).next()).value), [keyOf("one", "core/late")]);
});

test("a question for freshness moves a quiet part to where the feed is", async () => {
  const { give, part } = openFeed();
  const { part: store, read } = part("one", async () => toRevision(14));
  const reader = read(10);
  await give(14, "/registry/core/r");
  assert.equal(await store.currentRevision(never), 14 as Revision);
  assert.deepEqual((await reader.next()).value, { revision: 14, events: [] });
});

test("a feed that goes on from elsewhere ends the watches of parts, which then begin anew", async () => {
  const { keyOf, give, restart, part } = openFeed();
  const { read } = part("one");
  const reader = read(10);
  restart(20);
  await assert.rejects(reader.next(), { code: "Compacted" });
  const again = read(20);
  await give(21, keyOf("one", "core/a"));
  assert.deepEqual(keysOf((await again.next()).value), [keyOf("one", "core/a")]);
});

test("a part that is closed ends its watch, and gets nothing more", async () => {
  const { feed, keyOf, give, part } = openFeed();
  const { part: store, read } = part("one");
  const reader = read(10);
  await store[Symbol.asyncDispose]();
  await assert.rejects(reader.next(), { code: "Closed" });
  await give(11, keyOf("one", "core/a"));
  assert.equal(feed.dropped, 1);
  assert.equal(feed.open, 0);
});

test("44: nothing is read or written through a part that is closed, by a request that outlives it", async () => {
  const { part } = openFeed();
  const { part: store } = part("one");
  const commit = () => store.commit({ compares: [], operations: [] }, never);
  await commit();
  await store[Symbol.asyncDispose]();
  await assert.rejects(commit(), { code: "Closed" });
  await assert.rejects(store.get("a", {}, never), { code: "Closed" });
  await assert.rejects(store.range({ prefix: "a" }, never), { code: "Closed" });
});

test("44: the past of the registry above is read without the parts'", () => {
  const asked: WatchOptions[] = [];
  const { store } = new SharedFeed({
    store: {
      ...openFeed().feed.store,
      watch(options) {
        asked.push(options);
        return { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
      },
    },
    ...{ prefix: "/registry/", partsPrefix: "/registry/.control-planes/" },
  });
  const after = toRevision(7);
  store.watch({ prefix: "/registry/", after, withPrevious: true }, never);
  store.watch({ prefix: "/registry/", after }, never);
  assert.deepEqual(
    asked.map(({ unwanted }) => unwanted),
    ["/registry/.control-planes/", undefined],
  );
});

test("44: what a part had before its beginning is gone, whatever was there", async () => {
  const { part } = openFeed();
  const { part: store } = part("one");
  const range = (revision?: number) =>
    store.range({ prefix: "a", ...(revision && { revision: toRevision(revision) }) }, never);
  await range(7);
  store.beganAt(toRevision(8));
  await assert.rejects(range(7), { code: "Compacted", compactedTo: 8 });
  await assert.rejects(store.get("a", { revision: toRevision(7) }, never), { code: "Compacted" });
  await range(8);
  await range();
  const past = (after: number) =>
    store
      .watch({ prefix: store.prefix, after: toRevision(after), withPrevious: true }, never)
      [Symbol.asyncIterator]()
      .next();
  await assert.rejects(past(7), { code: "Compacted", compactedTo: 8 });
});
