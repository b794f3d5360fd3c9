/**
 * EtcdStore when etcd or the network fails: which calls are retried, which are not, and what errors
 * callers get. Over both transports, as callers must not see a difference.
 */
import assert from "node:assert/strict";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eventually, HopelessError, soon } from "../../e2e/harness/eventually.js";
import {
  type EtcdCluster,
  type EtcdProcess,
  etcdReleases,
  startEtcd,
  startEtcdCluster,
} from "../../e2e/tools/etcd.js";
import { startTcpProxy } from "../../e2e/tools/tcp-proxy.js";
import { systemClock } from "../base/clock.js";
import { silentLogger } from "../base/logger.js";
import { StorageError } from "../kv/errors.js";
import { type Revision, type RevisionedStore, toRevision, type WatchBatch } from "../kv/store.js";
import { type EtcdStore, type EtcdStoreOptions, openEtcdStore } from "./etcd-store.js";

const PREFIX = "/faults";

/** Shorter timeouts than the defaults; etcd must be configured to allow such frequent pings. */
const IMPATIENT = { dialTimeoutMs: 500, keepalive: { intervalMs: 250, timeoutMs: 500 } };
const PATIENT_ETCD = ["--grpc-keepalive-min-time=100ms"];
/** A cluster that detects the loss of its leader faster than by default. */
const QUICK_CLUSTER = [...PATIENT_ETCD, "--heartbeat-interval=50", "--election-timeout=500"];

function openStore(endpoints: readonly string[], options: Partial<EtcdStoreOptions>) {
  return openEtcdStore(
    { endpoints, prefix: PREFIX, clock: systemClock, logger: silentLogger, ...options },
    soon(),
  );
}

function put(store: RevisionedStore, name: string, value: string) {
  const key = `${PREFIX}/${name}`;
  const operations = [{ type: "put", key, value: Buffer.from(value) }] as const;
  return store.commit({ compares: [], operations }, soon());
}

async function textOf(store: RevisionedStore, name: string): Promise<string | undefined> {
  return (await store.get(`${PREFIX}/${name}`, {}, soon())).kv?.value.toString();
}

/** Takes batches until one reaches the revision. */
async function until(iterator: AsyncIterator<WatchBatch>, revision: Revision) {
  const events = [];
  for (;;) {
    const { done, value } = await iterator.next();
    assert.ok(done !== true);
    events.push(...value.events);
    if (value.revision >= revision) return events;
  }
}

/** Retries until it succeeds: after a fault each caller decides by itself to ask again. */
async function retried<T>(run: () => Promise<T>): Promise<T> {
  const { value } = await eventually("it succeeds", async () => {
    try {
      return { value: await run() };
    } catch (error) {
      if (error instanceof StorageError) throw error;
      throw new HopelessError("not by asking again", { cause: error });
    }
  });
  return value;
}

const releases = await etcdReleases();

