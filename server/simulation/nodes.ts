/**
 * The nodes of the simulation and their leases. Each says what it is in its name, a label and its versions. They are
 * made at the start and renew their leases; one that is deleted stays away, and one with the annotation
 * simulation.keelson.dev/gone is as if its machine had failed.
 */
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, ObjectMeta } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { formatTime } from "../api/time.js";
import { isLostRace } from "../controllers/lost-race.js";
import type { Taint } from "../registry/core/validate-scheduling.js";
import { runKeyedLoop, type Simulation, textOf } from "./keyed-loop.js";
import type { Condition, Node } from "./kinds.js";
import { withConditions } from "./pod-status.js";
import { SIMULATION_DOMAIN } from "./settings.js";

const NAME_PREFIX = "simulated-";
const LABEL = `${SIMULATION_DOMAIN}/simulated`;
const GONE = `${SIMULATION_DOMAIN}/gone`;
const RENEW_MS = 10_000;
const LEASE_SECONDS = 40;
const VERSION = "v1.36.0-simulated";

export const PODS_PER_NODE = 110;

/** By its name alone: also for one that is not there any more. */
export function hasSimulatedName(nodeName: string): boolean {
  return nodeName.startsWith(NAME_PREFIX);
}

interface Marked {
  readonly metadata?: Pick<ObjectMeta, "labels" | "annotations">;
}

export function isSimulated({ metadata }: Marked): boolean {
  return metadata?.labels?.[LABEL] === "true";
}

export function isGone({ metadata }: Marked): boolean {
  return metadata?.annotations?.[GONE] === "true";
}

export function unreachableTaint({ labelDomain }: Naming): string {
  return `node.${labelDomain}/unreachable`;
}

/** Those that are there already stay as they are. */
export async function createNodes(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects, settings } = simulation;
  for (let i = 1; i <= settings.nodes; i++) {
    await createUnlessThere(simulation, newNode(simulation, i), signal);
  }
  await objects.refresh();
  for (const node of objects.list(objects.resource("", "nodes"), "") as Node[]) {
    if (!isSimulated(node) || isGone(node)) continue;
    await renewLease(simulation, node, signal);
    await report(simulation, node, signal);
  }
}

/** Runs until the signal aborts. */
export async function runNodes(simulation: Simulation, signal: AbortSignal): Promise<void> {
  const { objects } = simulation;
  const nodes = objects.resource("", "nodes");
  const sync = async (key: { readonly namespace: string; readonly name: string }) => {
    const node = objects.get(nodes, key) as Node | undefined;
    if (node === undefined || !isSimulated(node)) return undefined;
    if (!isGone(node)) await renewLease(simulation, node, signal);
    await report(simulation, node, signal);
    return RENEW_MS;
  };
  const watches = [
    { resource: nodes, keysOf: (key: { namespace: string; name: string }) => [textOf(key)] },
  ];
  await runKeyedLoop(simulation, { name: "nodes", watches, sync }, signal);
}

