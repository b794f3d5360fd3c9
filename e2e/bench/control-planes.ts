/**
 * What control planes cost: `node --expose-gc dist/e2e/bench/control-planes.js [HOW MANY] [--chart=FILE]`, on the embedded
 * store. Processor time is given beside time, as that is nearly the same on a busy machine. Loops rest half a minute after
 * the last write, and memory and rest are measured behind that: it takes about four minutes, and says each row when it has it.
 *
 * All but the last row is measured in this process, so the client's work is part of it. For the last one the server
 * has a process of its own.
 */

import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { type Keelson, startKeelson } from "../../server/start-keelson.js";
import { definitionOf, versionOf } from "../fixtures/definitions.js";
import { HttpsClient } from "../harness/https-client.js";
import { type Row, toChart } from "./control-planes-chart.js";
import { fairness } from "./control-planes-fairness.js";
import { median } from "./median.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
/** Compiling and what the first one takes is not counted. */
const WARM = 10;
const SETTLE_MS = 3_000;
/** Loops rest after half a minute. */
const QUIET_MS = 35_000;
const IDLE_MS = 10_000;
const CLONED = 500;
const COLD_OBJECTS = 200;
const DEFINITIONS = 40;
const WITH_DEFINITIONS = 40;
const ROUNDS = 7;
/** Of a schema, about those of cert-manager and Gateway API: 25 KiB of JSON. */
const FIELDS = 150;

