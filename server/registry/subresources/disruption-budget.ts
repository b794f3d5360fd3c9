/**
 * How PodDisruptionBudgets limit evictions, and how an eviction is counted. Counting writes the
 * budget's status under compare-and-swap, so two evictions never use the same allowance.
 */

import { ShortTurns } from "../../../storage/base/short-turns.js";
import { inPages } from "../../../storage/cache/in-pages.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import { disruptionRefused, forbidden } from "../../api/status.js";
import { formatTime } from "../../api/time.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import type { Registry, WriteOptions } from "../registry.js";
import { parseCurrent } from "../write/current.js";
import { patchObject } from "../write/update.js";
import { compileLabelSelector, type LabelSelector } from "./label-selector.js";

/** Evictions that the budget's controller has not seen yet; more mean that no controller runs. */
const DISRUPTED_PODS_MAX = 2_000;
/** How long a client should wait for the budget's controller. */
const RETRY_AFTER_SECONDS = 10;

export interface DisruptionBudget extends ApiObject {
  spec?: { selector?: LabelSelector | null; unhealthyPodEvictionPolicy?: string };
  status?: {
    observedGeneration?: number;
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    disruptedPods?: Record<string, string>;
  };
}

/**
 * The budgets that cover a pod, from the view as of now. Each is read and its selector compiled, in turns: a namespace may have
 * thousands of them, and one may have a megabyte.
 */
export async function budgetsOf(
  registry: Registry,
  budgets: StoredResource,
  pod: ApiObject,
  turns = new ShortTurns(),
): Promise<DisruptionBudget[]> {
  const { namespace = "", name = "", labels = {} } = pod.metadata;
  // For compatibility, a pod without labels is covered by none.
  if (Object.keys(labels).length === 0) return [];
  const found: DisruptionBudget[] = [];
  const { tree } = registry.view.partition(budgets.partition).snapshot();
  for (const stored of inPages(tree, namespace)) {
    await turns.yieldIfLong();
    if (stored.corruption !== undefined) continue;
    const budget = parseCurrent(stored) as DisruptionBudget;
    const selector = budget.spec?.selector;
    if (selector === undefined || selector === null) continue;
    const isSelected = compileLabelSelector(selector, namespace).matches({
      namespace,
      name,
      labels,
      fields: {},
    });
    if (isSelected) found.push(budget);
  }
  return found;
}

/** Whether an unready pod may be evicted without being counted, as it serves nothing. */
export function spareUnhealthy({ spec, status }: DisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

/** Counts one eviction against the budget. @throws {StatusError} 429, 403 when it is not allowed */
export async function useAllowance(
  registry: Registry,
  budgets: StoredResource,
  target: {
    readonly namespace: string;
    readonly name: string;
    readonly podName: string;
    readonly options: WriteOptions;
  },
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, podName, options } = target;
  const patch = (current: JsonValue): JsonValue => {
    const budget = current as unknown as DisruptionBudget;
    refuseExhausted(budgets, budget);
    const { status } = budget;
    const next: DisruptionBudget = {
      ...budget,
      status: {
        ...status,
        disruptionsAllowed: (status?.disruptionsAllowed ?? 0) - 1,
        disruptedPods: { ...status?.disruptedPods, [podName]: formatTime(registry.clock.now()) },
      },
    };
    return next as unknown as JsonValue;
  };
  const request = { resource: budgets, namespace, name, subresource: "status", options, patch };
  await patchObject(registry, request, signal);
}

function refuseExhausted({ group }: StoredResource, { metadata, status }: DisruptionBudget): void {
  const { name = "", generation = 0 } = metadata;
  const singular = { group, resource: "poddisruptionbudget" };
  const {
    observedGeneration = 0,
    disruptionsAllowed = 0,
    currentHealthy = 0,
    desiredHealthy = 0,
    disruptedPods = {},
  } = status ?? {};
  if (observedGeneration < generation) throw stillProcessed(name);
  if (disruptionsAllowed < 0) {
    throw forbidden(singular, name, "pdb disruptions allowed is negative");
  }
  if (Object.keys(disruptedPods).length > DISRUPTED_PODS_MAX) {
    const why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw forbidden(singular, name, why);
  }
  if (disruptionsAllowed === 0) {
    // No retry time is given: only the controller's next sync can tell.
    throw disruptionRefused(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
      0,
    );
  }
}

/** 429: the budget's status is outdated, or changed meanwhile. */
export function stillProcessed(name: string) {
  return disruptionRefused(
    `The disruption budget ${name} is still being processed by the server.`,
    RETRY_AFTER_SECONDS,
  );
}
