/**
 * What control planes cost that are not loaded: `node dist/e2e/bench/control-planes-unloaded.js [--count=10000]`. Two
 * replicas over etcd, one of which leads the control loops, while 100 objects a second are written among all of them, as
 * another replica that has them loaded would.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { systemClock } from "../../storage/base/clock.js";
import { silentLogger } from "../../storage/base/logger.js";
import { openEtcdStore } from "../../storage/etcd/etcd-store.js";
import type { RevisionedStore } from "../../storage/kv/store.js";
import { KeySpace } from "../../storage/objects/keys.js";
import { shippedEnvironment, shippedNodeFlags } from "../harness/command.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { startEtcd } from "../tools/etcd.js";
import { cpuUs } from "./cpu.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const AT_ONCE = 16;
const SETTLE_MS = 20_000;
const PART_MS = 20_000;
const WRITES_PER_SECOND = 100;

const { values } = parseArgs({ options: { count: { type: "string", default: "10000" } } });
const count = Number(values.count);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const signal = new AbortController().signal;
Object.assign(process.env, await shippedEnvironment());

await using etcd = await startEtcd();
const start = () =>
  startServer({
    etcdEndpoints: [etcd.endpoint],
    flags: ["--enable-control-planes"],
    nodeFlags: shippedNodeFlags(),
  });

async function residentKib({ pid }: ServerProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

/** Of a replica that has just started: what came with the creates is not in it. */
async function freshKib(): Promise<number> {
  await using replica = await start();
  await pause(SETTLE_MS);
  return await residentKib(replica);
}

async function loaded({ client }: ServerProcess): Promise<string> {
  const { text } = (await client.get("/metrics")).expect(200);
  return /^keelson_control_planes_loaded (\S+)$/m.exec(text)?.[1] ?? "?";
}

async function makeAll({ client }: ServerProcess): Promise<string[]> {
  const uids: string[] = [];
  let next = 0;
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    while (next < count) {
      const metadata = { name: `plane-${next++}` };
      const made = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane", metadata };
      uids.push((await client.post(KIND, made)).expect(201).object.metadata.uid ?? "");
    }
  });
  await Promise.all(lanes);
  return uids;
}

/** Puts ConfigMaps until the signal aborts. @returns how many */
async function writeAmong(
  store: RevisionedStore,
  uids: readonly string[],
  until: AbortSignal,
): Promise<number> {
  const { partsPrefix } = new KeySpace("/registry");
  const beganMs = performance.now();
  const written: Promise<unknown>[] = [];
  while (!until.aborted) {
    while ((written.length * 1_000) / WRITES_PER_SECOND < performance.now() - beganMs) {
      const at = written.length;
      const name = `map-${Math.floor(at / uids.length)}`;
      const metadata = { name, namespace: "default", uid: `uid-${at}` };
      const value = Buffer.from(JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata }));
      const key = `${partsPrefix}${uids[(at * 7_919) % uids.length]}/core/configmaps/default/${name}`;
      const operations = [{ type: "put" as const, key, value }];
      written.push(store.commit({ compares: [], operations }, signal));
    }
    await pause(10);
  }
  await Promise.all(written);
  return written.length;
}

const emptyKib = await freshKib();
await using first = await start();
const beganMs = performance.now();
const uids = await makeAll(first);
process.stderr.write(`${count} made in ${((performance.now() - beganMs) / 1_000).toFixed(0)} s\n`);
const filledKib = await freshKib();
await first.stop();
await using one = await start();
await using other = await start();
const replicas = [one, other];
await pause(SETTLE_MS);
await using store = await openEtcdStore(
  { endpoints: [etcd.endpoint], prefix: "/registry", clock: systemClock, logger: silentLogger },
  AbortSignal.timeout(10_000),
);

async function part(): Promise<number[]> {
  const before = await Promise.all(replicas.map(({ pid }) => cpuUs(pid)));
  await pause(PART_MS);
  const after = await Promise.all(replicas.map(({ pid }) => cpuUs(pid)));
  return after.map((us, at) => (us - (before[at] ?? 0)) / PART_MS / 10);
}

const quiet = await part();
const stopping = new AbortController();
const writing = writeAmong(store, uids, stopping.signal);
const busy = await part();
stopping.abort();
const written = await writing;
const names = await Promise.all(replicas.map(loaded));
const percent = (shares: readonly number[]) => shares.map((one) => one.toFixed(2)).join(" and ");
process.stdout.write(
  `${count} that are not loaded, on etcd, two replicas: ${percent(quiet)} % of a core while nothing is written, ` +
    `${percent(busy)} % with ${written} writes in ${PART_MS / 1_000} s; ` +
    `${((filledKib - emptyKib) / count).toFixed(2)} KiB each (${emptyKib} KiB without any); loaded: ${names.join(" and ")}\n`,
);
