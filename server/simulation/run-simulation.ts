/**
 * A simulated cluster, for tests against things that become ready: no process runs, and everything that a cluster
 * would report about it is written by these loops, as clients of the registry like the server's other loops.
 *
 *   nodes      nodes.ts, scheduler.ts, pods.ts, volume-claims.ts, load-balancers.ts
 *   workloads  deployments.ts, replica-sets.ts, stateful-sets.ts, daemon-sets.ts, jobs.ts, cron-jobs.ts, endpoint-slices.ts,
 *             disruption-budgets.ts
 *
 * How long things take and what fails: settings.ts; the life of a pod: pod-timeline.ts.
 */
import { setMaxListeners } from "node:events";
import { runCronJobs } from "./cron-jobs.js";
import { runDaemonSets } from "./daemon-sets.js";
import { runDeployments } from "./deployments.js";
import { runDisruptionBudgets } from "./disruption-budgets.js";
import { runEndpointSlices } from "./endpoint-slices.js";
import { runJobs } from "./jobs.js";
import type { Simulation } from "./keyed-loop.js";
import { runLoadBalancers } from "./load-balancers.js";
import { runNodes } from "./nodes.js";
import { runPods } from "./pods.js";
import { runReplicaSets } from "./replica-sets.js";
import { runScheduler } from "./scheduler.js";
import { runStatefulSets } from "./stateful-sets.js";
import { runVolumeClaims } from "./volume-claims.js";

type Loop = (simulation: Simulation, signal: AbortSignal) => Promise<void>;

/** The parts of a cluster that can be simulated. */
const PARTS = {
  nodes: [runNodes, runScheduler, runPods, runVolumeClaims, runLoadBalancers],
  workloads: [
    ...[runDeployments, runReplicaSets, runStatefulSets, runDaemonSets],
    ...[runJobs, runCronJobs, runEndpointSlices, runDisruptionBudgets],
  ],
} as const satisfies Record<string, readonly Loop[]>;

export type SimulatedPart = keyof typeof PARTS;

export const SIMULATED_PARTS = Object.keys(PARTS) as readonly SimulatedPart[];

export function isSimulatedPart(name: string): name is SimulatedPart {
  return Object.hasOwn(PARTS, name);
}

/** Runs until the signal aborts. */
export async function runSimulation(
  simulation: Simulation,
  parts: readonly SimulatedPart[],
  signal: AbortSignal,
): Promise<void> {
  // Every loop listens for the end: many listeners are not a leak here.
  setMaxListeners(0, signal);
  const loops = new Set(parts.flatMap((part): readonly Loop[] => PARTS[part]));
  await Promise.all([...loops].map((run) => run(simulation, signal)));
}
