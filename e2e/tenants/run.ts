/**
 * `node dist/e2e/tenants/run.js`: a tenant that asks for ten times its share, first lists of 10,000, then
 * writes, then watches that begin with the state, beside three polite ones on one replica; with
 * priority and fairness, and without. Prints how long the polite ones waited alone and beside it, and draws it.
 *
 *   --seconds=10                   of each part; before each the load settles
 *   --rounds=1                     of each two parts, alone and beside; several are printed as one as well
 *   --modes=fair,unfair            --kinds=lists,writes,watches
 *   --rate=50                      requests a second of each polite tenant
 *   --store=etcd                   or embedded
 *   --flags=A,B                    more for the server
 *   --chart=docs/dev/tenants.svg       where the drawing goes
 *   --log=FILE --profile=DIR       keeps the server's log, a CPU profile of it
 *
 * Ten times its share is meant by seats: a quarter of those that the level of the tenants has by default, which
 * for four of them is a share, times ten; lists and such watches take ten seats each. The server is alone on
 * core 0; etcd, who measures and, behind them, the greedy tenant share core 1.
 *
 * Figures are printed, never asserted: they are only true with their conditions.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { getPriority, setPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { cpuUs } from "../bench/cpu.js";
import { pinGenerator, pinToServerCore } from "../bench/pin.js";
import { shippedNodeFlags } from "../harness/command.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { metric, residentMiB } from "../promises/gauge.js";
import { startEtcd } from "../tools/etcd.js";
import { toChart } from "./chart.js";
import type { GreedyCounts, GreedyKind, GreedyOrder, GreedyTarget } from "./greedy.js";
import { startNeighbours } from "./neighbours.js";
import { headOfTable, type Mode, type Part, pooled, rowOf } from "./part.js";
import type { Sample } from "./polite.js";
import { startStoreProbe } from "./store-probe.js";
import { makeTenants, type Tenant } from "./tenant.js";

/** Seats of the level `workload-low`, and those that a list takes, with all flags as they are. */
const SEATS_OF_LEVEL = 245;
const SEATS_OF_LIST = 10;
const SHARES = 10;
const GREEDY_OBJECTS = 10_000;
const POLITE = { "polite-1": 200, "polite-2": 200, "polite-3": 200 };
const SETTLE_MS = 4_000;
/** Code that V8 has not compiled yet doubles the p99 of who is alone. */
const WARM_UP_MS = 30_000;
const LOOK_MS = 1_000;
/** A scrape takes both processes some milliseconds: every second it would be the p99 of who is alone. */
const LOOKS_BETWEEN_SCRAPES = 5;
/** How a server that has one core is started (docs/run/operations.md). */
const ONE_CORE = [...shippedNodeFlags(), "--single-threaded-gc"];
/** How much less the greedy client gets of its core than the store. */
const GREEDY_NICE = 15;
/** The heap of who measures may grow by far more than a part needs. */
const GROWING_PERCENT = 1_000;
/** Who measures waits for its core up to 27 ms otherwise, and takes that for the server's time. */
const MEASURER_NICE = -19;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "10" },
    rounds: { type: "string", default: "1" },
    modes: { type: "string", default: "fair,unfair" },
    kinds: { type: "string", default: "lists,writes,watches" },
    rate: { type: "string", default: "50" },
    store: { type: "string", default: "etcd" },
    flags: { type: "string", default: "" },
    chart: { type: "string" },
    log: { type: "string" },
    profile: { type: "string" },
  },
});

function lanesOf(kind: GreedyKind): number {
  if (kind === "none") return 0;
  const share = SEATS_OF_LEVEL / (Object.keys(POLITE).length + 1);
  return Math.round((share * SHARES) / (kind === "writes" ? 1 : SEATS_OF_LIST));
}

function startGreedy({ port, credentials }: ServerProcess, tenant: Tenant) {
  const target: GreedyTarget = { port, ca: credentials.ca, tenant };
  const child = fork(fileURLToPath(new URL("greedy.js", import.meta.url)), {
    env: { ...process.env, GREEDY_TARGET: JSON.stringify(target) },
  });
  setPriority(child.pid ?? 0, Math.min(19, getPriority() + GREEDY_NICE));
  return {
    async obey(order: GreedyOrder): Promise<GreedyCounts> {
      child.send(order);
      const [counts] = (await once(child, "message")) as [GreedyCounts];
      return counts;
    },
    [Symbol.dispose]: () => child.disconnect(),
  };
}

