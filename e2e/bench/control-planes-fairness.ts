/** One control plane that asks as much as it can, beside many that ask now and then: how much later are these answered? */
import { startKeelson } from "../../server/start-keelson.js";
import { HttpsClient } from "../harness/https-client.js";
import type { Row } from "./control-planes-chart.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const POLITE = 50;
/** Each of them asks so often. */
const EVERY_MS = 500;
const PART_MS = 10_000;
/** Requests that the greedy one has open at a time. */
const GREEDY = 40;
const ASKED = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** The greatest but for one in a hundred. */
function p99(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function fairness(): Promise<Row> {
  await using api = await startKeelson({ controlPlanes: true, runsIn: "child" });
  const admin = new HttpsClient(api.url, api);
  /** A client of an administrator of a new control plane, who is not exempt from anything. */
  const enter = async (name: string): Promise<HttpsClient> => {
    const of = { apiVersion: "tenancy.k8s.io/v1alpha1", kind: "ControlPlane" };
    (await admin.post(KIND, { ...of, metadata: { name } })).expect(201);
    const asked = { spec: { user: "carol" } };
    const { text } = (await admin.post(`${KIND}/${name}/kubeconfig`, asked)).expect(201);
    const [, token = ""] = /token\\?"?: ?\\?"?([\w.-]+)/.exec(text) ?? [];
    const { ca } = api;
    return new HttpsClient(api.url, { ca }, { authorization: `Bearer ${token}` });
  };
  const polite: HttpsClient[] = [];
  for (let at = 0; at < POLITE; at++) polite.push(await enter(`polite-${at}`));
  const greedy = await enter("greedy");
  const askAll = async (): Promise<number[]> => {
    const times: number[] = [];
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
    return times;
  };
  await askAll();
  const alone = p99(await askAll());
  let isOver = false;
  let answered = 0;
  const asking = Array.from({ length: GREEDY }, async () => {
    while (!isOver) {
      const { status } = await greedy.get(`/clusters/greedy${ASKED}`);
      if (status === 200) answered++;
    }
  });
  const beside = p99(await askAll());
  isOver = true;
  await Promise.all(asking);
  for (const client of [admin, greedy, ...polite]) client.close();
  const each = Math.round((answered * 1_000) / PART_MS);
  const note = `${alone.toFixed(0)} ms alone, ${beside.toFixed(0)} ms beside one with ${each} lists a second`;
  return {
    what: `p99 of ${POLITE} polite ones beside a greedy one`,
    ...{ wanted: 1.2, measured: beside / alone, unit: "times", note },
  };
}
