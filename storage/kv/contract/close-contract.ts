/**
 * Contract of signals and of closing. Decided here: a signal that has aborted already ends every
 * operation with its reason and nothing is written; closing ends open watches with Closed, every
 * later operation is Closed, and closing twice is no error.
 */
import assert from "node:assert/strict";
import { type ContractSubject, contractTest, put, rejectsWith } from "./contract-context.js";

export function testClose(subject: ContractSubject): void {
  contractTest(subject, "an aborted signal ends every operation with its reason", async (c) => {
    const revision = await c.put("a", "kept");
    const reason = new Error("given up");
    const signal = AbortSignal.abort(reason);
    const transaction = { compares: [], operations: [put(c.key("a"), "lost")] };
    const watch = c.store.watch({ prefix: c.prefix, after: revision }, signal);
    await assert.rejects(c.store.get(c.key("a"), {}, signal), reason);
    await assert.rejects(c.store.range({ prefix: c.prefix }, signal), reason);
    await assert.rejects(c.store.commit(transaction, signal), reason);
    await assert.rejects(c.store.currentRevision(signal), reason);
    await assert.rejects(c.store.lease(60, signal), reason);
    await assert.rejects(c.store.compact(revision, signal), reason);
    await assert.rejects(watch[Symbol.asyncIterator]().next(), reason);
    assert.equal(await c.text("a"), "kept");
  });

  contractTest(subject, "a commit aborted under way happened wholly or not at all", async (c) => {
    const before = await c.put("a", "before");
    const controller = new AbortController();
    const operations = [put(c.key("a"), "after"), put(c.key("b"), "after")];
    const outcome = c.store.commit({ compares: [], operations }, controller.signal).then(
      () => true,
      () => false,
    );
    controller.abort(new Error("given up"));
    const isAcknowledged = await outcome;
    const last = await c.put("last", "x");
    const values = [await c.text("a", last), await c.text("b", last)];
    const happened = values[0] === "after";
    assert.deepEqual(values, happened ? ["after", "after"] : ["before", undefined]);
    assert.ok(happened || !isAcknowledged);
    assert.ok(last > before);
  });

  contractTest(subject, "aborting one watch leaves the others running", async (c) => {
    const before = await c.currentRevision();
    const controller = new AbortController();
    const options = { prefix: c.prefix, after: before };
    const ended = c.store.watch(options, controller.signal)[Symbol.asyncIterator]();
    await using other = c.watch({ after: before });
    const pending = ended.next();
    controller.abort(new Error("enough"));
    await assert.rejects(pending);
    const written = await c.put("a", "x");
    assert.equal((await other.until(written)).length, 1);
  });

  contractTest(subject, "closing ends open watches with Closed", async (c) => {
    const revision = await c.put("a", "x");
    const watch = c.store.watch({ prefix: c.prefix, after: revision }, c.signal);
    const pending = watch[Symbol.asyncIterator]().next();
    const ended = rejectsWith("Closed", pending);
    await c.store[Symbol.asyncDispose]();
    await ended;
  });

  contractTest(subject, "after closing every operation is Closed", async (c) => {
    const revision = await c.put("a", "x");
    await c.store[Symbol.asyncDispose]();
    await c.store[Symbol.asyncDispose]();
    await rejectsWith("Closed", c.get("a"));
    await rejectsWith("Closed", c.range());
    await rejectsWith("Closed", c.put("a", "lost"));
    await rejectsWith("Closed", c.currentRevision());
    await rejectsWith("Closed", c.store.lease(60, c.signal));
    await rejectsWith("Closed", c.store.compact(revision, c.signal));
    await rejectsWith("Closed", c.watch({ after: revision }).next());
    c.store.requestProgress();
  });
}
