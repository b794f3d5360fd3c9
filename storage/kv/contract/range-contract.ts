/**
 * Contract of `range`: the keys of a prefix in byte order, page by page, now or as of a revision.
 * `after` is compared in byte order and need not exist; an `after` below the prefix changes nothing.
 */
import assert from "node:assert/strict";
import type { KeyValue, Operation } from "../store.js";
import {
  type ContractContext,
  type ContractSubject,
  contractTest,
  plus,
  put,
  rejectsWith,
} from "./contract-context.js";

/** The operations that etcd takes in one transaction by default, rounded down. */
const OPERATIONS_PER_COMMIT = 100;

export function testRange(subject: ContractSubject): void {
  contractTest(subject, "range gives the keys of the prefix and no others", async (c) => {
    for (const name of ["b/1", "b/2", "b", "b0", "a/1", "c/1"]) await c.put(name, name);
    assert.deepEqual(await c.names(), ["a/1", "b", "b/1", "b/2", "b0", "c/1"]);
    assert.deepEqual(await c.names({ prefix: c.key("b/") }), ["b/1", "b/2"]);
    assert.deepEqual(await c.names({ prefix: c.key("b") }), ["b", "b/1", "b/2", "b0"]);
    const none = await c.range({ prefix: c.key("nothing/") });
    assert.deepEqual([none.kvs, none.more, none.count], [[], false, 0]);
  });

  contractTest(subject, "range orders keys by their UTF-8 bytes", async (c) => {
    // U+FFFD is above the surrogates of U+1F600 in UTF-16 and below it in UTF-8.
    const inOrder = ["-", "A", "Z", "a", "aa", "z", "\u00e9", "\u20ac", "\ufffd", "\u{1f600}"];
    await c.write(...inOrder.toReversed().map((name) => put(c.key(name), name)));
    assert.deepEqual(await c.names(), inOrder);
    assert.deepEqual(await c.names({ prefix: c.key("\u{1f600}") }), ["\u{1f600}"]);
  });

  contractTest(subject, "limit and after page through a prefix; count ignores limit", async (c) => {
    const names = ["a", "b", "c", "d", "e"];
    await c.write(...names.map((name) => put(c.key(name), name)));

    const first = await c.range({ limit: 2 });
    assert.deepEqual(namesOf(c, first.kvs), ["a", "b"]);
    assert.deepEqual([first.more, first.count], [true, 5]);
    const second = await c.range({ limit: 2, after: c.key("b") });
    assert.deepEqual(namesOf(c, second.kvs), ["c", "d"]);
    assert.deepEqual([second.more, second.count], [true, 3]);
    const third = await c.range({ limit: 2, after: c.key("d") });
    assert.deepEqual(namesOf(c, third.kvs), ["e"]);
    assert.deepEqual([third.more, third.count], [false, 1]);

    const exact = await c.range({ limit: 5 });
    assert.deepEqual([exact.kvs.length, exact.more, exact.count], [5, false, 5]);
    const unlimited = await c.range({ limit: 0 });
    assert.deepEqual([unlimited.kvs.length, unlimited.more, unlimited.count], [5, false, 5]);
  });

  contractTest(subject, "after need not exist and may lie outside of the prefix", async (c) => {
    await c.write(put(c.key("p/a"), "a"), put(c.key("p/c"), "c"));
    const prefix = c.key("p/");
    assert.deepEqual(await c.names({ prefix, after: c.key("p/b") }), ["p/c"]);
    assert.deepEqual(await c.names({ prefix, after: c.key("p/a") }), ["p/c"]);
    assert.deepEqual(await c.names({ prefix, after: c.key("a") }), ["p/a", "p/c"]);
    assert.deepEqual(await c.names({ prefix, after: c.key("z") }), []);
  });

  contractTest(subject, "a range carries a revision no smaller than its keys'", async (c) => {
    const revision = await c.put("a", "one");
    const result = await c.range();
    assert.ok(result.revision >= revision);
    assert.deepEqual(result.kvs, [
      {
        key: c.key("a"),
        value: Buffer.from("one"),
        modRevision: revision,
        createRevision: revision,
      },
    ]);
  });

  contractTest(subject, "a range at a revision shows the prefix as it was then", async (c) => {
    const empty = await c.currentRevision();
    await c.put("a", "a1");
    await c.put("b", "b1");
    const two = await c.put("d", "d1");
    await c.put("b", "b2");
    const deleted = await c.delete("a");
    await c.put("c", "c1");
    await c.put("a", "a2");

    const at = async (revision: typeof empty) => {
      const result = await c.range({ revision });
      assert.ok(result.revision >= revision);
      assert.equal(result.count, result.kvs.length);
      return result.kvs.map((kv) => kv.value.toString());
    };
    assert.deepEqual(await at(empty), []);
    assert.deepEqual(await at(two), ["a1", "b1", "d1"]);
    assert.deepEqual(await at(deleted), ["b2", "d1"]);
    assert.deepEqual(await at(await c.currentRevision()), ["a2", "b2", "c1", "d1"]);

    const page = await c.range({ revision: two, limit: 1, after: c.key("a") });
    assert.deepEqual(namesOf(c, page.kvs), ["b"]);
    assert.deepEqual([page.more, page.count], [true, 2]);
  });

  contractTest(subject, "pages at one revision are one list, whatever is written", async (c) => {
    const names = Array.from({ length: 20 }, (_, index) => `k${String(index).padStart(2, "0")}`);
    await c.write(...names.map((name) => put(c.key(name), "old")));
    const { revision } = await c.range({ limit: 1 });

    const seen: KeyValue[] = [];
    let after = c.prefix;
    for (let page = 0; page < 5; page++) {
      const result = await c.range({ revision, after, limit: 4 });
      assert.equal(result.more, page < 4);
      seen.push(...result.kvs);
      after = result.kvs.at(-1)?.key ?? after;
      // Each page meets a new key, an update and a deletion on both sides of its end.
      await c.write(put(c.key(`k${page}-new`), "new"), put(c.key("k19"), "new"));
      await c.delete(`k1${page}`);
    }
    assert.deepEqual(namesOf(c, seen), names);
    assert.ok(seen.every((kv) => kv.value.toString() === "old"));
  });

  contractTest(subject, "range at a revision not reached yet is FutureRevision", async (c) => {
    const revision = await c.put("a", "one");
    await rejectsWith("FutureRevision", c.range({ revision: plus(revision, 1_000_000) }));
  });

  contractTest(subject, "a range of 10,000 keys of 1 KiB comes in one answer", async (c) => {
    const names = Array.from(
      { length: 10_000 },
      (_, index) => `k${String(index).padStart(5, "0")}`,
    );
    const value = Buffer.alloc(1024, "v");
    for (let start = 0; start < names.length; start += OPERATIONS_PER_COMMIT) {
      const operations: Operation[] = names
        .slice(start, start + OPERATIONS_PER_COMMIT)
        .map((name) => put(c.key(name), value));
      await c.write(...operations);
    }
    const all = await c.range();
    assert.deepEqual(namesOf(c, all.kvs), names);
    assert.deepEqual([all.more, all.count], [false, 10_000]);
    assert.ok(all.kvs.every((kv) => kv.value.length === 1024));

    const paged: string[] = [];
    let after = c.prefix;
    for (let more = true; more; ) {
      const page = await c.range({ after, limit: 3_000, revision: all.revision });
      assert.equal(page.count, 10_000 - paged.length);
      paged.push(...namesOf(c, page.kvs));
      after = page.kvs.at(-1)?.key ?? after;
      more = page.more;
    }
    assert.deepEqual(paged, names);
  });
}

function namesOf(c: ContractContext, kvs: readonly KeyValue[]): string[] {
  return kvs.map((kv) => kv.key.slice(c.prefix.length));
}
