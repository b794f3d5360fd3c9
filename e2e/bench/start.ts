/**
 * What a start costs until /readyz says ok, in units of what `node -e 0` takes on the same machine at the same time:
 * empty and with 10,000 ConfigMaps of 1 KiB, on both stores, of data folders that were started before. All of
 * them take turns; medians count. The clock is read when `node` is spawned and when the answer is there; it is
 * asked for every 20 ms, so up to that much of it is the question's.
 *
 *   node dist/e2e/bench/start.js                            both stores, as people start it
 *   node dist/e2e/bench/start.js embedded --objects=2000    one of them, another number of objects
 *     --rounds=7           rounds, each with one start of everything
 *     --against=MAIN       another build's dist/bundle/main.js beside this one, in the same rounds
 *     --bare               without what the command and the image set for memory
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { Cleanup } from "../../storage/base/cleanup.js";
import { shippedEnvironment, shippedNodeFlags } from "../harness/command.js";
import { type ServerOptions, startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { fill } from "../promises/raw-client.js";
import { startEtcd } from "../tools/etcd.js";
import { cpuUs } from "./cpu.js";
import { median } from "./median.js";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    objects: { type: "string", default: "10000" },
    rounds: { type: "string", default: "7" },
    against: { type: "string" },
    bare: { type: "boolean", default: false },
  },
});
const nodeFlags = values.bare ? [] : shippedNodeFlags();
// Servers have the environment of this process.
if (!values.bare) Object.assign(process.env, await shippedEnvironment());

interface Taken {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly residentMib: number;
}

interface Series {
  readonly name: string;
  readonly options: ServerOptions;
  readonly taken: Taken[];
}

async function startNode(): Promise<Taken> {
  const startedAtMs = performance.now();
  const script = "process.on('exit', () => console.log(JSON.stringify(process.cpuUsage())))";
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const { user, system } = JSON.parse(printed) as { user: number; system: number };
  const wallMs = performance.now() - startedAtMs;
  return { wallMs, cpuMs: (user + system) / 1000, residentMib: 0 };
}

async function start(options: ServerOptions): Promise<Taken> {
  const server = await startServer(options);
  const cpuMs = (await cpuUs(server.pid)) / 1000;
  const status = await readFile(`/proc/${server.pid}/status`, "utf8");
  const residentMib = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  await server.stop();
  return { wallMs: server.readyAfterMs, cpuMs, residentMib };
}

/** Fills the store, and starts each build once, so that all have what a first start leaves behind. */
async function prepare(store: string, options: ServerOptions, objects: number): Promise<Series[]> {
  const writer = await startServer({ ...options, nodeFlags });
  await fill(writer, { to: objects });
  await writer.stop();
  const what = `${store}, ${objects === 0 ? "empty" : `${objects} objects`}`;
  const series = [{ name: what, options: { ...options, nodeFlags }, taken: [] }];
  if (values.against === undefined) return series;
  const other = { ...options, nodeFlags, main: values.against };
  await start(other);
  return [{ name: `${what}, the other build`, options: other, taken: [] }, ...series];
}

function show(name: string, taken: readonly Taken[], unit?: Taken): Taken {
  const of = (property: keyof Taken) => median(taken.map((one) => one[property]));
  const all = { wallMs: of("wallMs"), cpuMs: of("cpuMs"), residentMib: of("residentMib") };
  const times =
    unit === undefined
      ? ""
      : `; ${(all.wallMs / unit.wallMs).toFixed(1)} and ${(all.cpuMs / unit.cpuMs).toFixed(1)} times; ` +
        `${all.residentMib.toFixed(0)} MiB`;
  const figures = `${all.wallMs.toFixed(0)} ms, ${all.cpuMs.toFixed(0)} ms of CPU`;
  process.stdout.write(`${name.padEnd(42)}${figures}${times}\n`);
  return all;
}

const only = positionals[0];
await using opened = new Cleanup();
const series: Series[] = [];
for (const objects of [0, Number(values.objects)]) {
  if (only !== "etcd") {
    const folder = opened.use(await makeTempDir("start"));
    series.push(...(await prepare("embedded", { dataDir: folder.path }, objects)));
  }
  if (only !== "embedded") {
    const etcd = opened.use(await startEtcd());
    const folder = opened.use(await makeTempDir("start"));
    const options = { etcdEndpoints: [etcd.endpoint], dataDir: folder.path };
    series.push(...(await prepare("etcd", options, objects)));
  }
}
const units: Taken[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  units.push(await startNode());
  for (const { options, taken } of series) taken.push(await start(options));
  units.push(await startNode());
}
const unit = show("node -e 0", units);
for (const { name, taken } of series) show(name, taken, unit);
