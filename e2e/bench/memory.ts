/**
 * Where a server's memory is, in MiB: after its start, with 10,000 and 100,000 objects loaded at a start,
 * and after the scenarios of run.ts on 10,000.
 *
 *   node dist/e2e/bench/memory.js              all of it: a few minutes
 *   node dist/e2e/bench/memory.js start 10000  some of it: start, 10000, 100000, suite
 *     --bare   as `node main.js` starts it, without what the command and the image set for memory
 *
 * `code` is the program and its libraries as mapped from files, `heap` what V8 has taken of which `used`
 * is in use, `buffers` what V8 knows of outside its heap; `rest` is what is left: stacks, machine code, the
 * TLS library, and what the allocator keeps. `objects`, `log` and `runs` are what the server itself counts
 * and are part of the buffers.
 */
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { shippedEnvironment, shippedNodeFlags } from "../harness/command.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { fill } from "../promises/raw-client.js";
import { type EtcdProcess, startEtcd } from "../tools/etcd.js";
import { cpuUs } from "./cpu.js";
import { Http1Connection } from "./http1-connection.js";
import { SCENARIOS } from "./scenarios.js";

const MIB = 2 ** 20;
/** After which a server that has nothing to do has given back what it does not need. */
const IDLE_MS = 35_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { bare: { type: "boolean", default: false } },
});
const nodeFlags = values.bare ? [] : shippedNodeFlags();
// Servers have the environment of this process.
if (!values.bare) Object.assign(process.env, await shippedEnvironment());

const COLUMNS = [
  "resident",
  "code",
  "heap",
  "used",
  "buffers",
  "rest",
  "objects",
  "log",
  "runs",
] as const;

async function measure(server: ServerProcess): Promise<Record<(typeof COLUMNS)[number], number>> {
  const status = await readFile(`/proc/${server.pid}/status`, "utf8");
  const kib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  const { text } = await server.client.get("/metrics");
  const sum = (name: string) => {
    let value = 0;
    for (const line of text.split("\n")) {
      if (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) {
        value += Number(line.slice(line.lastIndexOf(" ") + 1));
      }
    }
    return value / MIB;
  };
  const resident = kib("VmRSS") / 1024;
  const code = kib("RssFile") / 1024;
  const heap = sum("nodejs_heap_size_total_bytes");
  const buffers = sum("nodejs_external_memory_bytes");
  return {
    resident,
    code,
    heap,
    used: sum("nodejs_heap_size_used_bytes"),
    buffers,
    rest: resident - code - heap - buffers,
    objects: sum("apiserver_watch_cache_object_bytes"),
    log: sum("apiserver_watch_cache_log_bytes"),
    runs: sum("apiserver_compressed_runs_bytes"),
  };
}

function print(first: string, cells: readonly string[]): void {
  process.stdout.write(`${first.padEnd(34)}${cells.map((cell) => cell.padStart(9)).join("")}\n`);
}

async function show(what: string, server: ServerProcess): Promise<void> {
  const values = await measure(server);
  print(
    what,
    COLUMNS.map((column) => values[column].toFixed(1)),
  );
}

const idle = () => new Promise((resolve) => setTimeout(resolve, IDLE_MS));

/** On etcd, as the embedded store's file would count as the server's memory. */
async function filled(etcd: EtcdProcess, objects: number): Promise<ServerProcess> {
  const onEtcd = { etcdEndpoints: [etcd.endpoint], nodeFlags };
  const writer = await startServer(onEtcd);
  await fill(writer, { to: objects });
  await writer.stop();
  return await startServer(onEtcd);
}

async function afterStart(): Promise<void> {
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint], nodeFlags });
  await show("empty, after the start", server);
}

async function afterLoading(objects: number): Promise<void> {
  await using etcd = await startEtcd();
  await using server = await filled(etcd, objects);
  await show(`${objects} objects, after the start`, server);
  await idle();
  await show("  idle for a while", server);
}

async function afterSuite(): Promise<void> {
  const objects = 10_000;
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint], nodeFlags });
  await fill(server, { to: objects });
  await show("10000 objects written", server);
  const bench = {
    open: () => Http1Connection.open(server),
    cpuUs: () => cpuUs(server.pid),
    objects,
    seconds: 2,
    watchers: 500,
  };
  for (const scenario of Object.values(SCENARIOS)) await scenario(bench);
  await show("after the scenarios", server);
  await idle();
  await show("  idle for a while", server);
}

const PARTS: Readonly<Record<string, () => Promise<void>>> = {
  start: afterStart,
  "10000": () => afterLoading(10_000),
  "100000": () => afterLoading(100_000),
  suite: afterSuite,
};

print("MiB", COLUMNS);
for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
  const part = PARTS[name];
  if (part === undefined) throw new Error(`unknown part ${name}`);
  await part();
}
