/**
 * What a control plane costs: `node --expose-gc dist/e2e/bench/control-planes.js [HOW MANY]`, on the embedded store and
 * in this process, without a chart. Processor time is given beside time, as that is the same on a busy machine.
 */
import { startKeelson } from "../../server/start-keelson.js";
import { HttpsClient } from "../harness/https-client.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
/** Compiling and what the first one takes is not counted. */
const WARM = 5;
const SETTLE_MS = 3_000;
const IDLE_MS = 5_000;
const OBJECTS = 500;

const count = Number(process.argv[2] ?? 100);
await using api = await startKeelson({ controlPlanes: true });
const client = new HttpsClient(api.url, api);

async function make(name: string, spec: object = {}): Promise<void> {
  const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
  (await client.post(KIND, { ...of, metadata: { name }, spec })).expect(201);
  (await client.get(`/clusters/${name}/api/v1/namespaces/default`)).expect(200);
}

/** Milliseconds of time and of the processor. */
async function timed(run: () => Promise<void>): Promise<{ wallMs: number; cpuMs: number }> {
  const [sinceMs, since] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(since);
  return { wallMs: performance.now() - sinceMs, cpuMs: (user + system) / 1_000 };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function memory(): { heap: number; bytes: number } {
  for (let round = 0; round < 4; round++) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed, bytes: arrayBuffers };
}

function show(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(64)} ${value}\n`);
}

for (let at = 0; at < WARM; at++) await make(`warm-${at}`);
await pause(SETTLE_MS);
const before = memory();
const times: { wallMs: number; cpuMs: number }[] = [];
for (let at = 0; at < count; at++) times.push(await timed(() => make(`plane-${at}`)));
const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const wall = median(times.map(({ wallMs }) => wallMs));
const cpu = median(times.map(({ cpuMs }) => cpuMs));
show(
  "create to first answered request, median",
  `${wall.toFixed(0)} ms, processor ${cpu.toFixed(0)} ms`,
);
await pause(SETTLE_MS);
const after = memory();
const kib = (bytes: number) => `${(bytes / 1024 / count).toFixed(0)} KiB`;
const [heap, bytes] = [after.heap - before.heap, after.bytes - before.bytes];
show(`memory of a loaded one, of ${count}`, `heap ${kib(heap)}, bytes ${kib(bytes)}`);
const idle = await timed(() => pause(IDLE_MS).then(() => {}));
show(
  `${count} loaded ones at rest, processor`,
  `${((idle.cpuMs / idle.wallMs) * 100).toFixed(2)} %`,
);

const maps = "/clusters/plane-0/api/v1/namespaces/default/configmaps";
for (let at = 0; at < OBJECTS; at++) await client.post(maps, { metadata: { name: `map-${at}` } });
const cloned = await timed(() => make("clone", { cloneFrom: { name: "plane-0" } }));
show(
  `clone of ${OBJECTS} objects, to its first answer`,
  `${cloned.wallMs.toFixed(0)} ms, processor ${cloned.cpuMs.toFixed(0)} ms`,
);
client.close();
