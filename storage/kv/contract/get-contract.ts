/** Contract of `get`: one key, now or as of a revision. */
import assert from "node:assert/strict";
import { type ContractSubject, contractTest, plus, put, rejectsWith } from "./contract-context.js";

export function testGet(subject: ContractSubject): void {
  contractTest(subject, "get gives undefined and the revision for a missing key", async (c) => {
    const written = await c.put("other", "x");
    const { kv, revision } = await c.store.get(c.key("missing"), {}, c.signal);
    assert.equal(kv, undefined);
    assert.ok(revision >= written);
  });

  contractTest(subject, "get gives key, value and both revisions of a key", async (c) => {
    const created = await c.put("a", "one");
    assert.deepEqual(await c.get("a"), {
      key: c.key("a"),
      value: Buffer.from("one"),
      modRevision: created,
      createRevision: created,
    });
    const updated = await c.put("a", "two");
    assert.deepEqual(await c.get("a"), {
      key: c.key("a"),
      value: Buffer.from("two"),
      modRevision: updated,
      createRevision: created,
    });
  });

  contractTest(subject, "createRevision starts again after a deletion", async (c) => {
    const first = await c.put("a", "one");
    await c.delete("a");
    assert.equal(await c.get("a"), undefined);
    const second = await c.put("a", "two");
    assert.equal((await c.get("a"))?.createRevision, second);
    assert.ok(second > first);
  });

  contractTest(subject, "get at a revision gives what the key held then", async (c) => {
    const before = await c.currentRevision();
    const first = await c.put("a", "one");
    const second = await c.put("a", "two");
    const deleted = await c.delete("a");
    const third = await c.put("a", "three");

    assert.equal(await c.text("a", before), undefined);
    assert.equal(await c.text("a", first), "one");
    assert.equal(await c.text("a", second), "two");
    assert.equal(await c.text("a", deleted), undefined);
    assert.equal(await c.text("a", third), "three");
    assert.equal((await c.get("a", second))?.createRevision, first);
    assert.equal((await c.get("a", second))?.modRevision, second);
  });

  contractTest(subject, "get at a revision not reached yet is FutureRevision", async (c) => {
    const revision = await c.put("a", "one");
    await rejectsWith("FutureRevision", c.get("a", plus(revision, 1_000_000)));
  });

  contractTest(subject, "values are bytes: empty, binary and larger than a page", async (c) => {
    const binary = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const large = Buffer.alloc(300_000, "0123456789abcdef");
    await c.write(
      put(c.key("empty"), ""),
      put(c.key("binary"), binary),
      put(c.key("large"), large),
    );
    assert.deepEqual((await c.get("empty"))?.value, Buffer.alloc(0));
    assert.deepEqual((await c.get("binary"))?.value, binary);
    assert.ok((await c.get("large"))?.value.equals(large));
  });

  contractTest(
    subject,
    "a value changed by its owner after the commit stays as sent",
    async (c) => {
      const value = Buffer.from("as sent");
      await c.write(put(c.key("a"), value));
      value.fill("!");
      assert.equal(await c.text("a"), "as sent");
    },
  );

  contractTest(subject, "an answer stays as it is when the key changes later", async (c) => {
    await c.put("a", "x".repeat(1000));
    const answer = await c.get("a");
    for (let round = 0; round < 20; round++) await c.put("a", String(round).repeat(500));
    assert.equal(answer?.value.toString(), "x".repeat(1000));
  });
}
