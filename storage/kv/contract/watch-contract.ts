/**
 * Contract of `watch`: Ordered, Unique, Atomic (checked on every batch by CheckedWatch), Reliable
 * and Resumable. Decided here: when the signal aborts, the iteration rejects with its reason; a
 * consumer that leaves its loop ends the watch silently.
 */
import assert from "node:assert/strict";
import { type Revision, type StoreEvent, toRevision } from "../store.js";
import {
  type ContractContext,
  type ContractSubject,
  contractTest,
  keyOf,
  plus,
  put,
  revisionOf,
  summaryOf,
} from "./contract-context.js";

export function testWatch(subject: ContractSubject): void {
  contractTest(
    subject,
    "a watch shows puts and deletes after its revision, in order",
    async (c) => {
      const before = await c.put("a", "not shown");
      const created = await c.put("b", "one");
      await using watch = c.watch({ after: before });
      await watch.until(created);
      const updated = await c.put("b", "two");
      const deleted = await c.delete("b");
      const events = await watch.until(deleted);

      const key = c.key("b");
      const put = (value: string, modRevision: Revision) => ({
        type: "put",
        kv: { key, value: Buffer.from(value), modRevision, createRevision: created },
      });
      assert.deepEqual(events, [
        put("one", created),
        put("two", updated),
        { type: "delete", key, modRevision: deleted },
      ]);
    },
  );

  contractTest(subject, "a watch shows only keys of its prefix", async (c) => {
    const before = await c.currentRevision();
    await using watch = c.watch({ prefix: c.key("b/"), after: before });
    await c.put("a/1", "x");
    await c.put("b0", "x");
    const shown = await c.put("b/1", "x");
    await c.put("c/1", "x");
    const last = await c.delete("b/1");
    assert.deepEqual((await watch.until(last)).map(summaryOf), [
      ["put", c.key("b/1"), shown],
      ["delete", c.key("b/1"), last],
    ]);
  });

  contractTest(subject, "withPrevious adds what the key held before", async (c) => {
    const first = await c.put("a", "one");
    const second = await c.put("a", "two");
    const deleted = await c.delete("a");
    const again = await c.put("a", "three");

    await using watch = c.watch({ after: plus(first, -1), withPrevious: true });
    const live = await c.put("a", "four");
    const events = await watch.until(live);
    assert.deepEqual(
      events.map((event) => [
        revisionOf(event),
        event.previous?.value.toString(),
        event.previous?.modRevision,
        event.previous?.createRevision,
        event.previous?.key,
      ]),
      [
        [first, undefined, undefined, undefined, undefined],
        [second, "one", first, first, c.key("a")],
        [deleted, "two", second, first, c.key("a")],
        [again, undefined, undefined, undefined, undefined],
        [live, "three", again, again, c.key("a")],
      ],
    );
  });

  contractTest(subject, "44: unwanted keys are left out, and time passes by them", async (c) => {
    const first = await c.put(".parts/one/a", "x");
    await c.put("core/a", "x");
    await c.delete(".parts/one/a");
    await using watch = c.watch({ after: plus(first, -1), unwanted: c.key(".parts/") });
    const live = await c.put("core/b", "x");
    const events = await watch.until(live);
    assert.deepEqual(events.map(keyOf), [c.key("core/a"), c.key("core/b")]);
    const last = await c.put(".parts/two/a", "x");
    c.store.requestProgress();
    while (watch.revision < last) {
      await watch.next();
      c.store.requestProgress();
    }
    assert.equal(watch.events.length, 2);
  });

  contractTest(subject, "without withPrevious events carry no previous", async (c) => {
    const first = await c.put("a", "one");
    await c.put("a", "two");
    const deleted = await c.delete("a");
    await using watch = c.watch({ after: first });
    const events = await watch.until(deleted);
    assert.ok(events.every((event) => event.previous === undefined));
  });

  contractTest(subject, "Reliable: a watch under concurrent writers misses nothing", async (c) => {
    const before = await c.currentRevision();
    await using watch = c.watch({ after: before });
    const written = await writeConcurrently(c, 8, 25);
    const events = await watch.until(lastOf(written));
    assert.deepEqual(
      events.map((event) => [keyOf(event), revisionOf(event)]),
      written.toSorted((left, right) => left[1] - right[1]),
    );
  });

  contractTest(
    subject,
    "Resumable: from any of its revisions the same events follow",
    async (c) => {
      const before = await c.currentRevision();
      const written = await writeConcurrently(c, 4, 10);
      const end = lastOf(written);
      await using whole = c.watch({ after: before });
      const events = [...(await whole.until(end))];
      assert.equal(events.length, 40);
      for (let index = 0; index < events.length; index += 7) {
        const from = revisionOf(events[index] as StoreEvent);
        await using watch = c.watch({ after: from });
        const rest = from === end ? [] : await watch.until(end);
        assert.deepEqual(rest, events.slice(index + 1));
      }
    },
  );

  contractTest(subject, "list, then watch: replay ends in the store's state", async (c) => {
    const writing = writeConcurrently(c, 6, 30);
    await c.put("k0", "first");
    const list = await c.range();
    const state = new Map(list.kvs.map((kv) => [kv.key, kv.modRevision]));
    await using watch = c.watch({ after: list.revision });
    const end = lastOf(await writing);
    for (const event of end > list.revision ? await watch.until(end) : []) {
      if (event.type === "put") state.set(event.kv.key, event.kv.modRevision);
      else state.delete(event.key);
    }
    const final = await c.range({ revision: watch.revision });
    assert.deepEqual(
      [...state].sort(([left], [right]) => (left < right ? -1 : 1)),
      final.kvs.map((kv) => [kv.key, kv.modRevision]),
    );
  });

  contractTest(subject, "several watches see the same, each at its own pace", async (c) => {
    const before = await c.currentRevision();
    await using slow = c.watch({ after: before });
    await using fast = c.watch({ after: before });
    const first = await c.put("a", "0");
    await fast.until(first);
    let last = first;
    for (let round = 1; round <= 300; round++) {
      last = await c.write(put(c.key(`k${round % 7}`), `${round}`.padEnd(1024, ".")));
    }
    await fast.until(last);
    assert.deepEqual(await slow.until(last), fast.events);
    assert.equal(fast.events.length, 301);
  });

  contractTest(subject, "a watch ends with the signal's reason when it aborts", async (c) => {
    const before = await c.put("a", "x");
    const controller = new AbortController();
    const options = { prefix: c.prefix, after: before };
    const watch = c.store.watch(options, controller.signal)[Symbol.asyncIterator]();
    const pending = watch.next();
    const reason = new Error("no longer wanted");
    controller.abort(reason);
    await assert.rejects(pending, reason);
  });

  contractTest(subject, "a consumer that leaves its loop ends the watch", async (c) => {
    const before = await c.currentRevision();
    const written = await c.put("a", "x");
    for await (const batch of c.store.watch({ prefix: c.prefix, after: before }, c.signal)) {
      if (batch.revision >= written) break;
    }
    await c.put("a", "nobody watches");
  });

  const { disconnect } = subject.hooks;
  // A store within the process has no connection that could break.
  if (disconnect === undefined) return;
  contractTest(
    subject,
    "Resumable: a watch goes on without loss or repetition after a disconnect",
    async (c) => {
      const before = await c.currentRevision();
      await using watch = c.watch({ after: before });
      const expected: Revision[] = [];
      for (let round = 0; round < 3; round++) {
        expected.push(await c.put("a", `${round}: connected`));
        await watch.until(expected.at(-1) as Revision);
        await disconnect();
        expected.push(await retried(() => c.put("a", `${round}: after the disconnect`), c));
        expected.push(await retried(() => c.put("b", `${round}: again`), c));
      }
      const events = await watch.until(expected.at(-1) as Revision);
      const seen = new Set(events.map(revisionOf));
      assert.ok(expected.every((revision) => seen.has(revision)));
    },
  );
}

/** Puts to k0..k6 by several concurrent writers; returns each key with its revision. */
async function writeConcurrently(
  c: ContractContext,
  writers: number,
  writesEach: number,
): Promise<[string, Revision][]> {
  const written: [string, Revision][] = [];
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let round = 0; round < writesEach; round++) {
        const name = `k${(writer + round) % 7}`;
        written.push([c.key(name), await c.put(name, `${writer}.${round}`)]);
      }
    }),
  );
  return written;
}

function lastOf(written: readonly [string, Revision][]): Revision {
  return toRevision(Math.max(...written.map(([, revision]) => revision)));
}

/** A write just after a disconnect may fail, or succeed with its answer lost: retry it. */
async function retried(write: () => Promise<Revision>, c: ContractContext): Promise<Revision> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (c.signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
