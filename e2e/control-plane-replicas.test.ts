/**
 * Control planes on several replicas of one store: any replica serves any of them, one replica's loops work in all, and
 * informers go on where another replica stops.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { DEADLINE_MS, eventually } from "./harness/eventually.js";
import type { HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { toConfigMap } from "./reads/history.js";
import { Reflector } from "./reads/reflector.js";
import { type EtcdProcess, startEtcd } from "./tools/etcd.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/keelson-control-planes";
const REPLICAS = 3;
/** Control planes, with an informer in each. */
const PLANES = Number(process.env.CONTROL_PLANES ?? 12);
/** Of watches; each goes on at another replica then, about ten a second. */
const WATCH_SECONDS = Math.max(3, Math.ceil(PLANES / 10));
/** A dead leader's lease ends by itself. */
const TAKEOVER_MS = DEADLINE_MS + 100 * PLANES;

describe("control planes on three replicas", () => {
  let etcd: EtcdProcess;
  const replicas: ServerProcess[] = [];
  // While one is replaced, two have the informers of all.
  const loadedMax = `--control-planes-loaded-max=${Math.max(500, 2 * PLANES)}`;
  const start = () =>
    startServer({
      etcdEndpoints: [etcd.endpoint],
      flags: ["--enable-control-planes", loadedMax],
    });

  before(async () => {
    etcd = await startEtcd();
    for (let at = 0; at < REPLICAS; at++) replicas.push(await start());
  });
  after(async () => {
    for (const replica of replicas) await replica[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const client = (at: number): HttpsClient => (replicas[at % REPLICAS] as ServerProcess).client;
  const make = async (name: string, at: number): Promise<void> => {
    const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
    (await client(at).post(KIND, { ...of, metadata: { name } })).expect(201);
  };
  /** A namespace that is made through a replica gets its account from the loops, wherever they run. */
  const areLoopsAtWork = async (plane: string, at: number, name: string): Promise<void> => {
    const path = `/clusters/${plane}/api/v1/namespaces`;
    (await client(at).post(path, { metadata: { name } })).expect(201);
    await eventually(
      `${plane}: the account in ${name}`,
      async () => (await client(at).get(`${path}/${name}/serviceaccounts/default`)).status === 200,
      TAKEOVER_MS,
    );
  };
  const metric = async (at: number, name: string): Promise<number> => {
    const { text } = (await client(at).get("/metrics")).expect(200);
    return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  };
  const leader = async (): Promise<string> => {
    const { spec } = (await client(0).get(LEASE)).expect(200).object as unknown as {
      spec: { holderIdentity?: string };
    };
    return spec.holderIdentity ?? "";
  };

  test("loops of a control plane that each of three replicas serves are run by one, which loads it for that", async () => {
    for (let at = 0; at < REPLICAS; at++) {
      await make(`through-${at}`, at);
      await areLoopsAtWork(`through-${at}`, at, "shop");
    }
    const loaded: number[] = [];
    for (let at = 0; at < REPLICAS; at++) {
      loaded.push(await metric(at, "keelson_control_planes_loaded"));
    }
    // The leader has all three, the others what was asked of them.
    assert.deepEqual(loaded.toSorted(), [1, 1, 3]);
  });

  test("informers in control planes list again in none while the replicas are replaced one after the other", async (t) => {
    const names = Array.from({ length: PLANES }, (_, at) => `informed-${at}`);
    for (const [at, name] of names.entries()) await make(name, at);
    let turn = 0;
    const reflectors = names.map((name) => {
      const path = `/clusters/${name}${CONFIG_MAPS}`;
      return new Reflector({
        ...{ path, next: () => client(turn++), isStreaming: false },
        timeoutSeconds: WATCH_SECONDS,
      });
    });
    await Promise.all(reflectors.map((reflector) => reflector.start()));
    const writeAll = async (round: string): Promise<void> => {
      for (const [at, name] of names.entries()) {
        const path = `/clusters/${name}${CONFIG_MAPS}`;
        (await client(at).post(path, toConfigMap(round))).expect(201);
      }
    };
    const holdAll = (round: string) => reflectors.every(({ store }) => store.has(round));
    await writeAll("before");
    for (let at = 0; at < REPLICAS; at++) {
      await replicas[at]?.stop();
      replicas[at] = await start();
      await writeAll(`round-${at}`);
      await eventually(
        `all informers have seen round ${at}`,
        () => holdAll(`round-${at}`),
        TAKEOVER_MS,
      );
    }
    for (const reflector of reflectors) await reflector.stop();
    assert.ok(holdAll("before"));
    const relists = reflectors.reduce((total, one) => total + one.relists, 0);
    const watches = reflectors.reduce((total, one) => total + one.watches, 0);
    t.diagnostic(`${PLANES} informers, ${watches} watches, ${relists} relists`);
    assert.equal(relists, 0);
  });

  test("when the replica that leads the loops dies another one goes on with them", async () => {
    const before = await leader();
    const at = replicas.findIndex(({ logs }) => logs.includes(`identity=${before}`));
    assert.notEqual(at, -1, `nobody says that it is ${before}`);
    await replicas[at]?.kill();
    const other = (at + 1) % REPLICAS;
    await areLoopsAtWork("through-1", other, "after");
    replicas[at] = await start();
    assert.notEqual(await leader(), before);
  });
});
