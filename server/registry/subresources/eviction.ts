/**
 * eviction: a delete of a pod that checks its PodDisruptionBudget first (S1-GEN-08). `kubectl
 * drain` evicts every pod of a node.
 *
 *   pending, finished or already going ──► mark, delete: nothing is disrupted
 *   no budget ───────────────────────────► mark, delete
 *   one budget, not ready and spare ─────► mark, delete, if the pod is still the same
 *   one budget ──────────────────────────► count it (or 429), mark, delete
 *   more than one ───────────────────────► 500: nobody could say which one to count
 */
import { invalidValue, unsupportedValue } from "../../api/field-errors.js";
import type { ApiObject, JsonValue } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";
import {
  badRequest,
  evictionUnsupported,
  invalid,
  invalidOptions,
  notFound,
  StatusError,
} from "../../api/status.js";
import type { StoredResource } from "../../kinds/served-resource.js";
import { isDeleting } from "../generic/metadata.js";
import type { Registry, WriteOptions } from "../registry.js";
import type { ActionRequest, ResourceAction } from "../write/action.js";
import { parseCurrent } from "../write/current.js";
import { deleteObject, planDelete } from "../write/delete.js";
import {
  checkDeleteOptions,
  type DeleteOptions,
  IGNORE_READ_ERRORS_FIELD,
} from "../write/delete-options.js";
import { checkPreconditions } from "../write/deletion.js";
import { patchObject } from "../write/update.js";
import { runWrite, type WritePlan } from "../write/write.js";
import { succeeded } from "./action-status.js";
import { isConditionTrue, withCondition } from "./conditions.js";
import { budgetsOf, spareUnhealthy, stillProcessed, useAllowance } from "./disruption-budget.js";

interface EvictionObject extends ApiObject {
  deleteOptions?: {
    gracePeriodSeconds?: number;
    preconditions?: { uid?: string; resourceVersion?: string };
    orphanDependents?: boolean;
    propagationPolicy?: string;
    dryRun?: string[];
    [IGNORE_READ_ERRORS_FIELD]?: boolean;
  } | null;
}

/** A pod in the view, with its version there. */
interface FoundPod {
  readonly pod: ApiObject;
  readonly resourceVersion: string;
}

export const eviction: ResourceAction = {
  async run(registry, request, signal) {
    const { current } = registry.catalog;
    const pods = current.findMain("", "v1", "pods");
    const budgets = current.findMain("policy", "v1", "poddisruptionbudgets");
    if (pods === undefined || budgets === undefined) throw badRequest("pods are not served");
    if (request.object.metadata.name !== request.name) {
      throw badRequest("name in URL does not match name in Eviction object");
    }
    refuseUnreadable(request);
    await evict(registry, { ...request, pods, budgets }, signal);
    return succeeded();
  },
};

/** What cannot be read is no pod that a budget counts. @throws {StatusError} 422 */
function refuseUnreadable({ object, name }: ActionRequest): void {
  if ((object as EvictionObject).deleteOptions?.[IGNORE_READ_ERRORS_FIELD] !== true) return;
  const why = "can not be set for pod eviction, try after removing the option";
  const problem = invalidValue(`deleteOptions.${IGNORE_READ_ERRORS_FIELD}`, true, why);
  throw invalid({ group: "policy", kind: "Eviction" }, name, [problem]);
}

interface Evicted extends ActionRequest {
  readonly pods: StoredResource;
  readonly budgets: StoredResource;
}

