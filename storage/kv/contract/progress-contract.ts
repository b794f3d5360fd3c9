/**
 * Contract of `requestProgress` and of a batch's revision: a promise of completeness, soon after
 * the request, even if nobody writes below the prefix. Requests may be lost, so tests repeat them.
 * A store may answer by a write of its own, so nothing here counts revisions.
 */
import assert from "node:assert/strict";
import type { Revision } from "../store.js";
import {
  type CheckedWatch,
  type ContractContext,
  type ContractSubject,
  contractTest,
} from "./contract-context.js";

/** Callers of the contract repeat lost requests; so does this suite. */
const REPEAT_MS = 100;

export function testProgress(subject: ContractSubject): void {
  contractTest(subject, "progress reaches the revision of writes outside the prefix", async (c) => {
    const before = await c.currentRevision();
    await using watch = c.watch({ prefix: c.key("quiet/"), after: before });
    for (let round = 0; round < 3; round++) {
      const elsewhere = await c.put("elsewhere", String(round));
      await progressTo(c, [watch], elsewhere);
    }
    assert.deepEqual(watch.events, []);
  });

  contractTest(subject, "progress reaches every open watch", async (c) => {
    const before = await c.currentRevision();
    await using first = c.watch({ prefix: c.key("a/"), after: before });
    await using second = c.watch({ prefix: c.key("b/"), after: before });
    const written = await c.put("a/1", "x");
    await progressTo(c, [first, second], written);
    assert.equal(first.events.length, 1);
    assert.equal(second.events.length, 0);
  });

  contractTest(subject, "progress never runs ahead of events", async (c) => {
    const before = await c.currentRevision();
    await using watch = c.watch({ after: before });
    const revisions: Revision[] = [];
    const writing = (async () => {
      for (let round = 0; round < 100; round++) {
        c.store.requestProgress();
        revisions.push(await c.put(`k${round % 3}`, String(round)));
      }
    })();
    // CheckedWatch fails on any event at or below the revision of an earlier batch.
    await writing;
    await progressTo(c, [watch], revisions.at(-1) as Revision);
    assert.equal(watch.events.length, 100);
  });

  contractTest(subject, "a watch opened on an idle store answers a progress request", async (c) => {
    const current = await c.put("a", "x");
    await using watch = c.watch({ after: current });
    const next = watch.next();
    const timer = setInterval(() => c.store.requestProgress(), REPEAT_MS);
    try {
      const batch = await next;
      assert.deepEqual(batch.events, []);
      assert.ok(batch.revision >= current);
    } finally {
      clearInterval(timer);
    }
  });

  contractTest(subject, "progress without any watch does nothing", async (c) => {
    c.store.requestProgress();
    await c.put("a", "x");
  });
}

/** Requests progress repeatedly until the watches have reached the revision. */
async function progressTo(
  c: ContractContext,
  watches: readonly CheckedWatch[],
  revision: Revision,
): Promise<void> {
  const timer = setInterval(() => c.store.requestProgress(), REPEAT_MS);
  try {
    c.store.requestProgress();
    await Promise.all(watches.map((watch) => watch.until(revision)));
  } finally {
    clearInterval(timer);
  }
}