/**
 * Who measures collects its garbage by this, between the parts: in them it took 25 ms every two seconds, which was most of
 * their p99.
 */
function makeCollector(): () => void {
  setFlagsFromString("--expose-gc");
  setFlagsFromString(`--heap-growing-percent=${GROWING_PERCENT}`);
  return runInNewContext("gc") as () => void;
}

/** Of this process; those that it starts from then on have it as well. */
function setNice(nice: number): void {
  try {
    setPriority(nice);
  } catch {
    process.stderr.write("who measures has no priority: only root may give it\n");
  }
}

async function measure(mode: Mode, parts: Part[]): Promise<void> {
  setNice(0);
  await using etcd = values.store === "etcd" ? await startEtcd() : undefined;
  await using server = await startServer({
    ...(etcd !== undefined && { etcdEndpoints: [etcd.endpoint] }),
    nodeFlags: [
      ...ONE_CORE,
      ...(values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`]),
    ],
    flags: [
      ...(mode === "fair" ? [] : ["--enable-priority-and-fairness=false"]),
      ...values.flags.split(",").filter((flag) => flag !== ""),
    ],
  });
  pinToServerCore(server.pid);
  const tenants = await makeTenants(server.client, { greedy: GREEDY_OBJECTS, ...POLITE });
  const [greedyTenant, ...polite] = tenants as [Tenant, ...Tenant[]];
  using greedy = startGreedy(server, greedyTenant);
  let samples: Sample[] = [];
  const onSample = (sample: Sample) => samples.push(sample);
  const perSecond = Number(values.rate);
  const neighbours = await startNeighbours({ server, tenants: polite, perSecond, onSample });
  await using _probe = etcd && (await startStoreProbe(etcd.endpoint, onSample));
  setNice(MEASURER_NICE);
  await sleep(WARM_UP_MS);
  const runPart = async (kind: GreedyKind): Promise<Part> => {
    collectGarbage();
    await greedy.obey({ kind, lanes: lanesOf(kind) });
    await sleep(SETTLE_MS);
    samples = [];
    const [fromMs, cpuBefore] = [performance.now(), await cpuUs(server.pid)];
    let [resident, answers] = [0, 0];
    for (let look = 1; performance.now() < fromMs + Number(values.seconds) * 1_000; look++) {
      await sleep(LOOK_MS);
      resident = Math.max(resident, await residentMiB(server.pid));
      if (look % LOOKS_BETWEEN_SCRAPES > 0) continue;
      answers = Math.max(answers, await metric(server, "apiserver_answer_memory_bytes"));
    }
    const seconds = (performance.now() - fromMs) / 1_000;
    const cpuShare = ((await cpuUs(server.pid)) - cpuBefore) / 1e6 / seconds;
    const taken = samples;
    samples = [];
    const counts = await greedy.obey({ kind: "none", lanes: 0 });
    return {
      ...{ mode, greedy: kind, fromMs, seconds, samples: taken, counts, cpuShare, resident },
      answers: answers / 2 ** 20,
    };
  };
  for (const kind of values.kinds.split(",") as GreedyKind[]) {
    const rounds: { readonly alone: Part; readonly beside: Part }[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      const alone = await runPart("none");
      process.stdout.write(rowOf(alone, undefined));
      const beside = await runPart(kind);
      process.stdout.write(rowOf(beside, alone));
      parts.push(alone, beside);
      rounds.push({ alone, beside });
    }
    if (rounds.length === 1) continue;
    const alone = pooled(rounds.map((round) => round.alone));
    process.stdout.write(`all ${rounds.length} rounds\n${rowOf(alone, undefined)}`);
    process.stdout.write(rowOf(pooled(rounds.map((round) => round.beside)), alone));
  }
  for (const neighbour of neighbours) neighbour.stop();
  if (values.log !== undefined) await writeFile(values.log, server.logs);
  await server.stop();
}

pinGenerator();
const collectGarbage = makeCollector();
const parts: Part[] = [];
process.stdout.write(headOfTable());
for (const mode of values.modes.split(",") as Mode[]) await measure(mode, parts);
if (values.chart !== undefined) await writeFile(values.chart, toChart(parts));
