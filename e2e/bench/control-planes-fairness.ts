/**
 * One control plane that asks for ten times its share beside fifty that ask for less than theirs: how much later are
 * these answered? A share is what the replica can answer, all of them asking as fast as they can, divided by their number.
 * Nobody waits for an answer before the next request is sent. Parts alone and parts beside it take turns, so whatever else
 * the machine does meets both, and each second pair begins beside it: a collection of the old space comes about each two
 * parts, and would else meet parts of one kind alone. The figure is the p99 of all answers of all parts beside it, of that
 * of all parts alone: whether the p99 of one part is 5 or 25 ms is decided by whether such a collection fell into it.
 *
 *   node dist/e2e/bench/control-planes-fairness.js [--same | --nobody] [--rounds=N] [--main=MAIN] [--node=FLAG ...]
 *     --same  the greedy one asks for the same as the others, and not for long lists
 *     --nobody  the greedy one asks for nothing: the figure is 1, but for what this bench cannot measure
 *     --main  the main.js of another build
 *     --node  a flag of Node.js for the server, such as --cpu-prof
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { COMMAND, shippedEnvironment, shippedNodeFlags } from "../harness/command.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import type { Row } from "./control-planes-chart.js";
import { cpuUs } from "./cpu.js";
import { median } from "./median.js";
import type { Asker, ClientOrder, ClientReport } from "./open-loop-client.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const POLITE = 50;
/** What each of them asks for, of its share. */
const POLITE_SHARE = 0.5;
const GREEDY_SHARE = 10;
const PART_MS = 3_000;
const SMALL = "/api/v1/namespaces/default";
const LONG = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

export interface FairnessOptions {
  readonly asksForTheSame?: boolean;
  readonly asksForNothing?: boolean;
  readonly rounds?: number;
  readonly nodeFlags?: readonly string[];
  readonly main?: string;
}

