/**
 * What replicas ask of etcd, as etcd itself counts it: a transaction for a write, one watch for
 * everything, and for consistent reads only which revision it is at.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../storage/base/clock.js";
import { silentLogger } from "../storage/base/logger.js";
import { openEtcdStore } from "../storage/etcd/etcd-store.js";
import { eventually, soon } from "./harness/eventually.js";
import { defaultFlowSchemas } from "./harness/flow-schemas.js";
import { startServer } from "./harness/server-process.js";
import { startEtcd } from "./tools/etcd.js";

const MAPS = "/api/v1/namespaces/default/configmaps";
const TRUST = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
/** Control loops would write as well, and so would leases. */
const NO_LOOPS = ["--run-controllers=false", "--endpoint-reconciler-type=none"];

/** One of etcd's own metrics, summed over the lines that start so. */
async function countedBy(endpoint: string, start: string): Promise<number> {
  const text = await (await fetch(`${endpoint}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(start));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

const callsOf = (method: string) =>
  `grpc_server_handled_total{grpc_code="OK",grpc_method="${method}"`;

test("CARD-02: every write is one transaction of etcd, and its revision is the object's version", async () => {
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint], flags: NO_LOOPS });
  const { client } = server;
  // What a replica writes of its own accord, at its start.
  await eventually("the replica has published whom it trusts", async () => {
    return (await client.get(TRUST)).status === 200;
  });
  await defaultFlowSchemas(client);
  const transactions = () => countedBy(etcd.endpoint, callsOf("Txn"));
  await using store = await openEtcdStore(
    {
      endpoints: [etcd.endpoint],
      prefix: "/registry",
      clock: systemClock,
      logger: silentLogger,
    },
    soon(),
  );
  const stored = async (name: string) => {
    const key = `/registry/core/configmaps/default/${name}`;
    const { kv } = await store.get(key, {}, soon());
    return { key, kv };
  };

  const before = await transactions();
  for (let round = 0; round < 10; round++) {
    const path = `${MAPS}/m${round}`;
    const steps = [
      () => client.post(MAPS, { metadata: { name: `m${round}` } }),
      () => client.put(path, { metadata: { name: `m${round}` }, data: { a: "1" } }),
      () => client.patch(path, '{"data":{"b":"2"}}'),
    ];
    const versions: number[] = [];
    for (const step of steps) {
      versions.push(Number((await step()).object.metadata.resourceVersion));
      // Memory has it, so that the next write need not find out that it is late.
      (await client.get(path)).expect(200);
    }
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((a, b) => a - b),
    );
    const { kv } = await stored(`m${round}`);
    assert.equal(kv?.modRevision, versions.at(-1));
    (await client.delete(path)).expect(200);
    assert.equal((await stored(`m${round}`)).kv, undefined);
  }
  assert.equal((await transactions()) - before, 40);
  for (const method of ["Put", "DeleteRange"]) {
    assert.equal(await countedBy(etcd.endpoint, callsOf(method)), 0, method);
  }

  // Somebody else changes the object: what the client saw before no longer matches.
  const seen = (await client.post(MAPS, { metadata: { name: "a" } })).expect(201).object;
  const { key, kv } = await stored("a");
  assert.ok(kv !== undefined);
  const compares = [{ key, modRevision: kv.modRevision }];
  const operations = [{ type: "put", key, value: kv.value } as const];
  await store.commit({ compares, operations }, soon());
  (await client.put(`${MAPS}/a`, seen)).expect(409);
});

test("CARD-03: a replica has one watch at etcd, whatever its clients watch", async () => {
  await using etcd = await startEtcd();
  const options = { etcdEndpoints: [etcd.endpoint], flags: NO_LOOPS };
  await using first = await startServer(options);
  await using second = await startServer(options);
  const watches = () => countedBy(etcd.endpoint, "etcd_debugging_mvcc_watcher_total");
  // Watches come on top and go again while a replica that has just started reads the history before it.
  const onlyFeeds = () =>
    eventually("two watches for two replicas", async () => {
      return (await watches()) === 2 ? true : undefined;
    });
  await onlyFeeds();
  const ending = new AbortController();
  const resources = ["configmaps", "secrets", "pods", "nodes"];
  for (const { client } of [first, second]) {
    for (const resource of resources) {
      const stream = await client.watch(`/api/v1/${resource}?watch=1`, ending.signal);
      // Nobody listens: what counts is that it is open.
      void stream.next().catch(() => undefined);
    }
  }
  // What a client watches would stay: its stream is open until here.
  await onlyFeeds();
  ending.abort();
});

test("CARD-04: consistent reads come from memory; of etcd they ask only its revision", async (t) => {
  await using etcd = await startEtcd();
  const options = { etcdEndpoints: [etcd.endpoint], flags: NO_LOOPS };
  await using writer = await startServer(options);
  await using reader = await startServer(options);
  const data = { text: "x".repeat(100_000) };
  const create = (name: string) => writer.client.post(MAPS, { metadata: { name }, data });
  for (let index = 0; index < 20; index++) (await create(`m${index}`)).expect(201);
  const sentBytes = () => countedBy(etcd.endpoint, "etcd_network_client_grpc_sent_bytes_total");
  await reader.client.get(MAPS);
  const before = await sentBytes();
  let readBytes = 0;
  for (let round = 0; round < 20; round++) {
    const name = `late${round}`;
    (await writer.client.post(MAPS, { metadata: { name } })).expect(201);
    // On the other replica, with no version named: it must be there.
    (await reader.client.get(`${MAPS}/${name}`)).expect(200);
    readBytes += (await reader.client.get(MAPS)).expect(200).bytes.length;
  }
  const cost = (await sentBytes()) - before;
  t.diagnostic(`${cost} bytes from etcd for ${readBytes} bytes of fresh lists`);
  assert.ok(readBytes > 40_000_000);
  assert.ok(cost < 400_000, `${cost} bytes`);
});
