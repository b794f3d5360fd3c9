/**
 * Contract of a `commit` with several operations: one revision, all or nothing. Decided here, as in
 * etcd: a transaction has at most one put or delete per key, a second one is Refused and nothing is
 * written; at least 100 operations fit into one.
 */
import assert from "node:assert/strict";
import type { Operation } from "../store.js";
import {
  type ContractSubject,
  contractTest,
  put,
  rejectsWith,
  summaryOf,
} from "./contract-context.js";

export function testBatch(subject: ContractSubject): void {
  contractTest(subject, "all operations of a commit carry its one revision", async (c) => {
    await c.put("old", "x");
    const before = await c.put("gone", "x");
    const revision = await c.write(
      put(c.key("new"), "1"),
      put(c.key("old"), "2"),
      { type: "delete", key: c.key("gone") },
      { type: "delete", key: c.key("missing") },
    );
    const { kvs } = await c.range();
    assert.deepEqual(
      kvs.map((kv) => [kv.key, kv.value.toString(), kv.modRevision]),
      [
        [c.key("new"), "1", revision],
        [c.key("old"), "2", revision],
      ],
    );
    assert.deepEqual(await c.names({ revision: before }), ["gone", "old"]);
  });

  contractTest(subject, "Atomic: a watch shows a commit in one batch", async (c) => {
    const before = await c.put("c", "x");
    const operations: Operation[] = [
      put(c.key("b"), "1"),
      put(c.key("a"), "1"),
      { type: "delete", key: c.key("c") },
      { type: "delete", key: c.key("missing") },
    ];
    const revision = await c.write(...operations);
    await using watch = c.watch({ after: before });
    const events = (await watch.until(revision)).map(summaryOf);
    assert.deepEqual(
      events.toSorted((left, right) => (left[1] < right[1] ? -1 : 1)),
      [
        ["put", c.key("a"), revision],
        ["put", c.key("b"), revision],
        ["delete", c.key("c"), revision],
      ],
    );
  });

  contractTest(subject, "a commit over several prefixes shows each watch its part", async (c) => {
    const before = await c.currentRevision();
    const revision = await c.write(put(c.key("a/1"), "x"), put(c.key("b/1"), "x"));
    await using watch = c.watch({ prefix: c.key("b/"), after: before });
    assert.deepEqual((await watch.until(revision)).map(summaryOf), [
      ["put", c.key("b/1"), revision],
    ]);
  });

  contractTest(subject, "100 operations fit into one commit", async (c) => {
    const before = await c.currentRevision();
    const names = Array.from({ length: 100 }, (_, index) => `k${index}`);
    const revision = await c.write(...names.map((name) => put(c.key(name), name)));
    const { kvs } = await c.range();
    assert.equal(kvs.length, 100);
    assert.ok(kvs.every((kv) => kv.modRevision === revision));
    await using watch = c.watch({ after: before });
    assert.equal((await watch.until(revision)).length, 100);
  });

  contractTest(subject, "a key written twice in one commit is Refused", async (c) => {
    const key = c.key("a");
    await c.put("a", "kept");
    await rejectsWith("Refused", c.commit([], [put(key, "1"), put(key, "2")]));
    await rejectsWith("Refused", c.commit([], [put(key, "1"), { type: "delete", key }]));
    assert.equal(await c.text("a"), "kept");
  });
}
