/**
 * Measures what docs/dev/performance.md promises, each by a command:
 *
 *   node dist/e2e/promises/run.js reads      linearizable gets from memory, and etcd's share (promise 1)
 *   node dist/e2e/promises/run.js memory     resident memory over encoded objects (promise 2)
 *   node dist/e2e/promises/run.js slow       healthy watchers beside stalled ones (promise 3)
 *   node dist/e2e/promises/run.js one-watch  etcd watches per replica (promise 5)
 *   node dist/e2e/promises/run.js idle       what 5,000 idle watchers cost
 *   node dist/e2e/promises/run.js large      100,000 objects in one resource
 *   node dist/e2e/promises/run.js giant      a list of 1 GiB to a slow client
 *   node dist/e2e/promises/run.js access     what tokens and 10,000 role bindings add to a get
 *   node dist/e2e/promises/run.js writes     create, update, patch and apply; writes-etcd: on etcd
 *   node dist/e2e/promises/run.js churn      memory when much came and went; churn-etcd: on etcd
 *   node dist/e2e/promises/run.js forms      a list of 10,000 in every form and encoding
 *
 * Promise 4 (rolling restarts without relists) is e2e/reads/rolling-restart.test.ts, promise 6 follows
 * from the barrier. Figures are printed, never asserted: they are only true with their conditions.
 */
import type { TLSSocket } from "node:tls";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { startEtcd } from "../tools/etcd.js";
import { measureAccess } from "./access.js";
import { measureChurn } from "./churn.js";
import { measureForms } from "./forms.js";
import { cpuMs, metric, quantile, residentMiB, startMeter } from "./gauge.js";
import { printRow as print } from "./print.js";
import { CONFIG_MAPS, exchange, fill, openSocket, requestBytes } from "./raw-client.js";
import { measureWrites } from "./writes.js";

const PATCH = "application/merge-patch+json";

/** One row of a table whose first column is wide. */
function printRow([first = "", ...rest]: readonly (number | string)[]): void {
  const cells = rest.map((cell) => {
    const shown = typeof cell === "number" ? String(Number(cell.toPrecision(3))) : cell;
    return shown.padStart(Math.max(9, shown.length));
  });
  process.stdout.write(`${String(first).padEnd(16)} ${cells.join(" ")}\n`);
}

async function measureReads(): Promise<void> {
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint] });
  await fill(server, { to: 1_000 });
  for (const concurrency of [16, 64, 256]) {
    const sockets = await Promise.all(
      Array.from({ length: concurrency }, () => openSocket(server)),
    );
    const before = await metric(server, "apiserver_freshness_revision_reads_total");
    const gets = await metric(server, "etcd_requests_total", 'operation="get"');
    const meter = await startMeter(server.pid);
    const until = performance.now() + 5_000;
    let count = 0;
    await Promise.all(
      sockets.map(async (socket, index) => {
        while (performance.now() < until) {
          const name = `item-${String((count + index * 7) % 1_000).padStart(6, "0")}`;
          await exchange(socket, requestBytes("GET", `${CONFIG_MAPS}/${name}`));
          count++;
        }
      }),
    );
    const { cpuMs: cost, elapsedMs } = await meter();
    const reads = (await metric(server, "apiserver_freshness_revision_reads_total")) - before;
    const values = (await metric(server, "etcd_requests_total", 'operation="get"')) - gets;
    print(`consistent gets, ${concurrency} connections`, (count / elapsedMs) * 1000, "/s");
    print("  server CPU", (cost * 1000) / count, "µs each");
    print("  revision reads of etcd", (reads / elapsedMs) * 1000, "/s");
    print("  revision reads per 1,000 gets", (reads * 1000) / count);
    print("  values read from etcd", values);
    for (const socket of sockets) socket.destroy();
  }
}

async function measureMemory(): Promise<void> {
  for (const bytes of [1024, 8192]) {
    // On etcd, as the embedded store's memory map would count as the server's memory.
    await using etcd = await startEtcd();
    const onEtcd = { etcdEndpoints: [etcd.endpoint] };
    await using writer = await startServer(onEtcd);
    const base = await residentMiB(writer.pid);
    await fill(writer, { to: 10_000, bytes });
    await writer.stop();
    await using server = await startServer(onEtcd);
    const loaded = await residentMiB(server.pid);
    const encoded = (await metric(server, "apiserver_watch_cache_object_bytes")) / 2 ** 20;
    for (let i = 0; i < 10; i++) await server.client.get(CONFIG_MAPS);
    print(`10,000 objects of ${bytes} bytes: encoded`, encoded, "MiB");
    print("  resident, empty server", base, "MiB");
    print("  resident, after a restart with them", loaded, "MiB");
    print("  resident, after ten lists", await residentMiB(server.pid), "MiB");
    print("  ready after", server.readyAfterMs, "ms");
    await server.stop();
  }
}

