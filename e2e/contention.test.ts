/**
 * Many clients of three replicas that want the same: one counter, one prefix of names, one pool of
 * addresses and ports, also while a replica is killed. KEELSON_CREATES makes the second one longer.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { ApiObject, HttpsClient } from "./harness/https-client.js";
import { isLong } from "./harness/is-long.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { startEtcd } from "./tools/etcd.js";

const REPLICAS = 3;
const CLIENTS = 100;
const INCREMENTS_PER_CLIENT = isLong ? 2 : 1;
const CREATES = Number(process.env.KEELSON_CREATES ?? (isLong ? 2_000 : 800));
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const SERVICES = "/api/v1/namespaces/default/services";
const ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses";
const FLAGS = ["--service-cluster-ip-range=10.77.0.0/24", "--service-node-port-range=30000-30200"];

describe("contention", () => {
  let etcd: Awaited<ReturnType<typeof startEtcd>>;
  let replicas: ServerProcess[];

  const open = () => startServer({ etcdEndpoints: [etcd.endpoint], flags: FLAGS });
  const clientOf = (index: number): HttpsClient => {
    const replica = replicas[index % REPLICAS];
    assert.ok(replica !== undefined);
    return replica.client;
  };

  before(async () => {
    etcd = await startEtcd();
    replicas = await Promise.all(Array.from({ length: REPLICAS }, open));
  });
  after(async () => {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()));
    await etcd.stop();
  });

  test("S1-CRUD-09, NoLostUpdate: 100 clients of three replicas count to what was acknowledged", async (t) => {
    const counter = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "counter" } };
    (await clientOf(0).post(CONFIG_MAPS, { ...counter, data: { n: "0" } })).expect(201);
    const url = `${CONFIG_MAPS}/counter`;
    let acknowledged = 0;
    let conflicts = 0;
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let done = 0, turn = client; done < INCREMENTS_PER_CLIENT; turn++) {
          // Read on one replica, written on the next.
          const read = (await clientOf(turn).get(url)).expect(200).object;
          const n = Number((read.data as { n: string }).n) + 1;
          const answer = await clientOf(turn + 1).put(url, { ...read, data: { n: String(n) } });
          if (answer.status === 200) {
            acknowledged++;
            done++;
          } else {
            answer.expect(409);
            conflicts++;
          }
        }
      }),
    );
    t.diagnostic(`${acknowledged} increments, ${conflicts} conflicts`);
    assert.equal(acknowledged, CLIENTS * INCREMENTS_PER_CLIENT);
    for (let index = 0; index < REPLICAS; index++) {
      const { data } = (await clientOf(index).get(url)).expect(200).object;
      assert.deepEqual(data, { n: String(acknowledged) });
    }
  });

  test(`S1-META-03: ${CREATES} creates with one prefix get names of their own, in bounded time`, async (t) => {
    const names = new Set<string>();
    const started = performance.now();
    let left = CREATES;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "crowd-" } };
    await Promise.all(
      Array.from({ length: 64 * REPLICAS }, async (_, client) => {
        while (left-- > 0) {
          const { metadata } = (await clientOf(client).post(CONFIG_MAPS, body)).expect(201).object;
          assert.match(metadata.name ?? "", /^crowd-[a-z0-9]{5}$/);
          names.add(metadata.name ?? "");
        }
      }),
    );
    const elapsedMs = performance.now() - started;
    t.diagnostic(`${CREATES} creates in ${Math.round(elapsedMs)} ms`);
    assert.equal(names.size, CREATES);
  });

  test("Unique: no address and no node port is given twice, also when a replica is killed", async (t) => {
    const holders = new Map<string, string>();
    const rounds = 12;
    const workers = 24;
    let killed: Promise<void> | undefined;
    let unknown = 0;
    let made = 0;

    /** Takes note of what a create was told; the object is there until its delete is sent. */
    const hold = (name: string, held: readonly string[]) => {
      for (const one of held) {
        assert.equal(holders.get(one), undefined, `${one} of ${name} is given twice`);
        holders.set(one, name);
      }
    };
    const release = (held: readonly string[]) => {
      for (const one of held) holders.delete(one);
    };
    const restart = async () => {
      const [victim] = replicas;
      await victim?.kill();
      await victim?.[Symbol.asyncDispose]();
      replicas[0] = await open();
    };

    await Promise.all(
      Array.from({ length: workers }, async (_, worker) => {
        for (let round = 0; round < rounds; round++) {
          if (worker === 0 && round === 3) killed = restart();
          const name = `s-${worker}-${round}`;
          const service = {
            apiVersion: "v1",
            kind: "Service",
            metadata: { name },
            spec: { type: "NodePort", ports: [{ port: 80 }] },
          };
          // A killed replica answers nothing: whether it wrote is seen in the end.
          const created = await clientOf(worker + round)
            .post(SERVICES, service)
            .catch(() => undefined);
          if (created === undefined) {
            unknown++;
            await killed;
            continue;
          }
          made++;
          const held = heldBy(created.expect(201).object);
          hold(name, held);
          if (round % 3 === 2) continue;
          release(held);
          const url = `${SERVICES}/${name}`;
          const deleted = await clientOf(worker + round + 1)
            .delete(url)
            .catch(() => undefined);
          if (deleted === undefined) unknown++;
          else deleted.expect(200);
        }
      }),
    );
    await killed;
    t.diagnostic(`${made} services made, ${unknown} answers lost`);

    const stored = (await clientOf(0).get(SERVICES)).expect(200).items;
    const given = stored.flatMap(heldBy);
    assert.equal(new Set(given).size, given.length, "what is stored holds nothing twice");
    for (const [one, name] of holders) {
      const owner = stored.find(({ metadata }) => metadata.name === name);
      assert.ok(owner !== undefined && heldBy(owner).includes(one), `${name} keeps ${one}`);
    }
    // Nothing leaks either: every address that is taken belongs to a Service that there is.
    const taken = (await clientOf(1).get(ADDRESSES))
      .expect(200)
      .items.map(({ metadata }) => metadata.name);
    const inUse = (await clientOf(1).get("/api/v1/services"))
      .expect(200)
      .items.map(({ spec }) => (spec as { clusterIP: string }).clusterIP)
      .filter((ip) => ip !== "None");
    assert.deepEqual(taken.sort(), inUse.sort());
  });
});

/** Address and node port of a Service. */
function heldBy({ spec }: ApiObject): string[] {
  const { clusterIP, ports } = spec as { clusterIP: string; ports: { nodePort?: number }[] };
  const nodePorts = ports.flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort]));
  return [clusterIP, ...nodePorts.map((port) => `port ${port}`)];
}
