/**
 * What is left of a server when much came and went: 500 writes a second that create, update and delete
 * ConfigMaps, of which nothing is left whenever it is measured. Resident memory apart by what it is, because pages of the
 * embedded store's file count as resident although the kernel takes them back at any time.
 *
 * KEELSON_CHURN_SECONDS (default 120) is how long; history is kept for a fifth of that, so the file of the
 * embedded store has seen all its sizes by the end. MALLOC_ARENA_MAX is the server's, as it is ours.
 */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { metric } from "./gauge.js";
import { CONFIG_MAPS, configMap, exchange, openSocket, requestBytes } from "./raw-client.js";

const CONNECTIONS = 16;
const OBJECT_BYTES = 1_400;
/** Of one object: create, update, delete. */
const WRITES = 3;
/** 17 objects each 100 ms are 500 writes a second; timers are not exact enough for one each 2 ms. */
const PACE_MS = 100;
const OBJECTS_PER_PACE = 17;
const SAMPLES = 6;
const MEBIBYTE = 1_048_576;

const COLUMNS = ["rss", "anonymous", "of files", "V8 heap", "buffers", "store file", "its maps"];

/** @param etcdEndpoints none = the embedded store */
export async function measureChurn(
  printRow: (cells: readonly (number | string)[]) => void,
  etcdEndpoints?: readonly string[],
): Promise<void> {
  const seconds = Number(process.env.KEELSON_CHURN_SECONDS ?? 120);
  const flags = [`--etcd-compaction-interval=${Math.max(1, Math.round(seconds / 5))}s`];
  await using server = await startServer({
    flags,
    ...(etcdEndpoints === undefined ? {} : { etcdEndpoints }),
  });
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(server)));
  printRow(["MiB", ...COLUMNS]);
  printRow(["at the start", ...(await sample(server))]);
  const startedAt = performance.now();
  let objects = 0;
  for (let index = 1; index <= SAMPLES; index++) {
    const until = startedAt + (seconds * 1_000 * index) / SAMPLES;
    while (performance.now() < until) {
      const pause = new Promise((resolve) => setTimeout(resolve, PACE_MS));
      const goal = objects + OBJECTS_PER_PACE;
      const worker = async (socket: TLSSocket) => {
        while (objects < goal) await passThrough(socket, `churn-${objects++}`);
      };
      await Promise.all([...sockets.map(worker), pause]);
    }
    const writes = Math.round((WRITES * objects) / ((performance.now() - startedAt) / 1_000));
    printRow([`${writes} writes/s`, ...(await sample(server))]);
  }
  for (const socket of sockets) socket.destroy();
}

/** Creates an object, updates it and deletes it. */
async function passThrough(socket: TLSSocket, name: string): Promise<void> {
  const path = `${CONFIG_MAPS}/${name}`;
  const type = "application/json";
  const requests = [
    requestBytes("POST", CONFIG_MAPS, type, configMap(name, OBJECT_BYTES)),
    requestBytes("PUT", path, type, configMap(name, OBJECT_BYTES, { round: "2" })),
    requestBytes("DELETE", path),
  ];
  for (const request of requests) {
    const answer = await exchange(socket, request);
    const status = answer.toString("latin1", 9, 12);
    if (!status.startsWith("2")) throw new Error(`${name}: ${answer.toString().slice(0, 500)}`);
  }
}

async function sample(server: ServerProcess): Promise<readonly (number | string)[]> {
  const status = await readFile(`/proc/${server.pid}/status`, "utf8");
  const inStatus = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024;
  const heap = await metric(server, "nodejs_heap_size_total_bytes");
  const buffers = await metric(server, "nodejs_external_memory_bytes");
  const maps = (await readFile(`/proc/${server.pid}/maps`, "utf8")).split("\n");
  const file = join(server.dataDir, "store", "store.mdb");
  const bytes = await stat(file).then(
    ({ size }) => size,
    () => 0,
  );
  return [
    inStatus("VmRSS"),
    inStatus("RssAnon"),
    inStatus("RssFile"),
    heap / MEBIBYTE,
    buffers / MEBIBYTE,
    bytes / MEBIBYTE,
    maps.filter((line) => line.endsWith("/store.mdb")).length,
  ];
}