for (const transport of ["lean", "grpc"] as const) {
  const open = (endpoints: readonly string[], options: Partial<EtcdStoreOptions> = {}) =>
    openStore(endpoints, { transport, ...options });

  describe(`EtcdStore and a network that fails, over ${transport}`, () => {
    let etcd: EtcdProcess;
    before(async () => {
      etcd = await startEtcd({ args: PATIENT_ETCD });
    });
    after(() => etcd.stop());

    test("a commit whose answer got lost is of unknown outcome and not sent again", async () => {
      await using proxy = await startTcpProxy(etcd.endpoint);
      await using store = await open([proxy.endpoint]);
      await using witness = await open([etcd.endpoint]);
      const first = await put(store, "lost-answer", "1");
      const watch = witness.watch({ prefix: PREFIX, after: first.revision }, soon());
      proxy.loseAnswers();
      const commit = put(store, "lost-answer", "2");
      const failed = assert.rejects(commit, { code: "Unavailable", outcomeUnknown: true });
      // Not at the first lost answer: that may be the connection's own traffic.
      await until(watch[Symbol.asyncIterator](), toRevision(first.revision + 1));
      proxy.cut();
      await failed;
      // The write happened exactly once: two revisions of the key in all.
      assert.equal(await textOf(store, "lost-answer"), "2");
      const { kv } = await store.get(`${PREFIX}/lost-answer`, {}, soon());
      assert.equal(kv?.modRevision, first.revision + 1);
      assert.equal(await store.currentRevision(soon()), first.revision + 1);
    });

    test("a read whose answer got lost is asked again", async () => {
      await using proxy = await startTcpProxy(etcd.endpoint);
      await using store = await open([proxy.endpoint]);
      await put(store, "read", "1");
      proxy.loseAnswers();
      const lost = proxy.waitForLostAnswer();
      const read = textOf(store, "read");
      await lost;
      proxy.cut();
      assert.equal(await read, "1");
    });

    test("a commit that could not be sent has certainly not happened", async () => {
      await using proxy = await startTcpProxy(etcd.endpoint);
      await using store = await open([proxy.endpoint]);
      proxy.refuse(true);
      proxy.cut();
      await retried(async () => {
        const failure = await put(store, "unsent", "1").catch((error: unknown) => error);
        assert.ok(failure instanceof StorageError && failure.code === "Unavailable");
        // The first commit may have been under way when the connection ended.
        if (failure.outcomeUnknown) throw failure;
      });
      proxy.refuse(false);
      assert.equal(await retried(() => textOf(store, "unsent")), undefined);
    });

    test("a commit aborted by its signal ends at once with its reason", async () => {
      await using proxy = await startTcpProxy(etcd.endpoint);
      await using store = await open([proxy.endpoint]);
      proxy.loseAnswers();
      const controller = new AbortController();
      const lost = proxy.waitForLostAnswer();
      const reason = new Error("the client has gone");
      const commit = store.commit({ compares: [], operations: [] }, controller.signal);
      const failed = assert.rejects(commit, reason);
      await lost;
      controller.abort(reason);
      await failed;
      proxy.cut();
    });

    test("a member that accepts connections and says nothing is given up in time", async () => {
      await using store = await open([etcd.endpoint], IMPATIENT);
      await put(store, "paused", "1");
      const { revision } = await put(store, "paused", "2");
      const watch = store.watch({ prefix: PREFIX, after: revision }, soon());
      const iterator = watch[Symbol.asyncIterator]();
      const next = iterator.next();
      etcd.pause();
      try {
        // By the keepalive's silence, and not by the deadline, which would be the reason then.
        await assert.rejects(put(store, "paused", "3"), { code: "Unavailable" });
      } finally {
        etcd.resume();
      }
      const written = await retried(() => put(store, "paused", "4"));
      const first = await next;
      assert.ok(first.done !== true);
      if (first.value.revision < written.revision) await until(iterator, written.revision);
      assert.equal(await textOf(store, "paused"), "4");
      await iterator.return?.();
    });

    test("where nobody listens opening is Unavailable before the caller's deadline", async () => {
      await assert.rejects(open(["http://127.0.0.1:1"]), { code: "Unavailable" });
    });

    test("an endpoint that is no address is Refused", async () => {
      await assert.rejects(async () => await open(["http://"]), { code: "Refused" });
    });

    test("endpoints of two clusters are Refused", async () => {
      await using other = await startEtcd({ args: ["--initial-cluster-token=other"] });
      await assert.rejects(open([etcd.endpoint, other.endpoint]), { code: "Refused" });
    });
  });

  describe(`EtcdStore and a watch that falls behind, over ${transport}`, () => {
    for (const { binary, title, skip } of releases) {
      test(`events compacted while etcd was out of reach end a watch: ${title}`, {
        skip,
      }, async () => {
        await using etcd = await startEtcd({ binary });
        await using proxy = await startTcpProxy(etcd.endpoint);
        await using watcher = await open([proxy.endpoint]);
        await using writer = await open([etcd.endpoint]);
        const { revision } = await put(writer, "a", "1");
        const watch = watcher.watch({ prefix: PREFIX, after: revision }, soon());
        const iterator = watch[Symbol.asyncIterator]();
        const shown = await put(writer, "a", "2");
        await until(iterator, shown.revision);

        proxy.refuse(true);
        proxy.cut();
        await put(writer, "a", "3");
        const last = await put(writer, "a", "4");
        await writer.compact(last.revision, soon());
        proxy.refuse(false);
        await assert.rejects(until(iterator, last.revision), { code: "Compacted" });
      });
    }
  });

  describe(`EtcdStore and an etcd whose state was replaced by another, over ${transport}`, () => {
    for (const isWiped of [false, true]) {
      const by = isWiped ? "an empty one" : "an older copy of its data";
      test(`a watch ends when the history that it follows is replaced by ${by}`, async () => {
        await using etcd = await startEtcd();
        await using store = await open([etcd.endpoint]);
        const first = await put(store, "a", "1");
        await etcd.kill();
        const copy = await mkdtemp(join(tmpdir(), "keelson-etcd-copy-"));
        if (!isWiped) await cp(etcd.dataDir, copy, { recursive: true });
        await etcd.restart();
        const watch = store.watch({ prefix: PREFIX, after: first.revision }, soon());
        const iterator = watch[Symbol.asyncIterator]();
        const last = await retried(() => put(store, "a", "2"));
        await until(iterator, last.revision);

        await etcd.kill();
        await rm(etcd.dataDir, { recursive: true });
        await rename(copy, etcd.dataDir);
        await etcd.restart();
        await assert.rejects(iterator.next(), { code: "Compacted" });
        const { revision } = await retried(() => put(store, "a", "3"));
        assert.ok(revision <= last.revision);
      });
    }
  });

  describe(`EtcdStore on a cluster of three, over ${transport}`, () => {
    test("reads, commits and watches go on while any one member is down", async () => {
      await using cluster = await startThree();
      await using store = await open(cluster.endpoints, IMPATIENT);
      const start = await store.currentRevision(soon());
      const watch = store.watch({ prefix: PREFIX, after: start }, soon());
      const iterator = watch[Symbol.asyncIterator]();
      const seen: unknown[] = [];
      const written: string[] = [];
      for (const [index, member] of cluster.members.entries()) {
        await member.kill();
        // Answered as soon as there is a leader again. A write that comes before it waits for 6 s in
        // etcd and then fails; the test with lost answers covers that.
        await retried(() => store.currentRevision(soon()));
        // A killed leader loses its answers; a write of unknown outcome is not repeated.
        const name = `member-${index}`;
        const { revision } = await retried(() => putOnce(store, name));
        written.push(`${PREFIX}/${name}`);
        const events = await until(iterator, revision);
        seen.push(...events.map((event) => (event.type === "put" ? event.kv.key : event)));
        assert.equal(await retried(() => textOf(store, name)), "once");
        await member.restart();
      }
      assert.deepEqual(seen, written);
      await iterator.return?.();
    });

    test("a member without a leader says so at once, and serves again with one", async () => {
      await using cluster = await startThree();
      const [alone, second, third] = cluster.members;
      assert.ok(alone && second && third);
      await using store = await open([alone.endpoint], IMPATIENT);
      await putOnce(store, "quorum");
      await Promise.all([second.kill(), third.kill()]);
      // A read that arrives before the member notices waits 6 s in etcd; the next need not.
      let failure: unknown;
      while (!(failure instanceof StorageError)) {
        const refused = store.currentRevision(AbortSignal.timeout(2_000));
        failure = await refused.catch((error: unknown) => error);
      }
      assert.equal(failure.code, "Unavailable");
      await second.start();
      assert.equal(await retried(() => textOf(store, "quorum")), "once");
    });

    test("a paused member is left for another one", async () => {
      await using cluster = await startThree();
      await using store = await open(cluster.endpoints, IMPATIENT);
      for (const [index, member] of cluster.members.entries()) {
        member.pause();
        const { revision } = await retried(() => putOnce(store, `paused-${index}`));
        assert.ok((await retried(() => store.currentRevision(soon()))) >= revision);
        member.resume();
      }
    });
  });
}

/** Three members that are killed at the end: on a normal stop the last ones wait for the others. */
async function startThree(): Promise<EtcdCluster> {
  const cluster = await startEtcdCluster(3, { args: QUICK_CLUSTER });
  const stop = async () => {
    await Promise.all(cluster.members.map((member) => member.kill()));
    await cluster.stop();
  };
  return { ...cluster, stop, [Symbol.asyncDispose]: stop };
}

/** Creates the key, whether or not an earlier attempt did; gives the revision of its creation. */
async function putOnce(store: EtcdStore, name: string): Promise<{ revision: Revision }> {
  const key = `${PREFIX}/${name}`;
  const operations = [{ type: "put", key, value: Buffer.from("once") }] as const;
  const result = await store.commit({ compares: [{ key, modRevision: 0 }], operations }, soon());
  if (result.succeeded) return result;
  const created = result.current[0];
  assert.ok(created !== undefined);
  return { revision: created.modRevision };
}