async function evict(registry: Registry, request: Evicted, signal: AbortSignal): Promise<void> {
  const { pods, budgets, namespace, name } = request;
  const deletion = deleteOptionsOf(registry.naming, request);
  const options = { ...request.options, isDryRun: deletion.isDryRun };
  const target = { resource: pods, namespace, name };
  const found = await deleteUnguarded(registry, target, { deletion, options }, signal);
  if (found === undefined) return;

  const guards = await budgetsOf(registry, budgets, found.pod);
  if (guards.length > 1) {
    throw evictionUnsupported(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  const [guard] = guards;
  const guardName = guard?.metadata.name ?? "";
  const isSpare =
    guard !== undefined && !isConditionTrue(found.pod, "Ready") && spareUnhealthy(guard);
  if (guard !== undefined && !isSpare) {
    const counted = { namespace, name: guardName, podName: name, options };
    await useAllowance(registry, budgets, counted, signal);
  }
  // An unready pod may only be evicted while it is unchanged.
  const isPinned = isSpare && deletion.preconditions?.resourceVersion === undefined;
  const pinned = isPinned ? withVersion(deletion, found.resourceVersion) : deletion;
  try {
    await markAndDelete(registry, target, pinned, options, signal);
  } catch (error) {
    const isRace = error instanceof StatusError && error.reason === "Conflict";
    throw isPinned && isRace ? stillProcessed(guardName) : error;
  }
}

interface PodTarget {
  readonly resource: StoredResource;
  readonly namespace: string;
  readonly name: string;
}

/** Marks and deletes a pod that no budget counts. @returns the pod when budgets must be checked */
async function deleteUnguarded(
  registry: Registry,
  target: PodTarget,
  { deletion, options }: { readonly deletion: DeleteOptions; readonly options: WriteOptions },
  signal: AbortSignal,
): Promise<FoundPod | undefined> {
  const isVersioned = deletion.preconditions?.resourceVersion !== undefined;
  for (let tries = 1; ; tries++) {
    const found = await findPod(registry, target, signal);
    const phase = phaseOf(found.pod);
    const isPending = phase === "Pending";
    if (!isPending && !OVER.has(phase) && !isDeleting(found.pod)) return found;
    // A pending pod may start meanwhile, and then it is looked at again.
    const isPinned = isPending && !isVersioned;
    const pinned = isPinned ? withVersion(deletion, found.resourceVersion) : deletion;
    try {
      await markAndDelete(registry, target, pinned, options, signal);
      return undefined;
    } catch (error) {
      const isRace = error instanceof StatusError && error.reason === "Conflict";
      if (!isRace || isVersioned || tries === TRIES_MAX) throw error;
    }
  }
}

const OVER: ReadonlySet<string> = new Set(["Succeeded", "Failed"]);
/** Of a pod that others write meanwhile. */
const TRIES_MAX = 20;

/** The pod as it is stored now. @throws {StatusError} 404 */
async function findPod(
  registry: Registry,
  target: PodTarget,
  signal: AbortSignal,
): Promise<FoundPod> {
  let found: FoundPod | undefined;
  const plan = planDelete(registry, { ...target, options: { isDryRun: false } });
  const decide: WritePlan["decide"] = ({ current }) => {
    if (current === undefined) throw notFound(target.resource, target.name);
    const pod = parseCurrent(current);
    found = { pod, resourceVersion: String(current.revision) };
    return { action: "same", object: pod };
  };
  await runWrite(registry, { ...plan, decide }, signal);
  if (found === undefined) throw notFound(target.resource, target.name);
  return found;
}

function phaseOf({ status }: ApiObject): string {
  return (status as { phase?: string } | undefined)?.phase ?? "";
}

function withVersion(deletion: DeleteOptions, resourceVersion: string): DeleteOptions {
  return { ...deletion, preconditions: { ...deletion.preconditions, resourceVersion } };
}

/** Writes the reason into the pod, for its owner, and deletes it. */
async function markAndDelete(
  registry: Registry,
  target: PodTarget,
  deletion: DeleteOptions,
  writeOptions: WriteOptions,
  signal: AbortSignal,
): Promise<void> {
  const patch = (current: JsonValue): JsonValue => {
    const pod = current as unknown as ApiObject;
    checkPreconditions(target.resource, pod, Number(pod.metadata.resourceVersion), deletion);
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: "EvictionByEvictionAPI",
      message: "Eviction API: evicting",
    } as const;
    const marked = withCondition(pod, condition, registry.clock.now());
    return marked as unknown as JsonValue;
  };
  const options = { ...writeOptions, fieldValidation: "Ignore" as const };
  const request = { ...target, subresource: "status", options, patch };
  const { revision } = await patchObject(registry, request, signal);
  const isVersioned = deletion.preconditions?.resourceVersion !== undefined;
  const final = isVersioned ? withVersion(deletion, String(revision)) : deletion;
  await deleteObject(registry, { ...target, options: final }, signal);
}

/** The options inside the Eviction; a dry run may be requested there or in the query. */
function deleteOptionsOf(naming: Naming, { object, options }: ActionRequest): DeleteOptions {
  const sent = (object as EvictionObject).deleteOptions ?? {};
  const { dryRun = [], gracePeriodSeconds, preconditions } = sent;
  const { orphanDependents, propagationPolicy } = sent;
  const errors = dryRun
    .filter((value) => value !== "All")
    .map((value) => unsupportedValue("dryRun", value, ["All"]));
  if (errors.length > 0) throw invalidOptions(naming, "DeleteOptions", errors);
  return checkDeleteOptions(naming, {
    gracePeriodSeconds,
    preconditions,
    orphanDependents,
    propagationPolicy,
    isDryRun: options.isDryRun || dryRun.length > 0,
  });
}
