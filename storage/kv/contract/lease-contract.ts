/**
 * Contract of `lease`: keys put with a lease are deleted at its end, by ordinary deletes at new
 * revisions. A put without the lease unbinds the key. The store may let keys live up to a minute
 * longer than requested; harnesses should configure little, or provide the `elapse` hook.
 */
import assert from "node:assert/strict";
import type { LeaseId, Revision } from "../store.js";
import {
  type ContractContext,
  type ContractSubject,
  contractTest,
  put,
} from "./contract-context.js";

const LEASE_SECONDS = 2;
/** A minute of sharing, etcd's own rounding and check interval, and a busy machine. */
const LEASE_END_MS = 90_000;

export function testLease(subject: ContractSubject): void {
  contractTest(
    subject,
    "keys vanish at the end of their lease by delete events, others stay",
    async (c) => {
      const started = performance.now();
      const lease = await c.store.lease(LEASE_SECONDS, c.signal);
      const before = await c.currentRevision();
      await c.write(leased(c, "a", lease), leased(c, "b", lease), put(c.key("unleased"), "stays"));
      await c.write(leased(c, "freed", lease));
      await c.put("freed", "stays");
      await c.put("bound-later", "goes");
      await c.write(leased(c, "bound-later", lease));
      await c.write(leased(c, "deleted", lease));
      const written = await c.delete("deleted");
      assert.equal(await c.text("a"), "leased");

      await using watch = c.watch({ after: before, withPrevious: true });
      await watch.until(written);
      const seenBefore = watch.events.length;
      await subject.hooks.elapse?.((LEASE_SECONDS + 60) * 1000);
      while (watch.events.length < seenBefore + 3) await watch.next();
      const elapsedMs = performance.now() - started;
      if (subject.hooks.elapse === undefined) {
        assert.ok(elapsedMs >= LEASE_SECONDS * 1000, `the lease ended after ${elapsedMs} ms`);
      }

      const ended = watch.events.slice(seenBefore);
      assert.deepEqual(ended.map((event) => [event.type, event.previous?.key]).sort(), [
        ["delete", c.key("a")],
        ["delete", c.key("b")],
        ["delete", c.key("bound-later")],
      ]);
      assert.deepEqual(await c.names(), ["freed", "unleased"]);
      // The earlier value is history, as after any other delete.
      assert.equal(await c.text("a", written), "leased");
    },
    { timeoutMs: LEASE_END_MS },
  );

  contractTest(subject, "a leased key is read, compared and updated like any other", async (c) => {
    const lease = await c.store.lease(600, c.signal);
    const revision = await c.write(leased(c, "a", lease));
    assert.deepEqual(await c.get("a"), {
      key: c.key("a"),
      value: Buffer.from("leased"),
      modRevision: revision,
      createRevision: revision,
    });
    const compares = [{ key: c.key("a"), modRevision: revision }];
    const updated = await c.commit(compares, [leased(c, "a", lease, "renewed")]);
    assert.equal(updated.succeeded, true);
    assert.equal(await c.text("a"), "renewed");
  });

  contractTest(subject, "asking for leases alone moves no revision", async (c) => {
    const before: Revision = await c.put("a", "x");
    const leases = await Promise.all([600, 601, 3600].map((ttl) => c.store.lease(ttl, c.signal)));
    assert.ok(leases.every((lease) => lease.length > 0));
    assert.equal(await c.currentRevision(), before);
  });
}

function leased(c: ContractContext, name: string, lease: LeaseId, value = "leased") {
  return { type: "put", key: c.key(name), value: Buffer.from(value), lease } as const;
}
