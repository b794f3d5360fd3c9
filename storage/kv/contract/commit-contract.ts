/**
 * Contract of `commit` as compare-and-swap. Decided here, where the interface leaves it open: a
 * transaction that changes nothing (no operations, or only deletes of missing keys) succeeds
 * without moving the revision.
 */
import assert from "node:assert/strict";
import type { Revision } from "../store.js";
import { type ContractSubject, contractTest, put } from "./contract-context.js";

export function testCommit(subject: ContractSubject): void {
  contractTest(subject, "create: modRevision 0 holds only while there is no key", async (c) => {
    const key = c.key("a");
    const compares = [{ key, modRevision: 0 }] as const;
    const created = await c.commit(compares, [put(key, "one")]);
    assert.equal(created.succeeded, true);

    const again = await c.commit(compares, [put(key, "two")]);
    assert.ok(!again.succeeded);
    assert.deepEqual(again.current, [
      {
        key,
        value: Buffer.from("one"),
        modRevision: created.revision,
        createRevision: created.revision,
      },
    ]);
    assert.ok(again.revision >= created.revision);
    assert.equal(await c.text("a"), "one");
  });

  contractTest(subject, "update: only the exact modRevision holds", async (c) => {
    const key = c.key("a");
    const first = await c.put("a", "one");
    const second = await c.put("a", "two");

    const stale = await c.commit([{ key, modRevision: first }], [put(key, "lost")]);
    assert.ok(!stale.succeeded);
    assert.equal(stale.current[0]?.modRevision, second);
    assert.equal(stale.current[0]?.value.toString(), "two");

    const fresh = await c.commit([{ key, modRevision: second }], [put(key, "three")]);
    assert.equal(fresh.succeeded, true);
    assert.equal(await c.text("a"), "three");
  });

  contractTest(subject, "delete: compared like an update, and the key is gone", async (c) => {
    const key = c.key("a");
    const first = await c.put("a", "one");
    const second = await c.put("a", "two");
    const stale = await c.commit([{ key, modRevision: first }], [{ type: "delete", key }]);
    assert.equal(stale.succeeded, false);
    assert.equal(await c.text("a"), "two");

    const fresh = await c.commit([{ key, modRevision: second }], [{ type: "delete", key }]);
    assert.equal(fresh.succeeded, true);
    assert.ok(fresh.revision > second);
    assert.equal(await c.text("a"), undefined);

    const gone = await c.commit([{ key, modRevision: second }], [{ type: "delete", key }]);
    assert.ok(!gone.succeeded);
    assert.deepEqual(gone.current, [undefined]);
  });

  contractTest(subject, "extra compares: all must hold; current has their order", async (c) => {
    const namespace = await c.put("namespace", "active");
    await c.put("quota", "1");
    const quota = await c.put("quota", "2");
    const compares = (namespaceRevision: Revision, quotaRevision: Revision) => [
      { key: c.key("new"), modRevision: 0 as const },
      { key: c.key("namespace"), modRevision: namespaceRevision },
      { key: c.key("quota"), modRevision: quotaRevision },
    ];
    const operations = [put(c.key("new"), "x"), put(c.key("quota"), "3")];

    const failed = await c.commit(compares(namespace, namespace), operations);
    assert.ok(!failed.succeeded);
    assert.deepEqual(
      failed.current.map((kv) => kv?.value.toString()),
      [undefined, "active", "2"],
    );
    assert.equal(await c.text("new"), undefined);
    assert.equal(await c.text("quota"), "2");

    const done = await c.commit(compares(namespace, quota), operations);
    assert.equal(done.succeeded, true);
    assert.equal((await c.get("new"))?.modRevision, done.revision);
    assert.equal((await c.get("quota"))?.modRevision, done.revision);
  });

  contractTest(subject, "a failed compare does not move the revision", async (c) => {
    const first = await c.put("a", "one");
    const compares = [{ key: c.key("a"), modRevision: 0 as const }];
    const failed = await c.commit(compares, [put(c.key("b"), "x")]);
    assert.equal(failed.succeeded, false);
    assert.equal(failed.revision, first);
    assert.equal(await c.text("b"), undefined);
  });

  contractTest(subject, "a commit that changes nothing does not move the revision", async (c) => {
    const revision = await c.put("a", "one");
    const missing = { type: "delete", key: c.key("missing") } as const;
    assert.deepEqual(await c.commit([], [missing]), { succeeded: true, revision });
    assert.deepEqual(await c.commit([{ key: c.key("a"), modRevision: revision }], []), {
      succeeded: true,
      revision,
    });
    assert.equal(await c.currentRevision(), revision);
  });

  contractTest(subject, "a put of the same bytes is a new revision of the key", async (c) => {
    const first = await c.put("a", "same");
    const second = await c.put("a", "same");
    assert.ok(second > first);
    assert.equal((await c.get("a"))?.modRevision, second);
  });

  contractTest(subject, "of 50 concurrent creates of one key exactly one succeeds", async (c) => {
    const key = c.key("a");
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        c.commit([{ key, modRevision: 0 }], [put(key, String(index))]),
      ),
    );
    const winners = results.flatMap((result, index) => (result.succeeded ? [index] : []));
    assert.equal(winners.length, 1);
    assert.equal(await c.text("a"), String(winners[0]));
  });

  contractTest(subject, "NoLostUpdate: concurrent retried increments all count", async (c) => {
    const key = c.key("counter");
    await c.put("counter", "0");
    const writers = 8;
    const incrementsEach = 10;
    await Promise.all(
      Array.from({ length: writers }, async () => {
        for (let done = 0; done < incrementsEach; ) {
          const kv = await c.get("counter");
          assert.ok(kv);
          const next = String(Number(kv.value.toString()) + 1);
          const result = await c.commit([{ key, modRevision: kv.modRevision }], [put(key, next)]);
          if (result.succeeded) done++;
        }
      }),
    );
    assert.equal(await c.text("counter"), String(writers * incrementsEach));
  });

  contractTest(
    subject,
    "concurrent commits get different revisions, readable at once",
    async (c) => {
      const revisions = await Promise.all(
        Array.from({ length: 100 }, async (_, index) => {
          const revision = await c.put(`k${index}`, "x");
          assert.equal((await c.get(`k${index}`))?.modRevision, revision);
          return revision;
        }),
      );
      assert.equal(new Set(revisions).size, 100);
    },
  );
}
