/** ConvertingStore above a recording store: which values are converted, and which are left alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConvertingStore } from "./converting-store.js";
import type { KeyValue, RevisionedStore, StoreEvent, Transaction, WatchBatch } from "./store.js";
import { toRevision } from "./store.js";
import { unreadableReason } from "./unreadable.js";

const { signal } = new AbortController();

/** Keys below "/up/" are stored in upper case; one of them cannot be read. */
const CONVERSION = {
  toStored: (key: string, value: Uint8Array) =>
    key.startsWith("/up/") ? Buffer.from(Buffer.from(value).toString().toUpperCase()) : value,
  fromStored(key: string, value: Buffer): Buffer {
    if (key === "/up/bad") throw new Error("no key for it");
    return key.startsWith("/up/") ? Buffer.from(value.toString().toLowerCase()) : value;
  },
};

function kvOf(key: string, text: string): KeyValue {
  const revision = toRevision(7);
  return { key, value: Buffer.from(text), modRevision: revision, createRevision: revision };
}

function storeWith(parts: Partial<RevisionedStore>): ConvertingStore {
  return new ConvertingStore(parts as RevisionedStore, CONVERSION);
}

test("a transaction without anything to convert is passed on as it is", async () => {
  const seen: Transaction[] = [];
  const store = storeWith({
    async commit(transaction) {
      seen.push(transaction);
      return { succeeded: true, revision: toRevision(8) };
    },
  });
  const plain: Transaction = {
    compares: [],
    operations: [
      { type: "put", key: "/a", value: Buffer.from("a") },
      { type: "delete", key: "/up/b" },
    ],
  };
  await store.commit(plain, signal);
  assert.equal(seen[0], plain);
  const value = Buffer.from("c");
  const lease = "5" as never;
  await store.commit(
    { ...plain, operations: [...plain.operations, { type: "put", key: "/up/c", value, lease }] },
    signal,
  );
  assert.deepEqual(seen[1]?.operations, [
    ...plain.operations,
    { type: "put", key: "/up/c", value: Buffer.from("C"), lease },
  ]);
});

test("batches of a watch are converted one by one, and the same object where nothing is to be done", async () => {
  const put = (key: string, text: string, previous?: KeyValue): StoreEvent => ({
    type: "put",
    kv: kvOf(key, text),
    ...(previous === undefined ? {} : { previous }),
  });
  const modRevision = toRevision(7);
  const plain: WatchBatch = { revision: modRevision, events: [put("/a", "A")] };
  const mixed: WatchBatch = {
    revision: modRevision,
    events: [
      put("/a", "A"),
      put("/up/b", "B", kvOf("/up/b", "OLD")),
      { type: "delete", key: "/up/c", modRevision, previous: kvOf("/up/c", "GONE") },
      put("/up/bad", "?"),
    ],
  };
  let isReturned = false;
  const store = storeWith({
    async *watch() {
      try {
        yield plain;
        yield mixed;
        yield plain;
      } finally {
        isReturned = true;
      }
    },
  });
  const batches: WatchBatch[] = [];
  for await (const batch of store.watch({ prefix: "/", after: modRevision }, signal)) {
    batches.push(batch);
    if (batches.length === 2) break;
  }
  assert.equal(batches[0], plain);
  const [first, second, third, fourth] = batches[1]?.events ?? [];
  assert.equal(first, mixed.events[0]);
  assert.ok(second?.type === "put" && third?.type === "delete" && fourth?.type === "put");
  assert.deepEqual([second.kv.value, second.previous?.value, third.previous?.value].map(String), [
    "b",
    "old",
    "gone",
  ]);
  assert.match(unreadableReason(fourth.kv.value) ?? "", /no key for it/);
  assert.ok(isReturned, "who stops reading ends the watch behind");
});
