/**
 * `node dist/e2e/bench/replicas.js`: what one, two and three replicas of one etcd do together, and what each
 * of them costs etcd. All share this machine with etcd and the load generator, so what counts is CPU per
 * operation: where it stays the same, so many more cores carry so many more replicas.
 */
import { eventually } from "../harness/eventually.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { type EtcdProcess, startEtcd } from "../tools/etcd.js";
import type { BenchConnection } from "./connection.js";
import { cpuUs } from "./cpu.js";
import { Http1Connection } from "./http1-connection.js";

const REPLICAS_MAX = 3;
const IDLE_MS = 20_000;
const WORK_MS = 6_000;
const CONNECTIONS = 48;
const WATCHES = 300;
const OBJECTS = 1_000;
const OBJECT_BYTES = 1_000;
const MAPS = "/api/v1/namespaces/default/configmaps";
const FLAGS = ["--run-controllers=false"];
const NEW_LINE = 10;

async function main(): Promise<void> {
  await using etcd = await startEtcd();
  const replicas: ServerProcess[] = [];
  try {
    for (let count = 1; count <= REPLICAS_MAX; count++) {
      replicas.push(await startServer({ etcdEndpoints: [etcd.endpoint], flags: FLAGS }));
      if (count === 1) await fill(replicas[0] as ServerProcess);
      say(`${count} ${count === 1 ? "replica" : "replicas"}`);
      await measureIdle(etcd, count);
      await measureReads(etcd, replicas, MAPS, "consistent gets");
      await measureReads(etcd, replicas, `${MAPS}/map-0?resourceVersion=0`, "gets at 0");
      await measureWatches(etcd, replicas);
    }
  } finally {
    for (const replica of replicas) await replica[Symbol.asyncDispose]();
  }
}

async function fill({ client }: ServerProcess): Promise<void> {
  const data = { text: "x".repeat(OBJECT_BYTES) };
  for (let index = 0; index < OBJECTS; index++) {
    (await client.post(MAPS, { metadata: { name: `map-${index}` }, data })).expect(201);
  }
}

/** What etcd is asked while nobody asks us, by method. */
async function measureIdle(etcd: EtcdProcess, count: number): Promise<void> {
  // What a replica does at its start is over when two looks agree on its watch.
  await eventually("the watches are open", async () => (await watchesOf(etcd)) >= count);
  const before = await callsOf(etcd);
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const after = await callsOf(etcd);
  const perReplica = [...after]
    .map(([method, calls]) => [method, calls - (before.get(method) ?? 0)] as const)
    .filter(([, calls]) => calls > 0)
    .map(([method, calls]) => `${method} ${((calls * 1_000) / IDLE_MS / count).toFixed(2)}/s`);
  say(`  idle, per replica: ${(await watchesOf(etcd)) / count} watches, ${perReplica.join(", ")}`);
}

async function measureReads(
  etcd: EtcdProcess,
  replicas: readonly ServerProcess[],
  path: string,
  what: string,
): Promise<void> {
  const single = path === MAPS ? `${MAPS}/map-0` : path;
  const connections = await openConnections(replicas, CONNECTIONS);
  const cost = await costOf(etcd, replicas);
  const endsAtMs = performance.now() + WORK_MS;
  let done = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < endsAtMs) {
        const { status } = await connection.request({ method: "GET", path: single });
        if (status !== 200) throw new Error(`${single}: ${status}`);
        done++;
      }
    }),
  );
  const { replicasUs, etcdUs, calls } = await cost();
  for (const connection of connections) connection.close();
  say(
    `  ${what}: ${perSecond(done)}, ${(replicasUs / done).toFixed(1)} µs of the replicas, ${(etcdUs / done).toFixed(2)} µs of etcd, ${((calls * 1_000) / done).toFixed(1)} calls of etcd per 1,000`,
  );
}

async function measureWatches(
  etcd: EtcdProcess,
  replicas: readonly ServerProcess[],
): Promise<void> {
  const connections = await openConnections(replicas, WATCHES);
  const [first] = replicas;
  const list = (await first?.client.get(`${MAPS}?limit=1`))?.expect(200);
  const version = list?.object.metadata.resourceVersion;
  let events = 0;
  for (const connection of connections) {
    const onData = (piece: Buffer) => {
      for (let at = piece.indexOf(NEW_LINE); at >= 0; at = piece.indexOf(NEW_LINE, at + 1))
        events++;
    };
    const path = `${MAPS}?watch=1&resourceVersion=${version}`;
    connection.request({ method: "GET", path, onData }).then(
      ({ status }) => say(`a watch ended with ${status}`),
      () => {},
    );
  }
  const data = { text: "y".repeat(OBJECT_BYTES) };
  const write = async (at: number) => {
    const body = { metadata: { name: "map-1" }, data: { ...data, at: String(at) } };
    (await first?.client.put(`${MAPS}/map-1`, body))?.expect(200);
  };
  // All have this write sooner or later: they begin before it.
  await write(-1);
  await eventually("all watch", () => events >= WATCHES);
  const cost = await costOf(etcd, replicas);
  const before = events;
  const endsAtMs = performance.now() + WORK_MS;
  let writes = 0;
  while (performance.now() < endsAtMs) await write(writes++);
  await eventually("all are told", () => events - before >= writes * WATCHES);
  const told = events - before;
  const { replicasUs, etcdUs } = await cost();
  for (const connection of connections) connection.close();
  say(
    `  events to ${WATCHES} watches: ${perSecond(told)} of ${perSecond(writes)} writes, ${(replicasUs / told).toFixed(1)} µs of the replicas, ${(etcdUs / told).toFixed(2)} µs of etcd`,
  );
}

async function openConnections(
  replicas: readonly ServerProcess[],
  count: number,
): Promise<BenchConnection[]> {
  return await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const { port, credentials } = replicas[index % replicas.length] as ServerProcess;
      return Http1Connection.open({ port, credentials });
    }),
  );
}

/** Gives what asks for the CPU since, and for the calls of etcd that read or write. */
async function costOf(etcd: EtcdProcess, replicas: readonly ServerProcess[]) {
  const sumUs = async () => {
    const all = await Promise.all(replicas.map(({ pid }) => cpuUs(pid)));
    return all.reduce((sum, one) => sum + one, 0);
  };
  const sumCalls = async () =>
    [...(await callsOf(etcd)).values()].reduce((sum, one) => sum + one, 0);
  const before = [await sumUs(), await cpuUs(etcd.pid), await sumCalls()] as const;
  return async () => ({
    replicasUs: (await sumUs()) - before[0],
    etcdUs: (await cpuUs(etcd.pid)) - before[1],
    calls: (await sumCalls()) - before[2],
  });
}

/** Answered calls by method, as etcd counts them. */
async function callsOf({ endpoint }: EtcdProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${endpoint}/metrics`)).text();
  const pattern = /^grpc_server_handled_total\{grpc_code="OK",grpc_method="(\w+)".*\} (\d+)$/gm;
  return new Map(
    [...text.matchAll(pattern)].map(([, method = "", calls]) => [method, Number(calls)]),
  );
}

async function watchesOf({ endpoint }: EtcdProcess): Promise<number> {
  const text = await (await fetch(`${endpoint}/metrics`)).text();
  return Number(/^etcd_debugging_mvcc_watcher_total (\d+)$/m.exec(text)?.[1] ?? 0);
}

function perSecond(count: number): string {
  return `${Math.round((count * 1_000) / WORK_MS)}/s`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
