/**
 * Objects that every active namespace has, such as its default service account: made with the
 * namespace, made again when somebody deletes them, and kept in shape where they have one.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject } from "../api/meta.js";
import { StatusError } from "../api/status.js";
import type { ObjectsApi } from "./objects-api.js";
import { WorkQueue } from "./work-queue.js";

/** One object per namespace. */
export interface NamespaceDefault {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  /**
   * What to write, without a namespace.
   * @param current what is there @returns undefined when that is good as it is
   */
  shape(current: ApiObject | undefined): ApiObject | undefined;
}

export interface NamespaceDefaultOptions {
  readonly objects: ObjectsApi;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wanted: NamespaceDefault;
}

/** New namespaces often come many at a time. */
const CONCURRENCY = 4;

/** What an object is to be may change with a file that nobody tells us of. */
const RECHECK_MS = 600_000;

/** Runs until the signal aborts. */
export async function runNamespaceDefault(
  { objects, clock, logger, wanted }: NamespaceDefaultOptions,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = objects.resource("", "namespaces");
  const resource = objects.resource(wanted.group, wanted.resource);
  const queue = new WorkQueue(clock);
  /** What to write there, with what it replaces; undefined when all is well. */
  const lookAt = (namespace: string) => {
    if (!isActive(objects.get(namespaces, { namespace: "", name: namespace }))) return undefined;
    const place = { namespace, name: wanted.name };
    // It is there, but somebody must repair it first.
    if (objects.metadata(resource, place) === "unreadable") return undefined;
    const current = objects.get(resource, place);
    const next = wanted.shape(current);
    return next === undefined ? undefined : { current, next };
  };
  const ensure = async (namespace: string) => {
    // Where memory shows that all is well, a change that it does not know yet brings us back.
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
        // An immutable object of that name: only its change can change that.
        if (error instanceof StatusError && error.code === 422) return queue.forget(namespace);
        queue.retry(namespace);
      }
    },
    signal,
    CONCURRENCY,
  );
  const rechecking = recheck(() => {
    for (const { metadata } of objects.list(namespaces, "")) queue.add(metadata.name ?? "");
  });
  await Promise.all([watchingNamespaces, watchingObjects, working, rechecking]);

  async function recheck(addAll: () => void): Promise<void> {
    while (!signal.aborted) {
      try {
        await clock.sleep(RECHECK_MS, signal);
        addAll();
      } catch {
        return;
      }
    }
  }
}

function isActive(namespace: ApiObject | undefined): boolean {
  return namespace !== undefined && (namespace.metadata.deletionTimestamp ?? "") === "";
}

/** The namespace went meanwhile, or is about to. */
function isOver(error: unknown): boolean {
  return error instanceof StatusError && (error.code === 404 || error.code === 403);
}
