/**
 * What requests cost the server, over HTTP/1.1 and over HTTP/2, in units of what a bare `node:https` server
 * costs on the same machine: the mean of a second before and a second after each scenario.
 *
 *   node dist/e2e/bench/run.js                          all scenarios, both protocols, on etcd
 *   node dist/e2e/bench/run.js get list watch           some of them
 *     --profile=DIR       keeps a CPU profile of the server there, for the developer tools of a browser
 *     --store=embedded  --protocols=h2  --seconds=3  --objects=10000  --watchers=500
 *     --bare              without what the command and the image set for memory
 *     --chart=FILE        draws the rows over HTTP/1.1 beside kube-apiserver's (SVG)
 *
 * Figures are printed, never asserted: they are only true with their conditions.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { shippedEnvironment, shippedNodeFlags } from "../harness/command.js";
import { startServer } from "../harness/server-process.js";
import { residentMiB } from "../promises/gauge.js";
import { fill } from "../promises/raw-client.js";
import { startEtcd } from "../tools/etcd.js";
import { BareServer } from "./bare.js";
import type { BenchConnection, Target } from "./connection.js";
import { cpuUs } from "./cpu.js";
import { Http1Connection } from "./http1-connection.js";
import { Http2Connection } from "./http2-connection.js";
import { pinGenerator, pinToServerCore } from "./pin.js";
import { type MeasuredRow, toChart } from "./rows-chart.js";
import { type Bench, SCENARIOS, unitOf } from "./scenarios.js";

const OPEN: Readonly<Record<string, (target: Target) => Promise<BenchConnection>>> = {
  h1: Http1Connection.open,
  h2: Http2Connection.open,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    store: { type: "string", default: "etcd" },
    protocols: { type: "string", default: "h1,h2" },
    seconds: { type: "string", default: "3" },
    objects: { type: "string", default: "10000" },
    watchers: { type: "string", default: "500" },
    profile: { type: "string" },
    bare: { type: "boolean", default: false },
    chart: { type: "string" },
  },
});
const UNIT_SECONDS = 1;
const seconds = Number(values.seconds);
const objects = Number(values.objects);
const watchers = Number(values.watchers);
const protocols = values.protocols.split(",");

pinGenerator();
await using bare = await BareServer.start(watchers);
// Servers have the environment of this process.
if (!values.bare) Object.assign(process.env, await shippedEnvironment());
const profiling =
  values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`];
await using etcd = values.store === "etcd" ? await startEtcd() : undefined;
await using server = await startServer({
  ...(etcd === undefined ? {} : { etcdEndpoints: [etcd.endpoint] }),
  nodeFlags: values.bare ? profiling : [...shippedNodeFlags(), ...profiling],
});
pinToServerCore(server.pid);
await fill(server, { to: objects });

const cells = (first: string, rest: readonly string[]) =>
  process.stdout.write(`${first.padEnd(14)}${rest.map((cell) => cell.padStart(10)).join("")}\n`);
cells("scenario", [
  ...protocols.flatMap((protocol) => ["unit µs", `${protocol} µs`, "units"]),
  "h2/h1",
  "RSS MiB",
]);
const rows: MeasuredRow[] = [];
for (const name of positionals.length > 0 ? positionals : Object.keys(SCENARIOS)) {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`unknown scenario ${name}`);
  const unitNow = () => bare.unit(unitOf(name), UNIT_SECONDS);
  const measured: { readonly unit: number; readonly cost: number }[] = [];
  for (const protocol of protocols) {
    const open = OPEN[protocol];
    if (open === undefined) throw new Error(`unknown protocol ${protocol}`);
    const bench: Bench = {
      open: () => open(server),
      cpuUs: () => cpuUs(server.pid),
      objects,
      seconds,
      watchers,
    };
    const unitBefore = await unitNow();
    const cost = await scenario(bench);
    measured.push({ unit: (unitBefore + (await unitNow())) / 2, cost });
    // What the second protocol creates must not be there yet.
    if (name === "create" && protocol !== protocols.at(-1)) await SCENARIOS.delete?.(bench);
    if (name === "delete" && protocol !== protocols.at(-1)) await SCENARIOS.create?.(bench);
  }
  const [first = Number.NaN, second] = measured.map(({ unit, cost }) => cost / unit);
  rows.push({ scenario: name, units: first });
  cells(name, [
    ...measured.flatMap(({ unit, cost }) => [
      unit.toFixed(1),
      cost.toFixed(1),
      (cost / unit).toFixed(2),
    ]),
    second === undefined ? "" : (second / first).toFixed(2),
    (await residentMiB(server.pid)).toFixed(0),
  ]);
}
await server.stop();
if (values.chart !== undefined) {
  const basis = `${new Date().toISOString().slice(0, 10)}, Node.js ${process.versions.node}, ${values.store}, two cores, ${objects} objects of 1 KiB`;
  await writeFile(values.chart, toChart(rows, basis));
}