/** Watches one object; calls back with what arrives, or never reads again. */
async function openWatch(
  server: ServerProcess,
  name: string,
  onData: ((chunk: Buffer) => void) | undefined,
  resourceVersion = "0",
): Promise<TLSSocket> {
  const socket = await openSocket(server);
  const selector = name === "" ? "" : `&fieldSelector=metadata.name%3D${name}`;
  const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${resourceVersion}&timeoutSeconds=3000${selector}`;
  await new Promise<void>((resolve) => {
    socket.once("data", () => resolve());
    socket.write(requestBytes("GET", path));
  });
  if (onData === undefined) socket.pause();
  else socket.on("data", onData);
  return socket;
}

async function measureSlow(): Promise<void> {
  await using server = await startServer();
  const HEALTHY = 1_000;
  const NAMES = 100;
  await fill(server, { to: NAMES });
  const latencies: number[] = [];
  let isRecording = false;
  const healthy = await Promise.all(
    Array.from({ length: HEALTHY }, (_, i) =>
      openWatch(server, `item-${String(i % NAMES).padStart(6, "0")}`, (chunk) => {
        if (!isRecording) return;
        const sentAt = /"sentAt":"([\d.]+)"/.exec(chunk.toString("latin1"))?.[1];
        if (sentAt !== undefined) latencies.push(performance.now() - Number(sentAt));
      }),
    ),
  );
  // 200 writes a second, ten watchers each: 2,000 delivered events a second.
  const write = async (seconds: number) => {
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openSocket(server)));
    latencies.length = 0;
    isRecording = true;
    const startedAt = performance.now();
    const meter = await startMeter(server.pid);
    for (let i = 0; i < seconds * 200; i++) {
      const dueAt = startedAt + i * 5;
      const wait = dueAt - performance.now();
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      const name = `item-${String(i % NAMES).padStart(6, "0")}`;
      const body = JSON.stringify({ data: { sentAt: String(performance.now()) } });
      const socket = sockets[i % sockets.length] as TLSSocket;
      await exchange(socket, requestBytes("PATCH", `${CONFIG_MAPS}/${name}`, PATCH, body));
    }
    const { cpuMs: cost } = await meter();
    isRecording = false;
    for (const socket of sockets) socket.destroy();
    return { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), cost };
  };
  await write(3);
  const without = await write(10);
  const before = await residentMiB(server.pid);
  const stalled = await Promise.all(
    Array.from({ length: 50 }, () => openWatch(server, "", undefined)),
  );
  const withStalled = await write(10);
  const after = await residentMiB(server.pid);
  print(
    "2,000 events/s to 1,000 watchers: p50 / p99",
    `${without.p50.toFixed(2)} / ${without.p99.toFixed(2)}`,
    "ms",
  );
  print(
    "the same beside 50 stalled: p50 / p99",
    `${withStalled.p50.toFixed(2)} / ${withStalled.p99.toFixed(2)}`,
    "ms",
  );
  print("  server CPU without / with", `${without.cost} / ${withStalled.cost}`, "ms");
  print("  resident before / after", `${before.toFixed(0)} / ${after.toFixed(0)}`, "MiB");
  for (const socket of [...healthy, ...stalled]) socket.destroy();
}

async function measureOneWatch(): Promise<void> {
  await using etcd = await startEtcd();
  const watches = async () => {
    const text = await (await fetch(`${etcd.endpoint}/metrics`)).text();
    return Number(/^etcd_debugging_mvcc_watcher_total (\S+)/m.exec(text)?.[1] ?? Number.NaN);
  };
  print("etcd watches, no replica", await watches());
  await using first = await startServer({ etcdEndpoints: [etcd.endpoint] });
  print("etcd watches, one replica", await watches());
  await using second = await startServer({ etcdEndpoints: [etcd.endpoint] });
  print("etcd watches, two replicas", await watches());
  const sockets = await Promise.all(
    Array.from({ length: 200 }, (_, i) => openWatch(i % 2 === 0 ? first : second, "", () => {})),
  );
  print("etcd watches, two replicas with 200 client watches", await watches());
  for (const socket of sockets) socket.destroy();
}

async function measureIdle(): Promise<void> {
  await using server = await startServer();
  await fill(server, { to: 100 });
  const before = await residentMiB(server.pid);
  const { metadata } = (await server.client.get(`${CONFIG_MAPS}?limit=1`)).object;
  const sockets: TLSSocket[] = [];
  for (let i = 0; i < 5_000; i += 50) {
    const some = Array.from({ length: 50 }, () =>
      openWatch(server, "", () => {}, metadata.resourceVersion),
    );
    sockets.push(...(await Promise.all(some)));
  }
  const after = await residentMiB(server.pid);
  const start = await cpuMs(server.pid);
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  print("5,000 idle watchers: CPU", ((await cpuMs(server.pid)) - start) / 100, "% of a core");
  print("  resident before / after", `${before.toFixed(0)} / ${after.toFixed(0)}`, "MiB");
  print("  resident each", ((after - before) * 1024) / 5_000, "KiB");
  for (const socket of sockets) socket.destroy();
}

async function measureLarge(): Promise<void> {
  const folder = await makeTempDir("promises");
  const COUNT = 100_000;
  const updateCost = async (server: ServerProcess) => {
    const socket = await openSocket(server);
    const meter = await startMeter(server.pid);
    for (let i = 0; i < 2_000; i++) {
      const name = `item-${String((i * 37) % 1_000).padStart(6, "0")}`;
      const body = JSON.stringify({ data: { count: String(i) } });
      await exchange(socket, requestBytes("PATCH", `${CONFIG_MAPS}/${name}`, PATCH, body));
    }
    socket.destroy();
    return ((await meter()).cpuMs * 1000) / 2_000;
  };
  {
    await using writer = await startServer({ dataDir: folder.path });
    await fill(writer, { to: 1_000 });
    await updateCost(writer);
    print("update beside 1,000 objects: server CPU", await updateCost(writer), "µs");
    await fill(writer, { from: 1_000, to: COUNT });
    print("update beside 100,000 objects: server CPU", await updateCost(writer), "µs");
    await writer.stop();
  }
  await using server = await startServer({ dataDir: folder.path });
  print("100,000 objects: start to ready", server.readyAfterMs, "ms");
  print("  resident", await residentMiB(server.pid), "MiB");
  print("  encoded", (await metric(server, "apiserver_watch_cache_object_bytes")) / 2 ** 20, "MiB");
  for (let i = 0; i < 3; i++) {
    const meter = await startMeter(server.pid);
    const answer = await server.client.get(CONFIG_MAPS);
    const { cpuMs: cost, elapsedMs } = await meter();
    print(
      `  list of all, ${(answer.bytes.length / 2 ** 20).toFixed(0)} MiB: time / CPU`,
      `${elapsedMs.toFixed(0)} / ${cost}`,
      "ms",
    );
  }
  await server.stop();
  await folder[Symbol.asyncDispose]();
}

/** A list far larger than memory should ever hold, to a client that takes its time (S1-NEG-16). */
async function measureGiant(): Promise<void> {
  const COUNT = 128_000;
  const PROTOBUF = "application/vnd.kubernetes.protobuf";
  const gate = ["--feature-gates=CBORServingAndStorage=true"];
  await using server = await startServer({ flags: gate });
  await fill(server, { to: COUNT, bytes: 8 * 1024 });
  const lists = [
    ["JSON", "application/json", ""],
    ["JSON in one page", "application/json", "?limit=1000000"],
    ["Protobuf", PROTOBUF, ""],
    ["CBOR", "application/cbor", ""],
    ["JSON, gzip", "application/json", "", "gzip"],
  ] as const;
  for (const [what, accept, query, coding = "identity"] of lists) {
    const before = await residentMiB(server.pid);
    const meter = await startMeter(server.pid);
    const request = `GET ${CONFIG_MAPS}${query} HTTP/1.1\r\nHost: localhost\r\nAccept: ${accept}\r\nAccept-Encoding: ${coding}\r\nConnection: close\r\n\r\n`;
    const { bytes, peak } = await readSlowly(server, request);
    const { cpuMs: cost, elapsedMs } = await meter();
    print(
      `${what}: ${(bytes / 2 ** 20).toFixed(0)} MiB, resident before / most`,
      `${before.toFixed(0)} / ${peak.toFixed(0)}`,
      "MiB",
    );
    print("  time / CPU", `${elapsedMs.toFixed(0)} / ${cost}`, "ms");
  }
}

/** Takes an answer with a pause after every few megabytes, and watches the server's memory. */
async function readSlowly(server: ServerProcess, request: string) {
  const PAUSE_EVERY_BYTES = 8 * 2 ** 20;
  const socket = await openSocket(server);
  socket.write(request);
  let bytes = 0;
  let sincePause = 0;
  let peak = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    sincePause += chunk.length;
    if (sincePause < PAUSE_EVERY_BYTES) continue;
    sincePause = 0;
    await new Promise((resolve) => setTimeout(resolve, 20));
    peak = Math.max(peak, await residentMiB(server.pid));
  }
  return { bytes, peak };
}

const MEASURES: Readonly<Record<string, () => Promise<void>>> = {
  reads: measureReads,
  memory: measureMemory,
  slow: measureSlow,
  "one-watch": measureOneWatch,
  idle: measureIdle,
  large: measureLarge,
  giant: measureGiant,
  access: measureAccess,
  writes: () => measureWrites(),
  "writes-etcd": async () => {
    await using etcd = await startEtcd();
    await measureWrites([etcd.endpoint]);
  },
  churn: () => measureChurn(printRow),
  "churn-etcd": async () => {
    await using etcd = await startEtcd();
    await measureChurn(printRow, [etcd.endpoint]);
  },
  forms: () => measureForms(printRow),
};

const asked = process.argv.slice(2);
for (const name of asked.length === 0 ? Object.keys(MEASURES) : asked) {
  const measure = MEASURES[name];
  if (measure === undefined) {
    process.stderr.write(
      `unknown measure ${name}; there are ${Object.keys(MEASURES).join(", ")}\n`,
    );
    process.exit(1);
  }
  process.stdout.write(`\n${name}\n`);
  await measure();
}
