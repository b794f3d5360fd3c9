/**
 * The namespace controller: empties a namespace under deletion and then releases it (S1-GEN-19).
 *
 * A pass over a terminating namespace deletes its content, pods before the rest, because their shutdown
 * may need other content. If nothing is left, it removes our finalizer from `spec.finalizers`, which
 * deletes the namespace. Servers behind APIServices are asked to delete what they keep of it, as theirs is part of
 * it as well. Leftovers (others' finalizers, pods shutting down) are reported as conditions
 * and checked again, soon while there is progress, then more and more rarely.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { ShortTurns } from "../../storage/base/short-turns.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import {
  type Leftovers,
  type NamespaceCondition,
  namespaceConditions,
} from "./namespace-conditions.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import { WorkQueue } from "./work-queue.js";

interface NamespaceObject extends ApiObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: string; conditions?: NamespaceCondition[] };
}

export interface NamespaceControllerOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What other servers keep; absent = there are none. */
  readonly remote?: RemoteContent | undefined;
}

/** Content of namespaces in servers behind APIServices. */
export interface RemoteContent {
  /** Deletes what they have of the namespace, and says what is left. Rejects only if the signal aborts. */
  sweep(namespace: string, signal: AbortSignal): Promise<Leftovers>;
}

/**
 * Namespaces emptied at once: one that is huge, or whose contents a slow server keeps, holds up no other.
 * kube-controller-manager's number.
 */
const WORKERS = 10;

/** Runs until the signal aborts. */
export async function runNamespaceController(
  options: NamespaceControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock, logger } = options;
  const namespaces = objects.resource("", "namespaces");
  const queue = new WorkQueue(clock);
  const left = new Map<string, number>();
  const watching = objects.watch(
    namespaces,
    ({ name }) => {
      if (isTerminating(objects.get(namespaces, { namespace: "", name }))) queue.add(name);
    },
    signal,
  );
  const empty = async (name: string) => {
    try {
      const remaining = await emptyNamespace(options, namespaces, name, signal);
      // Frequent checks pay while the number decreases.
      if (remaining === 0 || remaining !== left.get(name)) queue.forget(name);
      if (remaining === 0) left.delete(name);
      else {
        left.set(name, remaining);
        queue.retry(name);
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ namespace: name, err: error }, "emptying a namespace failed, trying again");
      queue.retry(name);
    }
  };
  await Promise.all([watching, queue.run(empty, signal, WORKERS)]);
}

function isTerminating(namespace: ApiObject | undefined): boolean {
  return (namespace?.metadata.deletionTimestamp ?? "") !== "";
}

/** @returns the number of remaining objects; 0 = the namespace needs no more work */
async function emptyNamespace(
  { objects, naming, clock, remote }: NamespaceControllerOptions,
  namespaces: ControlledResource,
  name: string,
  signal: AbortSignal,
): Promise<number> {
  await objects.refresh();
  const namespace = objects.get(namespaces, { namespace: "", name }) as NamespaceObject | undefined;
  if (namespace === undefined || !isTerminating(namespace)) return 0;
  const finalizers = namespace.spec?.finalizers ?? [];
  if (!finalizers.includes(naming.namespaceFinalizer)) return 0;

  const { uid = "" } = namespace.metadata;
  const object = { group: "", resource: "namespaces", namespace: "", name, uid };
  const ending = objects.because({ by: "namespace-deletion", name: "", object });
  const leftovers = await deleteContent(ending, remote, name, signal);
  const { count, failures, undiscovered } = leftovers;
  if (count === 0 && failures.length === 0 && undiscovered.size === 0) {
    const spec = { finalizers: finalizers.filter((item) => item !== naming.namespaceFinalizer) };
    await tolerateChange(ending.update(namespaces, { ...namespace, spec }, "finalize", signal));
    return 0;
  }
  const conditions = namespaceConditions(
    leftovers,
    namespace.status?.conditions ?? [],
    clock.now(),
  );
  if (conditions !== undefined) {
    const status = { ...namespace.status, conditions };
    await tolerateChange(objects.update(namespaces, { ...namespace, status }, "status", signal));
  }
  return Math.max(leftovers.count, 1);
}

/** Another client wrote or deleted the namespace: the watch triggers another pass. */
async function tolerateChange(writing: Promise<unknown>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!(error instanceof StatusError) || (error.code !== 409 && error.code !== 404)) throw error;
  }
}

async function deleteContent(
  objects: ObjectsApi,
  remote: RemoteContent | undefined,
  namespace: string,
  signal: AbortSignal,
): Promise<Leftovers> {
  const resources = objects.resources.filter(
    ({ isNamespaced, verbs }) => isNamespaced && verbs.includes("deletecollection"),
  );
  const isPods = ({ group, resource }: ControlledResource) => group === "" && resource === "pods";
  const failures: string[] = [];
  const sweep = async (swept: readonly ControlledResource[]) => {
    for (const resource of swept) {
      if (objects.count(resource, namespace) === 0) continue;
      try {
        await objects.deleteAll(resource, namespace, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof StatusError)) throw error;
        failures.push(error.message);
      }
    }
    await objects.refresh();
  };
  await sweep(resources.filter(isPods));
  if (resources.filter(isPods).every((pods) => objects.count(pods, namespace) === 0)) {
    await sweep(resources.filter((resource) => !isPods(resource)));
  }
  const others = await remote?.sweep(namespace, signal);
  const own = await inventory(objects, resources, namespace, failures);
  return others === undefined ? own : together(own, others);
}

function together(own: Leftovers, others: Leftovers): Leftovers {
  const byFinalizer = new Map(own.byFinalizer);
  for (const [finalizer, count] of others.byFinalizer) {
    byFinalizer.set(finalizer, (byFinalizer.get(finalizer) ?? 0) + count);
  }
  return {
    count: own.count + others.count,
    byResource: new Map([...own.byResource, ...others.byResource]),
    byFinalizer,
    failures: [...own.failures, ...others.failures],
    undiscovered: others.undiscovered,
  };
}

/** Different finalizers that are counted: objects may have tens of thousands each, and a message tells few. */
const FINALIZERS_MAX = 10_000;

async function inventory(
  objects: ObjectsApi,
  resources: readonly ControlledResource[],
  namespace: string,
  failures: readonly string[],
): Promise<Leftovers> {
  const turns = new ShortTurns();
  const byResource = new Map<string, number>();
  const byFinalizer = new Map<string, number>();
  let count = 0;
  for (const resource of resources) {
    const left = objects.count(resource, namespace);
    if (left === 0) continue;
    count += left;
    byResource.set(`${resource.resource}.${resource.group}`, left);
    for (const { finalizers } of objects.allMetadata(resource, namespace)) {
      await turns.yieldIfLong();
      for (const finalizer of finalizers ?? []) {
        const before = byFinalizer.get(finalizer);
        if (before === undefined && byFinalizer.size === FINALIZERS_MAX) continue;
        byFinalizer.set(finalizer, (before ?? 0) + 1);
      }
    }
  }
  return { count, byResource, byFinalizer, failures, undiscovered: new Map() };
}