interface Part {
  /** How long each answer took. */
  readonly times: readonly number[];
  /** What the server worked, of the time. */
  readonly cpuShare: number;
  /** How long it could have worked and had no processor, of the time. */
  readonly waitedShare: number;
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

export async function fairness(options: FairnessOptions = {}): Promise<Row> {
  const {
    asksForTheSame = false,
    asksForNothing = false,
    rounds = 12,
    nodeFlags = [],
    main = COMMAND,
  } = options;
  Object.assign(process.env, await shippedEnvironment());
  await using server = await startServer({
    flags: ["--enable-control-planes", "--run-controllers"],
    nodeFlags: [...shippedNodeFlags(), ...nodeFlags],
    main,
  });
  const names = Array.from({ length: POLITE }, (_, at) => `polite-${at}`);
  const askers: Asker[] = [];
  for (const name of names) askers.push(await enter(server, name, SMALL));
  await using polite = new Clients();
  await using greedy = new Clients();
  await polite.connect(server, askers, 4);
  await greedy.connect(server, [await enter(server, "greedy", asksForTheSame ? SMALL : LONG)], 100);
  // Also warms up what runs.
  await polite.flood();
  const capacity = await polite.flood();
  await greedy.flood();
  const greedyCapacity = await greedy.flood();
  const perSecond = (POLITE_SHARE * capacity) / (POLITE + 1);
  const greedyPerSecond = asksForNothing ? 0 : (GREEDY_SHARE * greedyCapacity) / (POLITE + 1);
  say(`capacity: ${capacity.toFixed(0)} small, ${greedyCapacity.toFixed(0)} of the greedy one's`);
  say(`each polite one asks ${perSecond.toFixed(1)}, the greedy one ${greedyPerSecond.toFixed(1)}`);
  const part = async (): Promise<Part> => {
    const [before, waitedBefore] = [await cpuUs(server.pid), await waitedUs(server.pid)];
    const { times, unsent, refused, busyShare } = await polite.ask(perSecond);
    const cpuShare = ((await cpuUs(server.pid)) - before) / PART_MS / 1_000;
    const waitedShare = ((await waitedUs(server.pid)) - waitedBefore) / PART_MS / 1_000;
    say(
      `  p50 ${quantile(times, 0.5).toFixed(2)} p99 ${quantile(times, 0.99).toFixed(2)} ms of ${times.length}, ${unsent} unsent, ${refused} refused,` +
        ` server ${cpuShare.toFixed(2)} and ${waitedShare.toFixed(2)} without a processor, client ${busyShare.toFixed(2)}`,
    );
    return { times, cpuShare, waitedShare };
  };
  const [alone, beside]: [Part[], Part[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) alone.push(await part());
    const [met, other] = await Promise.all([part(), greedy.ask(greedyPerSecond)]);
    beside.push(met);
    say(
      `    greedy: p50 ${quantile(other.times, 0.5).toFixed(0)} ms of ${other.times.length}, ${other.unsent} unsent, ${other.refused} refused`,
    );
    if (round % 2 === 1) alone.push(await part());
  }
  const pairs = beside.map((one, at) => p99([one]) / p99(alone.slice(at, at + 1)));
  const figures = (parts: readonly Part[]) =>
    `${quantile(pooled(parts), 0.5).toFixed(1)} and ${p99(parts).toFixed(1)} ms (server ${median(parts.map(({ cpuShare }) => cpuShare)).toFixed(2)} of a core)`;
  const waited = median([...alone, ...beside].map(({ waitedShare }) => waitedShare));
  // On a quiet machine it is nothing.
  const quiet = `${(100 * waited).toFixed(1)} % of the time without a processor`;
  return {
    what: `p99 of ${POLITE} polite ones beside one with ${GREEDY_SHARE} times its share`,
    ...{ wanted: 1.2, measured: p99(beside) / p99(alone), unit: "times" },
    note: `p50 and p99 alone ${figures(alone)}, beside it ${figures(beside)}; median of pairs ${median(pairs).toFixed(2)}; ${quiet}`,
  };
}

function pooled(parts: readonly Part[]): readonly number[] {
  return parts.flatMap(({ times }) => times);
}

function p99(parts: readonly Part[]): number {
  return quantile(pooled(parts), 0.99);
}

/** How long the main thread could have run and had no processor. */
async function waitedUs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/task/${pid}/schedstat`, "latin1");
  return Number(text.split(" ")[1]) / 1_000;
}

/** Makes a control plane. @returns an administrator of it, who is not exempt from anything */
async function enter({ client }: ServerProcess, name: string, path: string): Promise<Asker> {
  const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
  (await client.post(KIND, { ...of, metadata: { name } })).expect(201);
  const asked = { spec: { user: "carol" } };
  const { text } = (await client.post(`${KIND}/${name}/kubeconfig`, asked)).expect(201);
  const token = /token\\?"?: ?\\?"?([\w.-]+)/.exec(text)?.[1] ?? "";
  return { path: `/clusters/${name}${path}`, token };
}

/** A process with clients. */
class Clients implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("open-loop-client.js", import.meta.url)));
  }

  async connect(
    { port, credentials: { ca } }: ServerProcess,
    askers: readonly Asker[],
    connections: number,
  ): Promise<void> {
    await this.#do({ type: "connect", port, ca, askers, connections });
  }

  /** @returns answers in a second */
  async flood(): Promise<number> {
    const { times } = await this.#do({ type: "flood", forMs: PART_MS });
    return (times.length * 1_000) / PART_MS;
  }

  ask(perSecond: number): Promise<ClientReport> {
    return this.#do({ type: "ask", perSecond, forMs: PART_MS });
  }

  async #do(order: ClientOrder): Promise<ClientReport> {
    this.#child.send(order);
    const [report] = (await once(this.#child, "message")) as [ClientReport];
    return report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      same: { type: "boolean", default: false },
      nobody: { type: "boolean", default: false },
      rounds: { type: "string", default: "12" },
      node: { type: "string", multiple: true, default: [] },
      main: { type: "string", default: COMMAND },
    },
  });
  const row = await fairness({
    asksForTheSame: values.same,
    asksForNothing: values.nobody,
    rounds: Number(values.rounds),
    nodeFlags: values.node,
    main: values.main,
  });
  process.stdout.write(`${row.what}: ${row.measured.toFixed(2)} (${row.note})\n`);
}