async function createUnlessThere(
  { objects }: Simulation,
  node: ApiObject,
  signal: AbortSignal,
): Promise<void> {
  const nodes = objects.resource("", "nodes");
  try {
    await objects.create(nodes, node, signal);
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}

function newNode({ naming, clock }: Simulation, i: number): ApiObject {
  const name = `${NAME_PREFIX}${i}`;
  const { labelDomain } = naming;
  const [high, low] = [(i >> 8) & 0xff, i & 0xff];
  const cidr = `10.${244 + high}.${low}.0/24`;
  const amounts = {
    ...{ cpu: "64", memory: "256Gi", "ephemeral-storage": "1Ti" },
    pods: String(PODS_PER_NODE),
  };
  return {
    ...{ apiVersion: "v1", kind: "Node" },
    metadata: {
      name,
      labels: {
        [LABEL]: "true",
        [`${labelDomain}/hostname`]: name,
        [`${labelDomain}/os`]: "linux",
        [`${labelDomain}/arch`]: "amd64",
      },
      annotations: { [`${SIMULATION_DOMAIN}/note`]: "simulated: no process runs here" },
    },
    spec: { podCIDR: cidr, podCIDRs: [cidr], providerID: `simulated://${name}` },
    status: {
      ...{ capacity: amounts, allocatable: amounts },
      conditions: withConditions([], conditions(true, clock.now()), clock.now()),
      addresses: [
        { type: "InternalIP", address: `10.192.${high}.${low}` },
        { type: "Hostname", address: name },
      ],
      nodeInfo: {
        ...{ machineID: name, systemUUID: name, bootID: name },
        ...{ kernelVersion: "simulated", osImage: "simulated", operatingSystem: "linux" },
        ...{ architecture: "amd64", containerRuntimeVersion: "simulated://1" },
        ...{ kubeletVersion: VERSION, kubeProxyVersion: VERSION },
      },
    },
  };
}

/** Times are those of changes, so that a node at rest is not written again and again. */
function conditions(isHere: boolean, nowMs: number): Condition[] {
  const lastHeartbeatTime = formatTime(nowMs);
  const unknown = { status: "Unknown", reason: "NodeStatusUnknown", lastHeartbeatTime };
  const message = "Kubelet stopped posting node status.";
  const bad = ["MemoryPressure", "DiskPressure", "PIDPressure"].map((type) =>
    isHere
      ? { type, status: "False", reason: "Simulated", lastHeartbeatTime }
      : { type, ...unknown, message },
  );
  const ready = isHere
    ? { type: "Ready", status: "True", reason: "Simulated", lastHeartbeatTime }
    : { type: "Ready", ...unknown, message };
  return [...bad, ready];
}

async function renewLease(
  { objects, naming, clock }: Simulation,
  { metadata: { name = "", uid = "" } }: Node,
  signal: AbortSignal,
): Promise<void> {
  const leases = objects.resource(`coordination.${naming.groupDomain}`, "leases");
  const namespace = naming.nodeLeaseNamespace;
  const found = objects.get(leases, { namespace, name });
  const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
  const owner = { apiVersion: "v1", kind: "Node", name, uid };
  const lease: ApiObject = {
    ...{ apiVersion: `${leases.group}/${leases.version}`, kind: leases.kind },
    ...found,
    metadata: { ...(found?.metadata ?? { namespace, name }), ownerReferences: [owner] },
    spec: { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime },
  };
  if (found === undefined) await objects.create(leases, lease, signal);
  else await objects.update(leases, lease, "", signal);
}

/** Conditions, and the taints that follow from them. */
async function report(simulation: Simulation, node: Node, signal: AbortSignal): Promise<void> {
  const { objects, naming, clock } = simulation;
  const nodes = objects.resource("", "nodes");
  const isHere = !isGone(node);
  const before = node.status?.conditions ?? [];
  const wasHere = before.some(({ type, status }) => type === "Ready" && status === "True");
  let current = node;
  if (isHere !== wasHere || before.length === 0) {
    const nowMs = clock.now();
    const status = {
      ...node.status,
      conditions: withConditions(before, conditions(isHere, nowMs), nowMs),
    };
    current = (await objects.update(nodes, { ...node, status }, "status", signal)) as Node;
  }
  const taints = taintsOf(naming, current, isHere, clock.now());
  if (deepEqual(taints, current.spec?.taints ?? [])) return;
  await objects.update(nodes, { ...current, spec: { ...current.spec, taints } }, "", signal);
}

function taintsOf(naming: Naming, node: Node, isHere: boolean, nowMs: number): readonly Taint[] {
  const { spec } = node;
  const domain = `node.${naming.labelDomain}`;
  const key = unreachableTaint(naming);
  const known = spec?.taints ?? [];
  const others = known.filter((taint) => taint.key !== `${domain}/not-ready` && taint.key !== key);
  if (isHere) return others;
  const timeAdded = formatTime(nowMs);
  const own = ["NoSchedule", "NoExecute"].map(
    (effect) =>
      known.find((taint) => taint.key === key && taint.effect === effect) ?? {
        key,
        effect,
        timeAdded,
      },
  );
  return [...others, ...own];
}
