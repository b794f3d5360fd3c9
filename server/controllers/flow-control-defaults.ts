/**
 * The default flow schemas and priority levels, and the status of flow schemas. Mandatory ones are
 * restored whenever they differ. Suggested ones are created if missing and updated with this release
 * until someone takes them over: the annotation `apf.<domain>/autoupdate-spec` says "true" or "false";
 * without it a user's change of the specification takes them over.
 *
 * Runs in every replica: all have the same goal, and compare-and-swap decides conflicts.
 */

import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { formatTime } from "../api/time.js";
import { mandatoryObjects, suggestedObjects } from "../flowcontrol/default-objects.js";
import type { ControlledResource } from "./objects-api.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

/** Changes are noticed at once; the interval is for failed syncs. */
const INTERVAL_MS = 60_000;
const DANGLING = "Dangling";

export type FlowControlLoopParts = LoopParts & { readonly naming: Naming };

/** Maintains them until the signal aborts. */
export async function runFlowControlDefaults(
  { naming, ...parts }: FlowControlLoopParts,
  signal: AbortSignal,
): Promise<void> {
  const { objects } = parts;
  const group = `flowcontrol.apiserver.${naming.groupDomain}`;
  const find = (resource: string) =>
    objects.resources.find((one) => one.group === group && one.resource === resource);
  const levels = find("prioritylevelconfigurations");
  const schemas = find("flowschemas");
  // The group may be disabled by flag.
  if (levels === undefined || schemas === undefined) return;
  const all = { concerns: () => true };
  await runSyncLoop(
    {
      ...parts,
      name: "flow-control-defaults",
      watches: [
        { resource: levels, ...all },
        { resource: schemas, ...all },
      ],
      intervalMs: INTERVAL_MS,
      async sync() {
        const work = { ...parts, naming, signal };
        const [mandatory, suggested] = [mandatoryObjects(naming), suggestedObjects(naming)];
        for (const one of mandatory.levels) await ensure(work, levels, one, true);
        for (const one of suggested.levels) await ensure(work, levels, one, false);
        for (const one of mandatory.schemas) await ensure(work, schemas, one, true);
        for (const one of suggested.schemas) await ensure(work, schemas, one, false);
        await markDangling(work, levels, schemas);
        return undefined;
      },
    },
    signal,
  );
}

type Work = FlowControlLoopParts & { readonly signal: AbortSignal };

async function ensure(
  { objects, naming, signal }: Work,
  resource: ControlledResource,
  wanted: ApiObject,
  isMandatory: boolean,
): Promise<void> {
  const annotation = `apf.${naming.labelDomain}/autoupdate-spec`;
  const existing = objects.get(resource, { namespace: "", name: wanted.metadata.name ?? "" });
  if (existing === undefined) {
    const metadata = { ...wanted.metadata, annotations: { [annotation]: "true" } };
    await objects.create(resource, { ...wanted, metadata }, signal);
    return;
  }
  const { annotations = {}, generation } = existing.metadata;
  const says = annotations[annotation];
  const isOurs = says === "true" || (says === undefined && generation === 1);
  // The API rejects changes of a mandatory specification, except for the shares of `exempt`.
  if (!isOurs && !(isMandatory && says === undefined)) return;
  const isAsWanted = says === "true" && isCovered(wanted.spec, existing.spec);
  if (isAsWanted) return;
  const metadata = {
    ...existing.metadata,
    annotations: { ...annotations, [annotation]: "true" },
  };
  await objects.update(resource, { ...existing, metadata, spec: wanted.spec }, "", signal);
}

/** Whether the stored value includes everything wanted; it may have defaults besides. */
function isCovered(wanted: unknown, stored: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(stored) &&
      wanted.length === stored.length &&
      wanted.every((item, index) => isCovered(item, stored[index]))
    );
  }
  if (typeof wanted !== "object" || wanted === null) return deepEqual(wanted, stored);
  if (typeof stored !== "object" || stored === null) return false;
  return Object.entries(wanted).every(([member, value]) =>
    isCovered(value, (stored as Record<string, unknown>)[member]),
  );
}

/** A schema with a missing level matches no request; its status says so. */
async function markDangling(
  { objects, clock, signal }: Work,
  levels: ControlledResource,
  schemas: ControlledResource,
): Promise<void> {
  for (const schema of objects.list(schemas, "")) {
    const spec = (schema.spec ?? {}) as { priorityLevelConfiguration?: { name?: string } };
    const name = spec.priorityLevelConfiguration?.name ?? "";
    const isDangling = objects.get(levels, { namespace: "", name }) === undefined;
    const reference = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(name)}`;
    const wanted = {
      type: DANGLING,
      status: isDangling ? "True" : "False",
      reason: isDangling ? "NotFound" : "Found",
      message: isDangling
        ? `${reference} but there is no such object`
        : `${reference} and it exists`,
    };
    const status = (schema.status ?? {}) as { conditions?: readonly JsonObject[] };
    const conditions = status.conditions ?? [];
    const known = conditions.find(({ type }) => type === DANGLING);
    if (isCovered(wanted, known)) continue;
    const lastTransitionTime =
      known?.status === wanted.status ? known.lastTransitionTime : formatTime(clock.now());
    const next = [
      ...conditions.filter(({ type }) => type !== DANGLING),
      { ...wanted, lastTransitionTime },
    ];
    await objects.update(
      schemas,
      { ...schema, status: { ...status, conditions: next } },
      "status",
      signal,
    );
  }
}
