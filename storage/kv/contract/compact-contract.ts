/**
 * Contract of `compact`: revisions before the given one are forgotten. Decided here: the compacted
 * revision itself stays readable; a watch after it goes on; a watch that owes older events ends
 * with Compacted; compacting a revision that has not been reached is FutureRevision.
 */
import assert from "node:assert/strict";
import { StorageError } from "../errors.js";
import { toRevision } from "../store.js";
import {
  type ContractSubject,
  contractTest,
  plus,
  rejectsWith,
  revisionOf,
} from "./contract-context.js";

export function testCompact(subject: ContractSubject): void {
  contractTest(subject, "reads before the compacted revision are Compacted", async (c) => {
    const first = await c.put("a", "one");
    const second = await c.put("a", "two");
    const third = await c.put("a", "three");
    await c.put("b", "x");
    await c.store.compact(third, c.signal);

    await rejectsWith("Compacted", c.get("a", first));
    await rejectsWith("Compacted", c.get("a", second));
    await rejectsWith("Compacted", c.range({ revision: second }));
    assert.equal(await c.text("a", third), "three");
    assert.deepEqual(await c.names({ revision: third }), ["a"]);
    assert.deepEqual(await c.names(), ["a", "b"]);
  });

  contractTest(subject, "compaction keeps the state at and after its revision", async (c) => {
    await c.put("kept", "1");
    await c.put("deleted-later", "1");
    await c.put("updated-later", "1");
    await c.put("deleted-before", "1");
    await c.delete("deleted-before");
    const at = await c.put("kept", "2");
    await c.delete("deleted-later");
    const later = await c.put("updated-later", "2");
    await c.store.compact(at, c.signal);

    const values = async (revision: typeof at) =>
      (await c.range({ revision })).kvs.map((kv) => kv.value.toString());
    assert.deepEqual(await values(at), ["1", "2", "1"]);
    assert.deepEqual(await c.names({ revision: at }), ["deleted-later", "kept", "updated-later"]);
    assert.deepEqual(await values(later), ["2", "2"]);
    await c.store.compact(later, c.signal);
    assert.deepEqual(await values(later), ["2", "2"]);
    assert.deepEqual(await c.names(), ["kept", "updated-later"]);
  });

  contractTest(subject, "a watch that owes compacted events ends with Compacted", async (c) => {
    const first = await c.put("a", "one");
    await c.put("a", "two");
    const third = await c.put("a", "three");
    await c.store.compact(third, c.signal);
    await using watch = c.watch({ after: plus(first, -1) });
    await rejectsWith("Compacted", watch.next());
  });

  contractTest(subject, "Compacted tells from where a watch goes on, and it does", async (c) => {
    const first = await c.put("a", "one");
    await c.put("a", "two");
    const third = await c.put("a", "three");
    const fourth = await c.put("a", "four");
    await c.store.compact(third, c.signal);
    await using late = c.watch({ after: plus(first, -1) });
    const refused = await late.next().catch((error: unknown) => error);
    assert.ok(refused instanceof StorageError && refused.code === "Compacted", String(refused));
    assert.equal(refused.compactedTo, third);

    await using watch = c.watch({ after: toRevision(refused.compactedTo) });
    const fifth = await c.put("a", "five");
    assert.deepEqual((await watch.until(fifth)).map(revisionOf), [fourth, fifth]);
  });

  contractTest(subject, "a watch after the compacted revision misses nothing", async (c) => {
    await c.put("a", "one");
    const second = await c.put("a", "two");
    const third = await c.put("a", "three");
    await c.store.compact(second, c.signal);
    await using watch = c.watch({ after: second });
    const fourth = await c.put("a", "four");
    assert.deepEqual((await watch.until(fourth)).map(revisionOf), [third, fourth]);
  });

  contractTest(subject, "an open watch that is up to date survives a compaction", async (c) => {
    const first = await c.put("a", "one");
    await using watch = c.watch({ after: plus(first, -1) });
    await watch.until(first);
    const second = await c.put("a", "two");
    await watch.until(second);
    await c.store.compact(second, c.signal);
    const third = await c.put("a", "three");
    assert.deepEqual((await watch.until(third)).map(revisionOf), [first, second, third]);
  });

  contractTest(subject, "a watch behind a compaction has no gap: all, or Compacted", async (c) => {
    const before = await c.currentRevision();
    await using watch = c.watch({ after: before });
    const written = [await c.put("a", "0")];
    for (let round = 1; round < 50; round++) written.push(await c.put("a", String(round)));
    const last = written.at(-1) ?? before;
    await c.store.compact(last, c.signal);
    const seen = await watch.until(last).then(
      (events) => events.map(revisionOf),
      (error: unknown) => {
        assert.ok(error instanceof StorageError && error.code === "Compacted", String(error));
        return watch.events.map(revisionOf);
      },
    );
    assert.deepEqual(seen, written.slice(0, seen.length));
  });

  contractTest(subject, "compacting again or earlier is no error and no way back", async (c) => {
    const first = await c.put("a", "one");
    const second = await c.put("a", "two");
    await c.store.compact(second, c.signal);
    await c.store.compact(second, c.signal);
    await c.store.compact(first, c.signal);
    await rejectsWith("Compacted", c.get("a", first));
    assert.equal(await c.text("a", second), "two");
  });

  contractTest(subject, "compacting a revision not reached yet is FutureRevision", async (c) => {
    const revision = await c.put("a", "one");
    await rejectsWith("FutureRevision", c.store.compact(plus(revision, 1_000_000), c.signal));
    assert.equal(await c.text("a", revision), "one");
  });

  contractTest(subject, "writes go on while a long history is compacted", async (c) => {
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => c.put(`k${index}`, `${round}`)));
    }
    const at = await c.currentRevision();
    const compacting = c.store.compact(at, c.signal);
    const during = await Promise.all(
      Array.from({ length: 50 }, (_, index) => c.put(`k${index}`, "during")),
    );
    await compacting;
    assert.equal(during.length, 50);
    const { kvs } = await c.range({ revision: at });
    assert.equal(kvs.length, 50);
    assert.ok(kvs.every((kv) => kv.value.toString() === "19"));
  });
}
