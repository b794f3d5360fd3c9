/**
 * The indicator of watch latency beside a probe from outside, which watches etcd and a replica at once:
 * what it sees later at the replica is what the replica says that it took.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { openEtcdStore } from "../../storage/etcd/etcd-store.js";
import type { Revision } from "../../storage/kv/store.js";
import { eventually } from "../harness/eventually.js";
import { isLong } from "../harness/is-long.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { openSocket, requestBytes } from "../promises/raw-client.js";
import { startEtcd } from "../tools/etcd.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const WRITES = 300;
/** A busy machine lets each of the processes wait for its turn: the longer, the more it took. */
const TOLERANCE_MS = isLong ? 1 : 10;
const TOLERANCE_PART = isLong ? 0 : 3 / 4;

test("CARD-08: the latency of watches that a replica reports is what a probe from outside sees, whoever commits", async (t) => {
  await using etcd = await startEtcd();
  const onEtcd = { etcdEndpoints: [etcd.endpoint], flags: ["--run-controllers=false"] };
  await using watched = await startServer(onEtcd);
  await using other = await startServer(onEtcd);
  await using probe = await openProbe(etcd.endpoint, watched);
  for (const [who, writer] of [
    ["itself", watched],
    ["another replica", other],
  ] as const) {
    const before = await total(watched);
    probe.differences.length = 0;
    for (let i = 0; i < WRITES; i++) {
      const name = `${writer.port}-${i}`;
      (await writer.client.post(MAPS, { metadata: { name } })).expect(201);
    }
    await eventually("all events have come", () => probe.differences.length >= WRITES);
    const after = await total(watched);
    const reported = ((after.sum - before.sum) / (after.count - before.count)) * 1000;
    const seen = probe.differences.reduce((sum, one) => sum + one, 0) / probe.differences.length;
    t.diagnostic(
      `committed by ${who}: reported ${reported.toFixed(2)} ms (${after.count - before.count} deliveries), seen ${seen.toFixed(2)} ms`,
    );
    assert.ok(after.count - before.count >= WRITES / 10);
    const toleranceMs = Math.max(TOLERANCE_MS, seen * TOLERANCE_PART);
    assert.ok(Math.abs(reported - seen) < toleranceMs, `${reported} and ${seen} ms`);
  }
});

async function total(server: ServerProcess): Promise<{ sum: number; count: number }> {
  const { text } = await server.client.get("/metrics");
  const read = (part: string) => {
    const name = `apiserver_watch_event_latency_seconds_${part}{stage="total"} `;
    return Number(text.slice(text.indexOf(name) + name.length).split("\n", 1)[0]);
  };
  return { sum: read("sum"), count: read("count") };
}

/** How much later each change comes from the replica than from etcd, in milliseconds. */
async function openProbe(endpoint: string, server: ServerProcess) {
  const ending = new AbortController();
  const store = await openEtcdStore(
    { endpoints: [endpoint], prefix: "/registry", clock: systemClock, logger: silentLogger },
    ending.signal,
  );
  const committed = new Map<string, number>();
  const differences: number[] = [];
  const after = (await store.currentRevision(ending.signal)) as Revision;
  const follow = async () => {
    const options = { prefix: "/registry/core/configmaps/", after };
    for await (const { events } of store.watch(options, ending.signal)) {
      for (const { modRevision } of events.map((one) => (one.type === "put" ? one.kv : one))) {
        note(String(modRevision), -1);
      }
    }
  };
  const following = follow().catch(() => {});
  const socket = await openSocket(server);
  socket.on("data", (data: Buffer) => {
    for (const [, revision] of data.toString("latin1").matchAll(/"resourceVersion":"(\d+)"/g)) {
      note(String(revision), 1);
    }
  });
  socket.write(requestBytes("GET", `${MAPS}?watch=1&resourceVersion=${after}`));
  return {
    differences,
    async [Symbol.asyncDispose]() {
      socket.destroy();
      ending.abort();
      await following;
      await store[Symbol.asyncDispose]();
    },
  };

  /** @param sign -1 where it came from etcd, 1 where it came from the replica */
  function note(revision: string, sign: number): void {
    const known = committed.get(revision);
    const at = sign * performance.now();
    if (known === undefined) committed.set(revision, at);
    else differences.push(known + at);
  }
}
