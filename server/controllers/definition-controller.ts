/**
 * The loop of CustomResourceDefinitions. It deletes the objects of a definition under deletion and then
 * removes its finalizer. It also rewrites a definition with conflicting names when another one changes,
 * because a write computes the status again.
 *
 *   Terminating ─► delete all objects ─► none left? ── finalizer off ─► the definition goes
 *                        ▲ some wait for finalizers │
 *                        └──────────────────────────┘
 */

import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { formatTime } from "../api/time.js";
import { type Definition, isConditionTrue } from "../registry/apiextensions/definition.js";
import { Conditions, condition } from "../registry/apiextensions/definition-status.js";
import { cleanupFinalizer } from "../registry/apiextensions/definition-strategy.js";
import { isLostRace } from "./lost-race.js";
import type { ControlledResource } from "./objects-api.js";
import type { LoopParts } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

export interface DefinitionControllerOptions extends LoopParts {
  readonly naming: Naming;
}

/** Delay before objects with pending finalizers are checked again. */
const AGAIN_MS = 500;
/** Definitions at a time: those with many objects do not hold up the others. */
const WORKERS = 5;

/** Runs until the signal aborts. */
export async function runDefinitionController(
  options: DefinitionControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, clock, logger, naming } = options;
  const group = `apiextensions.${naming.groupDomain}`;
  const definitions = objects.resource(group, "customresourcedefinitions");
  const queue = new WorkQueue(clock);
  /** Definitions without accepted names. */
  const unnamed = new Set<string>();
  const watching = objects.watch(
    definitions,
    ({ name }) => {
      queue.add(name);
      for (const other of unnamed) if (groupOf(other) === groupOf(name)) queue.add(other);
    },
    signal,
  );
  const finalizer = cleanupFinalizer(naming);
  const working = queue.run(
    async (name) => {
      try {
        await objects.refresh();
        const definition = objects.get(definitions, { namespace: "", name });
        const parts = { ...options, definitions, finalizer };
        unnamed.delete(name);
        const isDone = definition === undefined || (await look(parts, definition, unnamed, signal));
        queue.forget(name);
        if (!isDone) queue.add(name, AGAIN_MS);
      } catch (error) {
        if (signal.aborted) return;
        if (!isLostRace(error)) {
          logger.warn({ definition: name, err: error }, "following a definition failed");
        }
        queue.retry(name);
      }
    },
    signal,
    WORKERS,
  );
  await Promise.all([watching, working]);
}

/** Of the name of a definition: names are free, or taken, within a group. */
function groupOf(name: string): string {
  return name.slice(name.indexOf(".") + 1);
}

interface Parts extends DefinitionControllerOptions {
  readonly definitions: ControlledResource;
  readonly finalizer: string;
}

/** @returns false if another look is needed later */
async function look(
  parts: Parts,
  definition: Definition,
  unnamed: Set<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const { objects, definitions, finalizer } = parts;
  const { metadata } = definition;
  if (metadata.deletionTimestamp !== undefined) {
    if (!(metadata.finalizers ?? []).includes(finalizer)) return true;
    return await cleanUp(parts, definition, signal);
  }
  if (isConditionTrue(definition, "NamesAccepted")) return true;
  const written: Definition = await objects.update(definitions, definition, "", signal);
  if (!isConditionTrue(written, "NamesAccepted")) unnamed.add(metadata.name ?? "");
  return true;
}

async function cleanUp(
  parts: Parts,
  definition: Definition,
  signal: AbortSignal,
): Promise<boolean> {
  const { objects, definitions, finalizer } = parts;
  const { spec, metadata } = definition;
  const resource = objects.resources.find(
    (one) => one.group === spec?.group && one.resource === spec.names?.plural,
  );
  // An established definition has a resource as soon as memory has the definition.
  if (resource === undefined && isConditionTrue(definition, "Established")) return false;
  if (resource !== undefined) {
    const { group, resource: plural } = definitions;
    const { name = "", uid = "" } = metadata;
    const object = { group, resource: plural, namespace: "", name, uid };
    const ending = objects.because({ by: "definition-deletion", name: "", object });
    await ending.deleteAll(resource, "", signal);
    await objects.refresh();
    if (objects.count(resource, "") > 0) {
      const message = "CustomResource deletion is in progress";
      const ongoing = condition("Terminating", "True", "InstanceDeletionInProgress", message);
      await tell(parts, definition, ongoing, signal);
      return false;
    }
  }
  const finalizers = (metadata.finalizers ?? []).filter((one) => one !== finalizer);
  // Whoever still holds the definition sees in it that its objects are gone.
  const held = finalizers.length === 0 ? definition : await tellCleaned(parts, definition, signal);
  const freed: ApiObject = { ...held, metadata: { ...held.metadata, finalizers } };
  await objects.update(definitions, freed, "", signal);
  return true;
}

async function tellCleaned(
  parts: Parts,
  definition: Definition,
  signal: AbortSignal,
): Promise<Definition> {
  const cleaned = condition(
    "Terminating",
    "False",
    "InstanceDeletionCompleted",
    "removed all instances",
  );
  return await tell(parts, definition, cleaned, signal);
}

async function tell(
  { objects, definitions, clock }: Parts,
  definition: Definition,
  told: ReturnType<typeof condition>,
  signal: AbortSignal,
): Promise<Definition> {
  const { status } = definition;
  const conditions = new Conditions(status?.conditions ?? [], formatTime(clock.now()));
  conditions.set(told);
  const next: ApiObject = { ...definition, status: { ...status, conditions: conditions.all } };
  return await objects.update(definitions, next, "status", signal);
}
