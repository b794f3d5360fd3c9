/**
 * Watches on etcd: fragmented answers, progress while others write to the same etcd, and the clock
 * key when progress notifications cannot be trusted.
 */
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, before, describe, test } from "node:test";
import { soon } from "../../e2e/harness/eventually.js";
import { type EtcdProcess, etcdReleases, startEtcd } from "../../e2e/tools/etcd.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import type { Operation, Revision, StoreEvent, WatchBatch } from "../kv/store.js";
import { type EtcdStoreOptions, openEtcdStore } from "./etcd-store.js";

const KIBIBYTE = 1024;

for (const { binary, title, skip } of await etcdReleases()) {
  describe(`watches on ${title}`, { skip }, () => {
    let etcd: EtcdProcess;
    before(async () => {
      etcd = await startEtcd({ binary });
    });
    after(() => etcd.stop());

    const open = (prefix: string, options: Partial<EtcdStoreOptions> = {}) => {
      const { endpoint } = etcd;
      const base = { endpoints: [endpoint], prefix, clock: systemClock, logger: silentLogger };
      return openEtcdStore({ ...base, ...options }, soon());
    };

    test("a revision that etcd sends in fragments comes in one batch", async () => {
      await using store = await open("/fragments");
      const start = await store.currentRevision(soon());
      // With their previous values, the events of the second round are 2.4 MiB: two fragments.
      for (const fill of ["a", "b", "c"]) {
        const operations = Array.from({ length: 100 }, (_, index): Operation => {
          return { type: "put", key: `/fragments/${index}`, value: Buffer.alloc(12_288, fill) };
        });
        await store.commit({ compares: [], operations }, soon());
      }
      const end = await store.currentRevision(soon());
      const watch = store.watch(
        { prefix: "/fragments/", after: start, withPrevious: true },
        soon(),
      );
      const batches = await until(watch[Symbol.asyncIterator](), end);
      const revisions = batches.flatMap((batch) => [...new Set(batch.events.map(revisionOf))]);
      assert.deepEqual(revisions, [...new Set(revisions)], "Atomic: no revision in two batches");
      assert.equal(revisions.length, 3);
      const events = batches.flatMap((batch) => batch.events);
      assert.equal(events.length, 300);
      for (const event of events.slice(100)) {
        assert.equal(event.previous?.value.length, 12_288);
      }
    });

    test("an answer of 3 MiB arrives whole, in order", async () => {
      await using store = await open("/large");
      const start = await store.currentRevision(soon());
      const sizes = [1_024, 1_000, 1_048].map((size) => size * KIBIBYTE);
      let end = start;
      for (const size of sizes) {
        const value = Buffer.alloc(size, "x");
        const operations = [{ type: "put", key: "/large/a", value }] as const;
        end = (await store.commit({ compares: [], operations }, soon())).revision;
      }
      const watch = store.watch({ prefix: "/large/", after: start }, soon());
      const batches = await until(watch[Symbol.asyncIterator](), end);
      const events = batches.flatMap((batch) => batch.events);
      assert.deepEqual(
        events.map((event) => event.type === "put" && event.kv.value.length),
        sizes,
      );
    });

    test("progress keeps up while another tenant writes to the same etcd", async () => {
      await using own = await open("/own");
      await using other = await open("/other");
      const start = await own.currentRevision(soon());
      const watch = own.watch({ prefix: "/own/", after: start }, soon());
      const iterator = watch[Symbol.asyncIterator]();
      const timer = setInterval(() => own.requestProgress(), 5);
      try {
        for (let round = 0; round < 20; round++) {
          const operations = [{ type: "put", key: "/other/a", value: Buffer.from("x") }] as const;
          await other.commit({ compares: [], operations }, soon());
          const now = await own.currentRevision(soon());
          const batches = await until(iterator, now);
          assert.deepEqual(
            batches.flatMap((batch) => batch.events),
            [],
          );
        }
      } finally {
        clearInterval(timer);
        await iterator.return?.();
      }
    });

    test("a revision promised by progress is never followed by events before it", async () => {
      await using own = await open("/own");
      await using other = await open("/other");
      const start = await own.currentRevision(soon());
      const watch = own.watch({ prefix: "/own/", after: start }, soon());
      const iterator = watch[Symbol.asyncIterator]();
      let isWriting = true;
      const write = async (store: typeof own, key: string) => {
        let last = start;
        for (let round = 0; round < 150; round++) {
          const operations = [{ type: "put", key, value: Buffer.from(`${round}`) }] as const;
          last = (await store.commit({ compares: [], operations }, soon())).revision;
          own.requestProgress();
        }
        return last;
      };
      const written = Promise.all([
        write(own, "/own/a"),
        write(own, "/own/b"),
        write(other, "/other/a"),
      ]).finally(() => {
        isWriting = false;
      });
      let promised: Revision = start;
      let count = 0;
      const take = async () => {
        const { done, value } = await iterator.next();
        assert.ok(done !== true);
        for (const event of value.events) assert.ok(revisionOf(event) > promised, "Bookmarkable");
        promised = value.revision;
        count += value.events.length;
      };
      // A request may be lost, the last one of the writers as well.
      const timer = setInterval(() => own.requestProgress(), 5).unref();
      while (isWriting) await take();
      const end = Math.max(...(await written));
      while (promised < end) await take();
      clearInterval(timer);
      assert.equal(count, 300);
      await iterator.return?.();
    });

    test("many progress requests at once cost few calls, and none shows in ranges", async () => {
      let clockWrites = 0;
      await using store = await open("/coalesced", {
        onRequest: (operation) => {
          if (operation === "clock") clockWrites++;
        },
      });
      const start = await store.currentRevision(soon());
      const iterator = store
        .watch({ prefix: "/coalesced/", after: start }, soon())
        [Symbol.asyncIterator]();
      for (let round = 0; round < 1_000; round++) store.requestProgress();
      await iterator.next();
      for (let round = 0; round < 1_000; round++) store.requestProgress();
      await iterator.next();
      await iterator.return?.();
      assert.ok(clockWrites <= 4, `${clockWrites} clock writes`);
      if (binary === "oldest") assert.ok(clockWrites > 0);
      else assert.equal(clockWrites, 0);
      const { kvs, count } = await store.range({ prefix: "/coalesced/" }, soon());
      assert.deepEqual([kvs, count], [[], 0]);
    });

    test("any number of calls and watches cost a signal one listener", async () => {
      await using store = await open("/listeners");
      const controller = new AbortController();
      const { signal } = controller;
      const start = await store.currentRevision(signal);
      const calls = [];
      const watches = [];
      for (let index = 0; index < 50; index++) {
        calls.push(store.get("/listeners/a", {}, signal), store.lease(60, signal));
        const watch = store.watch({ prefix: "/listeners/", after: start }, signal);
        watches.push(watch[Symbol.asyncIterator]().next());
      }
      const ended = Promise.allSettled(watches);
      assert.equal(getEventListeners(signal, "abort").length, 1);
      await Promise.all(calls);
      assert.equal(getEventListeners(signal, "abort").length, 1);
      const reason = new Error("enough");
      controller.abort(reason);
      for (const end of await ended) assert.deepEqual(end, { status: "rejected", reason });
    });

    test("a consumer that stops reading makes etcd wait, and then gets all", async () => {
      await using store = await open("/slow");
      const start = await store.currentRevision(soon());
      const watch = store.watch({ prefix: "/slow/", after: start }, soon());
      const iterator = watch[Symbol.asyncIterator]();
      const value = Buffer.alloc(512 * KIBIBYTE, "x");
      let end = start;
      for (let round = 0; round < 80; round++) {
        const operations = [{ type: "put", key: "/slow/a", value }] as const;
        end = (await store.commit({ compares: [], operations }, soon())).revision;
      }
      const events = (await until(iterator, end)).flatMap((batch) => batch.events);
      assert.equal(events.length, 80);
      await iterator.return?.();
    });
  });
}

function revisionOf(event: StoreEvent): Revision {
  return event.type === "put" ? event.kv.modRevision : event.modRevision;
}

/** Batches up to the one that reaches the revision. */
async function until(iterator: AsyncIterator<WatchBatch>, revision: Revision) {
  const batches: WatchBatch[] = [];
  for (;;) {
    const { done, value } = await iterator.next();
    assert.ok(done !== true);
    batches.push(value);
    if (value.revision >= revision) return batches;
  }
}