const [, , ...args] = process.argv;
const count = Number(args.find((arg) => /^\d+$/.test(arg)) ?? 100);
const chart = args.find((arg) => arg.startsWith("--chart="))?.slice("--chart=".length);

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** Milliseconds of time and of the processor. */
async function timed(run: () => Promise<unknown>): Promise<Cost> {
  const [sinceMs, since] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(since);
  return { wallMs: performance.now() - sinceMs, cpuMs: (user + system) / 1_000 };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Bytes of the heap, and outside of it. */
function memory(): number {
  for (let round = 0; round < 4; round++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function rowOf(what: string, wanted: number, costs: readonly Cost[]): Row {
  const cpu = median(costs.map(({ cpuMs }) => cpuMs));
  const note = `processor ${cpu.toFixed(0)} ms`;
  return { what, wanted, measured: median(costs.map(({ wallMs }) => wallMs)), unit: "ms", note };
}

class Bench {
  readonly #client: HttpsClient;

  constructor(api: Keelson) {
    this.#client = new HttpsClient(api.url, api);
  }

  async make(name: string, spec: object = {}): Promise<void> {
    const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
    (await this.#client.post(KIND, { ...of, metadata: { name }, spec })).expect(201);
    await this.ask(name);
  }

  async ask(name: string): Promise<void> {
    (await this.#client.get(`/clusters/${name}/api/v1/namespaces`)).expect(200);
  }

  async fill(name: string, objects: number): Promise<void> {
    const path = `/clusters/${name}/api/v1/namespaces/default/configmaps`;
    for (let at = 0; at < objects; at++) {
      (await this.#client.post(path, { metadata: { name: `map-${at}` } })).expect(201);
    }
  }

  async define(name: string, definitions: number): Promise<void> {
    const path = `/clusters/${name}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
    for (let at = 0; at < definitions; at++) {
      (await this.#client.post(path, manyFields(at))).expect(201);
    }
  }

  /** Lets it go from memory. */
  async letGo(name: string): Promise<void> {
    const type = { "content-type": "application/merge-patch+json" };
    for (const suspended of [true, false]) {
      const patch = { method: "PATCH", headers: type, body: { spec: { suspended } } };
      (await this.#client.request(`${KIND}/${name}`, patch)).expect(200);
      await pause(SETTLE_MS / 10);
    }
  }

  close(): void {
    this.#client.close();
  }
}

function manyFields(at: number): object {
  const fields = Array.from({ length: FIELDS }, (_, field) => [
    `field${field}`,
    {
      type: "string",
      maxLength: 100 + field,
      description: `The field ${field} of ${at}. `.repeat(4),
    },
  ]);
  const spec = { type: "object", properties: Object.fromEntries(fields) };
  const versions = [versionOf({ type: "object", properties: { spec } })];
  return definitionOf(`things${at}.bench.example.com`, `Thing${at}`, { versions });
}

async function measure(bench: Bench, rows: Rows): Promise<void> {
  for (let at = 0; at < WARM; at++) await bench.make(`warm-${at}`);
  await prepareDefinitions(bench);
  await pause(QUIET_MS);
  const resting = await timed(() => pause(IDLE_MS));
  const before = memory();
  const times: Cost[] = [];
  for (let at = 0; at < count; at++) times.push(await timed(() => bench.make(`plane-${at}`)));
  rows.push(rowOf("create to first answer", 30, times));
  await pause(QUIET_MS);
  const each = (memory() - before) / count / 1024;
  const what = `memory of a loaded one, of ${count}`;
  rows.push({ what, wanted: 512, measured: each, unit: "KiB", note: "heap and bytes" });
  const idle = await timed(() => pause(IDLE_MS));
  const share = Math.max(0, idle.cpuMs - resting.cpuMs) / IDLE_MS / count;
  const note = "of a core, beside the root's";
  rows.push({ what: "a loaded one at rest", wanted: 0.01, measured: share * 100, unit: "%", note });
  rows.push(await measureDefinitions(bench));
  await bench.fill("plane-0", COLD_OBJECTS);
  const cold: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await bench.letGo("plane-0");
    cold.push(await timed(() => bench.ask("plane-0")));
  }
  rows.push(rowOf(`first request to a cold one, ${COLD_OBJECTS} objects`, 50, cold));
  await bench.fill("plane-1", CLONED);
  const clones: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const spec = { cloneFrom: { name: "plane-1" } };
    clones.push(await timed(() => bench.make(`clone-${round}`, spec)));
  }
  rows.push(rowOf(`clone of ${CLONED} objects`, 50, clones));
}

const OF_TEMPLATE = { cloneFrom: { name: "template" } };

/** What the first of them takes is not counted. */
async function prepareDefinitions(bench: Bench): Promise<void> {
  await bench.make("template");
  await bench.define("template", DEFINITIONS);
  for (let at = 0; at < 3; at++) await bench.make(`alike-warm-${at}`, OF_TEMPLATE);
}

/** Behind a time without writes. */
async function measureDefinitions(bench: Bench): Promise<Row> {
  const before = memory();
  for (let at = 0; at < WITH_DEFINITIONS; at++) await bench.make(`alike-${at}`, OF_TEMPLATE);
  await pause(QUIET_MS);
  const measured = (memory() - before) / WITH_DEFINITIONS / 1024;
  const what = `the same with ${DEFINITIONS} definitions, of ${WITH_DEFINITIONS}`;
  return { what, wanted: 819, measured, unit: "KiB", note: "clones of one" };
}

class Rows {
  readonly all: Row[] = [];

  /** Says it at once: who stops the bench has what was measured. */
  push(row: Row): void {
    const { what, wanted, measured, unit, note } = row;
    const text = `${measured.toFixed(measured < 10 ? 2 : 0)} ${unit}`;
    process.stdout.write(`| ${what} | ${wanted} ${unit} | ${text} (${note}) |\n`);
    this.all.push(row);
  }
}

const rows = new Rows();
{
  const loadedMax = { "control-planes-loaded-max": 2 * count + 200 };
  await using api = await startKeelson({ controlPlanes: true, flags: loadedMax });
  const bench = new Bench(api);
  await measure(bench, rows);
  bench.close();
}
rows.push(await fairness());
const date = new Date().toISOString().slice(0, 10);
const machine = `${cpus().length} cores, ${loadavg()[1]?.toFixed(0)} programs wanted to run`;
if (chart !== undefined)
  writeFileSync(chart, toChart(rows.all, `${date}, Node.js ${process.version}, ${machine}`));
