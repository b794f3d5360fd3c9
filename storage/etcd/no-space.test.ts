import assert from "node:assert/strict";
import { test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import { type CommitResult, type KeyValue, type Operation, toRevision } from "../kv/store.js";
import { openEtcdStore } from "./etcd-store.js";
import { settleNoSpace } from "./no-space.js";

const refusal = new StorageError("NoSpace", "database space exceeded", { outcomeUnknown: true });

function put(key: string, value: string): Operation {
  return { type: "put", key, value: Buffer.from(value) };
}

function kv(key: string, value: string, mod: number): KeyValue {
  const revision = toRevision(mod);
  return { key, value: Buffer.from(value), modRevision: revision, createRevision: revision };
}

const five = toRevision(5);
const remove: Operation = { type: "delete", key: "b" };
const failed = (current: readonly (KeyValue | undefined)[]): CommitResult => {
  return { succeeded: false, revision: toRevision(9), current };
};
const unchanged: CommitResult = { succeeded: true, revision: toRevision(9) };

const cases: readonly {
  readonly title: string;
  readonly operations: readonly Operation[];
  readonly found: CommitResult;
  readonly outcome: number | "refused" | "unknown";
}[] = [
  { title: "nothing changed", operations: [put("a", "x")], found: unchanged, outcome: "refused" },
  {
    title: "the value is there",
    operations: [put("a", "x")],
    found: failed([kv("a", "x", 7)]),
    outcome: 7,
  },
  {
    title: "another value is there",
    operations: [put("a", "x")],
    found: failed([kv("a", "y", 7)]),
    outcome: "unknown",
  },
  {
    title: "all keys of one transaction",
    operations: [put("a", "x"), remove, put("c", "z")],
    found: failed([kv("a", "x", 7), undefined, kv("c", "z", 7)]),
    outcome: 7,
  },
  {
    title: "one key kept its version, so nothing happened",
    operations: [put("a", "x"), remove],
    found: failed([kv("a", "y", 7), kv("b", "old", 5)]),
    outcome: "refused",
  },
  {
    title: "keys of two transactions",
    operations: [put("a", "x"), put("c", "z")],
    found: failed([kv("a", "x", 7), kv("c", "z", 8)]),
    outcome: "unknown",
  },
  {
    title: "a key that is gone leaves no trace of who removed it",
    operations: [remove],
    found: failed([undefined]),
    outcome: "unknown",
  },
];

for (const { title, operations, found, outcome } of cases) {
  test(`P12: a write refused for space is settled by reading: ${title}`, async () => {
    const compares = operations
      .filter(({ key }) => key !== "c")
      .map(({ key }) => ({ key, modRevision: key === "b" ? five : (0 as const) }));
    const settled = settleNoSpace({ compares, operations }, refusal, async (check) => {
      assert.deepEqual(check.operations, []);
      assert.deepEqual(new Set(check.compares.map(({ key }) => key)).size, operations.length);
      return found;
    });
    if (typeof outcome === "number") {
      assert.deepEqual(await settled, { succeeded: true, revision: outcome });
    } else {
      const outcomeUnknown = outcome === "unknown";
      await assert.rejects(settled, { code: "NoSpace", outcomeUnknown });
    }
  });
}

test("P12: where nothing can be read the outcome stays unknown", async () => {
  const transaction = { compares: [], operations: [put("a", "x")] };
  const settled = settleNoSpace(transaction, refusal, () => Promise.reject(new Error("gone")));
  await assert.rejects(settled, refusal);
});

test("P12: at etcd's quota every write is answered by what became of it", async () => {
  await using etcd = await startEtcd({ args: ["--quota-backend-bytes=16777216"] });
  const signal = soon();
  const endpoints = [etcd.endpoint];
  const options = { endpoints, prefix: "/full", clock: systemClock, logger: silentLogger };
  await using store = await openEtcdStore(options, signal);
  const value = Buffer.alloc(1_000_000, 120);
  const keys = Array.from({ length: 20 }, (_, index) => `/full/${index}`);
  // Together, so that several pass the check on arrival and cross the quota when they are applied.
  const done = await Promise.allSettled(
    keys.map((key) => {
      const compares = [{ key, modRevision: 0 as const }];
      return store.commit({ compares, operations: [{ type: "put", key, value }] }, signal);
    }),
  );
  const answered = await Promise.all(
    keys.map(async (key, index) => {
      const stored = (await store.get(key, {}, signal)).kv?.modRevision;
      const result = done[index];
      if (result?.status === "fulfilled") return [result.value.revision, stored];
      assert.equal(result?.reason.code, "NoSpace");
      assert.equal(result?.reason.outcomeUnknown, false);
      return [undefined, stored];
    }),
  );
  for (const [told, stored] of answered) assert.equal(told, stored);
  // etcd counts a write when its batch is on disk, so all of them may have passed: filled until one is refused.
  for (let index = 0; done.every(({ status }) => status === "fulfilled"); index++) {
    const more = {
      compares: [],
      operations: [{ type: "put", key: `/full/more-${index}`, value } as const],
    };
    done.push(...(await Promise.allSettled([store.commit(more, signal)])));
  }
  // One at a time they are refused on arrival, which leaves nothing.
  const key = "/full/late";
  const late = { compares: [{ key, modRevision: 0 as const }], operations: [put(key, "x")] };
  await assert.rejects(store.commit(late, signal), { code: "NoSpace", outcomeUnknown: false });
  assert.equal((await store.get(key, {}, signal)).kv, undefined);
  const [first = ""] = keys;
  const operations = [{ type: "delete", key: first }] as const;
  assert.equal((await store.commit({ compares: [], operations }, signal)).succeeded, true);
});
