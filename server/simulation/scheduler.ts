/** The scheduler of the simulation: binds pods that wait to simulated nodes, to the one with the fewest pods. */
import type { ObjectKey } from "../controllers/objects-api.js";
import { conditionsOf, withCondition } from "../registry/subresources/conditions.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import type { Node, Pod } from "./kinds.js";
import { misfitOf } from "./node-fit.js";
import { isGone, isSimulated } from "./nodes.js";
import { affinityMisfitOf } from "./pod-affinity.js";

const SCHEDULER = "default-scheduler";

/** Runs until the signal aborts. */
export async function runScheduler(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const pods = objects.resource("", "pods");
  const nodes = objects.resource("", "nodes");
  const waiting = new Set<string>();
  const keysOf = (key: ObjectKey) => {
    const pod = objects.get(pods, key) as Pod | undefined;
    const text = textOf(key);
    if (pod !== undefined && isWaiting(pod)) {
      waiting.add(text);
      return [text];
    }
    // One that left made room.
    waiting.delete(text);
    return pod === undefined ? [...waiting] : [];
  };
  const watches = [
    { resource: pods, keysOf },
    { resource: nodes, keysOf: () => [...waiting] },
  ];
  await runKeyedLoop(
    simulation,
    {
      name: "scheduler",
      isSerial: true,
      watches,
      sync: (key, until) => schedule(simulation, key, until),
    },
    signal,
  );
}

function isWaiting({ metadata, spec = {} }: Pod): boolean {
  const { nodeName = "", schedulingGates, schedulerName = SCHEDULER } = spec;
  const isGated = (schedulingGates?.length ?? 0) > 0;
  return (
    metadata.deletionTimestamp === undefined &&
    nodeName === "" &&
    !isGated &&
    schedulerName === SCHEDULER
  );
}

async function schedule(
  simulation: Simulation,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<undefined> {
  const { objects, podWrites, clock } = simulation;
  const pods = objects.resource("", "pods");
  const pod = objects.get(pods, key) as Pod | undefined;
  if (pod === undefined || !isWaiting(pod)) return;
  const reasons = new Map<string, number>();
  const nodes = (objects.list(objects.resource("", "nodes"), "") as Node[]).filter(
    (node) => isSimulated(node) && !isGone(node),
  );
  const taken = podsByNode(objects.list(pods, "") as Pod[]);
  const onNode = (node: Node) => taken.get(node.metadata.name ?? "") ?? [];
  const inhabited = nodes.map((node) => ({ node, pods: onNode(node) }));
  const fitting = nodes.filter((node) => {
    const why = misfitOf(pod, node, onNode(node)) ?? affinityMisfitOf(pod, node, inhabited);
    if (why !== undefined) reasons.set(why, (reasons.get(why) ?? 0) + 1);
    return why === undefined;
  });
  const [best] = fitting.toSorted((a, b) => onNode(a).length - onNode(b).length);
  if (best !== undefined) return void (await podWrites.bind(pod, best.metadata.name ?? "", signal));
  const why = [...reasons].map(([reason, count]) => `${count} ${reason}`).join(", ");
  const message = `0/${nodes.length} nodes are available${why === "" ? "" : `: ${why}`}.`;
  const condition = {
    type: "PodScheduled",
    status: "False",
    reason: "Unschedulable",
    message,
  } as const;
  if (conditionsOf(pod).some((one) => one.type === "PodScheduled" && one.message === message))
    return;
  await objects.update(pods, withCondition(pod, condition, clock.now()), "status", signal);
}

function podsByNode(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    const { spec, status } = pod;
    const node = spec?.nodeName ?? "";
    if (node === "" || status?.phase === "Succeeded" || status?.phase === "Failed") continue;
    const list = found.get(node);
    if (list === undefined) found.set(node, [pod]);
    else list.push(pod);
  }
  return found;
}
