/**
 * Objects that every active namespace has, for example its default service account: created with
 * the namespace, recreated after deletion, and repaired if their contents are fixed.
 */
import { type Clock, runAtIntervals } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject } from "../api/meta.js";
import { isNamespaceTerminating, StatusError } from "../api/status.js";
import type { ObjectsApi } from "./objects-api.js";
import { WorkQueue } from "./work-queue.js";

/** One object per namespace. */
export interface NamespaceDefault {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  /**
   * Returns the object to write, without a namespace.
   * @param current the existing object @returns undefined if that needs no change
   */
  shape(current: ApiObject | undefined): ApiObject | undefined;
}

export interface NamespaceDefaultOptions {
  readonly objects: ObjectsApi;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wanted: NamespaceDefault;
}

/** New namespaces often come in bulk. */
const CONCURRENCY = 4;

/** The wanted object may depend on a file, which changes without an event. */
const RECHECK_MS = 600_000;

/** Runs until the signal aborts. */
export async function runNamespaceDefault(
  { objects, clock, logger, wanted }: NamespaceDefaultOptions,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = objects.resource("", "namespaces");
  const resource = objects.resource(wanted.group, wanted.resource);
  const queue = new WorkQueue(clock);
  /** The object to write and the one it replaces; undefined if no change is needed. */
  const lookAt = (namespace: string) => {
    if (!isActive(objects.get(namespaces, { namespace: "", name: namespace }))) return undefined;
    const place = { namespace, name: wanted.name };
    // It exists, but someone must repair it first.
    if (objects.metadata(resource, place) === "unreadable") return undefined;
    const current = objects.get(resource, place);
    const next = wanted.shape(current);
    return next === undefined ? undefined : { current, next };
  };
  const ensure = async (namespace: string) => {
    // If memory shows no need, a later change triggers another check.
    if (lookAt(namespace) === undefined) return;
    await objects.refresh();
    const change = lookAt(namespace);
    if (change === undefined) return;
    const { current, next } = change;
    const object = { ...next, metadata: { ...next.metadata, namespace } };
    if (current === undefined) await objects.create(resource, object, signal);
    else await objects.update(resource, object, "", signal);
  };
  const watchingNamespaces = objects.watch(namespaces, ({ name }) => queue.add(name), signal);
  const watchingObjects = objects.watch(
    resource,
    ({ namespace, name }) => {
      if (name === wanted.name) queue.add(namespace);
    },
    signal,
  );
  const working = queue.run(
    async (namespace) => {
      try {
        await ensure(namespace);
        queue.forget(namespace);
      } catch (error) {
        if (signal.aborted || isOver(error)) return queue.forget(namespace);
        const isRace = error instanceof StatusError && error.code === 409;
        const what = `${wanted.resource}/${wanted.name}`;
        if (!isRace) logger.warn({ namespace, what, err: error }, "making a default failed");
        // An immutable object of that name: only a change of it can help.
        if (error instanceof StatusError && error.code === 422) return queue.forget(namespace);
        queue.retry(namespace);
      }
    },
    signal,
    CONCURRENCY,
  );
  const addAll = () => {
    for (const { metadata } of objects.list(namespaces, "")) queue.add(metadata.name ?? "");
  };
  const rechecking = runAtIntervals({ clock, intervalMs: RECHECK_MS }, addAll, signal);
  await Promise.all([watchingNamespaces, watchingObjects, working, rechecking]);
}

/** Once, in each active namespace, without a loop. @throws {StatusError} */
export async function ensureNamespaceDefault(
  objects: ObjectsApi,
  wanted: NamespaceDefault,
  signal: AbortSignal,
): Promise<void> {
  const resource = objects.resource(wanted.group, wanted.resource);
  const namespaces = objects.list(objects.resource("", "namespaces"), "").filter(isActive);
  await Promise.all(
    namespaces.map(async ({ metadata: { name: namespace = "" } }) => {
      if (objects.metadata(resource, { namespace, name: wanted.name }) !== undefined) return;
      const object = wanted.shape(undefined);
      if (object === undefined) return;
      const metadata = { ...object.metadata, namespace };
      await objects.create(resource, { ...object, metadata }, signal);
    }),
  );
}

function isActive(namespace: ApiObject | undefined): boolean {
  return namespace !== undefined && (namespace.metadata.deletionTimestamp ?? "") === "";
}

/** The namespace is gone or terminating. */
function isOver(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 404 || isNamespaceTerminating(error));
}
