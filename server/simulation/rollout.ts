/** How many pods the ReplicaSets of a Deployment are to have next: the arithmetic of a rolling update. */

import type { Deployment } from "./kinds.js";
import { amountOf } from "./pod-templates.js";

/** One ReplicaSet, as it was reported. */
export interface RolledSet {
  readonly wanted: number;
  /** Pods that exist. */
  readonly actual: number;
  readonly available: number;
}

export interface RolloutPlan {
  readonly next: number;
  /** In the order of `old`. */
  readonly old: readonly number[];
}

export interface RolloutBounds {
  readonly replicas: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/** Of a strategy; both at 0 would never move. */
export function rolloutBounds({ spec = {} }: Deployment): RolloutBounds {
  const replicas = Number(spec.replicas ?? 1);
  const { maxSurge = "25%", maxUnavailable = "25%" } = spec.strategy?.rollingUpdate ?? {};
  const surge = amountOf(maxSurge, replicas, Math.ceil);
  const unavailable = Math.min(replicas, amountOf(maxUnavailable, replicas, Math.floor));
  return { replicas, maxSurge: surge, maxUnavailable: surge + unavailable === 0 ? 1 : unavailable };
}

/** @param old the other sets, oldest first */
export function planRolling(
  next: RolledSet,
  old: readonly RolledSet[],
  bounds: RolloutBounds,
): RolloutPlan {
  const { replicas, maxSurge, maxUnavailable } = bounds;
  const total = sum([next, ...old], ({ wanted }) => wanted);
  const room = Math.max(0, replicas + maxSurge - total);
  const grown = Math.max(Math.min(next.wanted, replicas), Math.min(replicas, next.wanted + room));
  // The new set's pods that are not available yet may not be counted on.
  const unavailable = next.wanted - next.available;
  let removable = Math.max(0, total - (replicas - maxUnavailable) - unavailable);
  // Unavailable pods serve nobody: they go first.
  const healthy = old.map(({ wanted, available }) => {
    const bad = Math.min(Math.max(0, wanted - available), removable);
    removable -= bad;
    return wanted - bad;
  });
  const available = sum([next, ...old], (set) => set.available);
  let spare = Math.min(removable, Math.max(0, available - (replicas - maxUnavailable)));
  const shrunk = healthy.map((wanted) => {
    const cut = Math.min(wanted, spare);
    spare -= cut;
    return wanted - cut;
  });
  return { next: grown, old: shrunk };
}

/** All old pods are gone before the first new one comes. */
export function planRecreate(
  next: RolledSet,
  old: readonly RolledSet[],
  replicas: number,
): RolloutPlan {
  const isEmpty = old.every(({ wanted, actual }) => wanted === 0 && actual === 0);
  return { next: isEmpty ? replicas : next.wanted, old: old.map(() => 0) };
}

function sum(sets: readonly RolledSet[], of: (set: RolledSet) => number): number {
  return sets.reduce((total, set) => total + of(set), 0);
}
