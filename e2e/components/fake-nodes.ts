/**
 * Nodes without machines: they are there, renew their leases, and say of every pod that is bound to them what a kubelet would say: it
 * runs and is ready, or, where it must end by itself, has succeeded; and it is gone soon after it was deleted.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiObject, HttpsClient } from "../harness/https-client.js";

const LEASE_MS = 2_000;
const AGAIN_MS = 100;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

export interface FakeNodes {
  /** It goes on existing, and nobody hears of it any more. */
  lose(name: string): void;
  readonly names: readonly string[];
}

export async function startNodes(
  client: HttpsClient,
  names: readonly string[],
  signal: AbortSignal,
): Promise<FakeNodes> {
  const lost = new Set<string>();
  for (const name of names) {
    const labels = { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" };
    (await client.post("/api/v1/nodes", { metadata: { name, labels } })).expect(201);
    await say(client, `/api/v1/nodes/${name}/status`, { status: statusOfNode(new Date()) });
    const spec = { holderIdentity: name, leaseDurationSeconds: 10, renewTime: microTime() };
    (await client.post(LEASES, { metadata: { name }, spec })).expect(201);
  }
  void heartbeat(client, names, lost, signal);
  void runPods(client, lost, signal);
  return { names, lose: (name) => lost.add(name) };
}

async function heartbeat(
  client: HttpsClient,
  names: readonly string[],
  lost: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    for (const name of names.filter((name) => !lost.has(name))) {
      await renew(client, name).catch((error) => {
        if (!isLost(error)) throw error;
      });
    }
    await sleep(LEASE_MS, undefined, { signal }).catch(() => {});
  }
}

/** A node whose lease came late is called unreachable, for as long as it does not say itself that it is well. */
async function renew(client: HttpsClient, name: string): Promise<void> {
  await say(client, `${LEASES}/${name}`, { spec: { renewTime: microTime() } });
  const path = `/api/v1/nodes/${name}`;
  const { status } = (await client.get(path)).object as { status?: NodeStatus };
  const isReady = status?.conditions?.some(
    ({ type, status }) => type === "Ready" && status === "True",
  );
  if (!isReady) await say(client, `${path}/status`, { status: statusOfNode(new Date()) });
}

interface NodeStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

/** As a kubelet: whenever the connection is lost, it begins again with what there is. */
async function runPods(client: HttpsClient, lost: ReadonlySet<string>, signal: AbortSignal) {
  const path = "/api/v1/pods?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  while (!signal.aborted) {
    try {
      for await (const { type, object } of await client.watch(path, signal)) {
        if (type === "ADDED" || type === "MODIFIED") await act(client, object, lost);
      }
    } catch (error) {
      if (!signal.aborted && !isLost(error)) throw error;
    }
    await sleep(AGAIN_MS, undefined, { signal }).catch(() => {});
  }
}

async function act(client: HttpsClient, pod: ApiObject, lost: ReadonlySet<string>): Promise<void> {
  const spec = pod.spec as { nodeName?: string; restartPolicy?: string };
  const { nodeName = "" } = spec;
  if (nodeName === "" || lost.has(nodeName)) return;
  const { namespace, name, uid, deletionTimestamp } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  if (deletionTimestamp !== undefined) {
    await client.delete(path, { gracePeriodSeconds: 0, preconditions: { uid } });
    return;
  }
  if ((pod.status as { phase?: string }).phase !== "Pending") return;
  const isDone = spec.restartPolicy !== "Always";
  const status = isDone ? "False" : "True";
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
    type,
    status: type.endsWith("Ready") ? status : "True",
    lastTransitionTime: new Date().toISOString(),
  }));
  const phase = isDone ? "Succeeded" : "Running";
  await say(client, `${path}/status`, { status: { phase, conditions, podIP: "10.244.0.9" } });
}

function statusOfNode(now: Date) {
  const time = now.toISOString();
  const amounts = { cpu: "8", memory: "16Gi", pods: "110" };
  const ready = { type: "Ready", status: "True", reason: "Fake", lastHeartbeatTime: time };
  return { capacity: amounts, allocatable: amounts, conditions: [ready] };
}

/** What is not there any more has nothing to be said of. */
async function say(client: HttpsClient, path: string, body: unknown): Promise<void> {
  const { status, text } = await client.patch(path, body);
  if (status !== 200 && status !== 404 && status !== 409) throw new Error(`${path}: ${text}`);
}

function microTime(): string {
  return new Date().toISOString().replace("Z", "000Z");
}

/** Whether the server at the other end was ended. */
function isLost(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(code);
}
