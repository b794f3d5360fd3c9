/**
 * What consistent reads cost and survive: few questions to etcd, other tenants of the same etcd, and
 * an etcd without quorum.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, within } from "../harness/eventually.js";
import type { HttpsClient } from "../harness/https-client.js";
import { isLong } from "../harness/is-long.js";
import { RawConnection } from "../harness/raw-http.js";
import { startServer } from "../harness/server-process.js";
import { etcdReleases, startEtcd, startEtcdCluster } from "../tools/etcd.js";
import { revisionOf, toConfigMap } from "./history.js";
import { openRawEtcdAt } from "./raw-etcd.js";

const PATH = "/api/v1/namespaces/default/configmaps";
const NO_LOOPS = ["--run-controllers=false"];

test("S1-RV-24, S1-RV-23: 1,000 consistent gets at concurrency 64 cost at most 100 reads of etcd, and any-reads none", async (t) => {
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint], flags: NO_LOOPS });
  const { client } = server;
  (await client.post(PATH, toConfigMap("a"))).expect(201);
  // Raw connections: a client that is slower than the server would measure itself.
  const connections = await Promise.all(
    Array.from({ length: 64 }, () => RawConnection.open(server.port, server.credentials)),
  );
  const get = async (path: string, count: number) => {
    const before = await etcdRequests(client);
    let left = count;
    const bytes = Buffer.from(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await Promise.all(
      connections.map(async (connection) => {
        while (left-- > 0) {
          const status = (await connection.send(bytes))?.status;
          // An etcd that gets no processor for three seconds: clients come again.
          if (status === 503) left++;
          else assert.equal(status, 200);
        }
      }),
    );
    return (await etcdRequests(client)) - before;
  };
  await get(`${PATH}/a`, 1_000);
  const consistent = await get(`${PATH}/a`, 5_000);
  t.diagnostic(`${consistent / 5} reads of etcd per 1,000 consistent gets`);
  assert.ok(consistent > 0, "they are fresh");
  assert.ok(consistent <= 500, `${consistent / 5} reads of etcd per 1,000`);
  const any = await get(`${PATH}/a?resourceVersion=0`, 1_000);
  assert.ok(any <= 5, `${any} reads of etcd: only bookkeeping of the server's own`);
  for (const connection of connections) connection.destroy();
});

/** In the long run each, else the newest. */
const releases = (await etcdReleases()).slice(isLong ? 0 : -1);

for (const { binary, title, skip } of releases) {
  test(`S1-RV-24: another tenant's writes do not stall consistent reads (${title})`, {
    skip,
  }, async (t) => {
    await using etcd = await startEtcd({ binary });
    await using server = await startServer({ etcdEndpoints: [etcd.endpoint], flags: NO_LOOPS });
    const { client } = server;
    (await client.post(PATH, toConfigMap("a"))).expect(201);
    await using tenant = await openRawEtcdAt(etcd.endpoint, "/tenant");
    let isWriting = true;
    let writes = 0;
    const writing = (async () => {
      while (isWriting) await tenant.put("/tenant/key", String(writes++));
    })();
    const tookMs: number[] = [];
    for (let round = 0; round < 200; round++) {
      const startedAt = performance.now();
      (await client.get(`${PATH}/a`)).expect(200);
      tookMs.push(performance.now() - startedAt);
    }
    isWriting = false;
    await writing;
    tookMs.sort((a, b) => a - b);
    const [quarter, median, late] = [tookMs[50] ?? 0, tookMs[100] ?? 0, tookMs[180] ?? 0];
    t.diagnostic(
      `${writes} foreign writes; p25 ${quarter.toFixed(1)} ms, median ${median.toFixed(1)} ms, p90 ${late.toFixed(1)} ms`,
    );
    assert.ok(writes > 50, "the tenant did write");
    // A lost progress notification costs 20 ms, of each read if all are lost; a busy machine is slow for some. On old
    // etcds progress is a write, with its fsync.
    assert.ok(quarter < (binary === "oldest" ? 60 : 20), `p25 ${quarter} ms`);
  });
}

test("S1-RV-24, S1-RV-02, S1-ERR-11: without quorum consistent reads fail in bounded time with Retry-After, any-reads go on, and all is well afterwards", async () => {
  await using cluster = await startEtcdCluster(3);
  // Not by the deadline of requests, which is longer than the test waits.
  const flags = [...NO_LOOPS, "--request-timeout=1h"];
  await using server = await startServer({ etcdEndpoints: cluster.endpoints, flags });
  const { client } = server;
  const created = (await client.post(PATH, toConfigMap("a"))).expect(201).object;
  const [, second, third] = cluster.members;
  second?.pause();
  third?.pause();
  // What the members had answered when they were stopped may still be on its way.
  await eventually("quorum is lost", async () => (await client.get(`${PATH}/a`)).status !== 200);
  const queries = ["/a", "", "?limit=1", "?watch=1"];
  const requests = queries.flatMap((query) =>
    [0, 150, 300, 450].map((delayMs) => ({ query, delayMs })),
  );
  await Promise.all(
    requests.map(async ({ query, delayMs }) => {
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      const answer = await within(query, client.get(PATH + query));
      assert.ok(answer.status === 503 || answer.status === 504, `${query}: ${answer.status}`);
      assert.equal(answer.headers["retry-after"], "1");
    }),
  );
  for (const query of ["/a?resourceVersion=0", "?resourceVersion=0"]) {
    (await client.get(PATH + query)).expect(200);
  }
  const known = `${PATH}?resourceVersionMatch=Exact&resourceVersion=${revisionOf(created)}`;
  (await client.get(known)).expect(200);
  second?.resume();
  third?.resume();
  await eventually("there is a quorum", async () => (await client.get(`${PATH}/a`)).status === 200);
  const updated = (await client.put(`${PATH}/a`, toConfigMap("a"))).expect(200).object;
  const read = (await client.get(`${PATH}/a`)).expect(200).object;
  assert.equal(revisionOf(read), revisionOf(updated));
});

async function etcdRequests(client: HttpsClient): Promise<number> {
  const { text } = (await client.get("/metrics")).expect(200);
  const lines = text.split("\n").filter((line) => line.startsWith("etcd_requests_total{"));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
