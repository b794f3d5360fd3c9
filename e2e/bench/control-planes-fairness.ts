/**
 * One control plane that asks as much as it can, beside many that ask now and then: how much later are these answered?
 * Parts alone and parts beside it take turns, so whatever else the machine does meets both.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { shippedNodeFlags } from "../harness/command.js";
import { HttpsClient } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import type { Row } from "./control-planes-chart.js";
import type { GreedyOrder, GreedyReport } from "./greedy-client.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const POLITE = 50;
/** Each of them asks so often. */
const EVERY_MS = 500;
const PART_MS = 5_000;
const ROUNDS = 5;
/** Requests that the greedy one has open at a time. */
const GREEDY = 40;
const ASKED = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** The greatest but for one in a hundred. */
function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function fairness(): Promise<Row> {
  await using server = await startServer({
    flags: ["--enable-control-planes", "--run-controllers"],
    nodeFlags: shippedNodeFlags(),
  });
  const { url, client: admin } = server;
  const { ca } = server.credentials;
  /** The token of an administrator of a new control plane, who is not exempt from anything. */
  const enter = async (name: string): Promise<string> => {
    const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
    (await admin.post(KIND, { ...of, metadata: { name } })).expect(201);
    const asked = { spec: { user: "carol" } };
    const { text } = (await admin.post(`${KIND}/${name}/kubeconfig`, asked)).expect(201);
    return /token\\?"?: ?\\?"?([\w.-]+)/.exec(text)?.[1] ?? "";
  };
  const polite: HttpsClient[] = [];
  for (let at = 0; at < POLITE; at++) {
    const authorization = `Bearer ${await enter(`polite-${at}`)}`;
    polite.push(new HttpsClient(url, { ca }, { authorization }));
  }
  const token = await enter("greedy");
  await using greedy = new Greedy();
  greedy.send({ type: "connect", url, ca, token });
  const askAll = async (times: number[]): Promise<void> => {
    const endMs = performance.now() + PART_MS;
    await Promise.all(
      polite.map(async (client, at) => {
        await pause((EVERY_MS * at) / POLITE);
        while (performance.now() < endMs) {
          const sinceMs = performance.now();
          (await client.get(`/clusters/polite-${at}${ASKED}?limit=5`)).expect(200);
          times.push(performance.now() - sinceMs);
          await pause(EVERY_MS);
        }
      }),
    );
  };
  let answered = 0;
  const round = async (alone: number[], beside: number[]): Promise<void> => {
    await askAll(alone);
    await greedy.begin(`/clusters/greedy${ASKED}`);
    await askAll(beside);
    answered += await greedy.end();
  };
  await round([], []);
  answered = 0;
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let at = 0; at < ROUNDS; at++) await round(alone, beside);
  for (const client of polite) client.close();
  const each = Math.round((answered * 1_000) / PART_MS / ROUNDS);
  const [before, then] = [p99(alone), p99(beside)];
  const note = `${before.toFixed(0)} ms alone, ${then.toFixed(0)} ms beside one with ${each} lists a second`;
  return {
    what: `p99 of ${POLITE} polite ones beside a greedy one`,
    ...{ wanted: 1.2, measured: then / before, unit: "times", note },
  };
}

/** The greedy client's process. */
class Greedy implements AsyncDisposable {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("greedy-client.js", import.meta.url)));
  }

  send(order: GreedyOrder): void {
    this.#child.send(order);
  }

  async begin(path: string): Promise<void> {
    this.send({ type: "ask", path, atATime: GREEDY });
    await this.#next();
  }

  /** @returns how many of its requests were answered meanwhile */
  async end(): Promise<number> {
    this.send({ type: "rest" });
    const report = await this.#next();
    return report.type === "resting" ? report.answered : 0;
  }

  async #next(): Promise<GreedyReport> {
    const [report] = (await once(this.#child, "message")) as [GreedyReport];
    return report;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill();
    await ended;
  }
}
