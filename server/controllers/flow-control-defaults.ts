/**
 * The default flow schemas and priority levels, and the status of flow schemas. Mandatory ones are
 * restored whenever they differ. Suggested ones are created if missing and updated with this release
 * until someone takes them over: the annotation `apf.<domain>/autoupdate-spec` says "true" or "false";
 * without it a user's change of the specification takes them over. Objects that it marks as ours, and
 * that are no defaults of this release, are removed.
 *
 * Runs in every replica: all have the same goal, and compare-and-swap decides conflicts.
 */

import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { formatTime } from "../api/time.js";
import { mandatoryObjects, suggestedObjects } from "../flowcontrol/default-objects.js";
import { isSameSpec } from "../registry/flowcontrol/fixed-specs.js";
import { eachInTurn } from "./each-in-turn.js";
import { untilDone } from "./lost-race.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

/** Changes are noticed at once; the interval is for failed syncs. */
const INTERVAL_MS = 60_000;
const DANGLING = "Dangling";

/** Objects that are written at a time. */
const AT_ONCE = 8;

export type FlowControlLoopParts = LoopParts & { readonly naming: Naming };

/** Once, before a replica is ready. @throws {StatusError} */
export async function ensureFlowControl(
  parts: FlowControlLoopParts,
  signal: AbortSignal,
): Promise<void> {
  const work = () => ensureFlowControlDefaults({ ...parts, signal });
  await untilDone(parts.objects, work, signal);
}

/** Maintains them until the signal aborts. */
export async function runFlowControlDefaults(
  { naming, ...parts }: FlowControlLoopParts,
  signal: AbortSignal,
): Promise<void> {
  const kinds = kindsOf(parts.objects, naming);
  const all = { concerns: () => true };
  await runSyncLoop(
    {
      ...parts,
      name: "flow-control-defaults",
      watches: [
        { resource: kinds.levels, ...all },
        { resource: kinds.schemas, ...all },
      ],
      intervalMs: INTERVAL_MS,
      async sync() {
        await ensureFlowControlDefaults({ ...parts, naming, signal });
        return undefined;
      },
    },
    signal,
  );
}

type Work = FlowControlLoopParts & { readonly signal: AbortSignal };

/** Once. Reads are as fresh as the view. */
export async function ensureFlowControlDefaults(work: Work): Promise<void> {
  const { objects, naming } = work;
  const { levels, schemas } = kindsOf(objects, naming);
  const [mandatory, suggested] = [mandatoryObjects(naming), suggestedObjects(naming)];
  const wanted = [
    ...mandatory.levels.map((one) => () => ensure(work, levels, one, true)),
    ...suggested.levels.map((one) => () => ensure(work, levels, one, false)),
    ...mandatory.schemas.map((one) => () => ensure(work, schemas, one, true)),
    ...suggested.schemas.map((one) => () => ensure(work, schemas, one, false)),
  ];
  const steps = [
    () => eachInTurn(wanted, (step) => step(), AT_ONCE),
    () => removeUnwanted(work, schemas, [...mandatory.schemas, ...suggested.schemas]),
    () => removeUnwanted(work, levels, [...mandatory.levels, ...suggested.levels]),
    () => markDangling(work, levels, schemas),
  ];
  await eachInTurn(steps, (step) => step());
}

function kindsOf(objects: ObjectsApi, naming: Naming) {
  const group = `flowcontrol.apiserver.${naming.groupDomain}`;
  const levels = objects.resource(group, "prioritylevelconfigurations");
  return { levels, schemas: objects.resource(group, "flowschemas") };
}

async function ensure(
  { objects, naming, signal }: Work,
  resource: ControlledResource,
  wanted: ApiObject,
  isMandatory: boolean,
): Promise<void> {
  const annotation = annotationOf(naming);
  const key = { namespace: "", name: wanted.metadata.name ?? "" };
  if (objects.metadata(resource, key) === "unreadable") return;
  const existing = objects.get(resource, key);
  if (existing === undefined) {
    const metadata = { ...wanted.metadata, annotations: { [annotation]: "true" } };
    await objects.create(resource, { ...wanted, metadata }, signal);
    return;
  }
  const { annotations = {}, generation } = existing.metadata;
  const says = parseFlag(annotations[annotation]);
  const isOurs = isMandatory || (says ?? generation === 1);
  const isMarked = says === isOurs;
  const isAsWanted = !isOurs || hasSameSpec(wanted, existing);
  if (isMarked && isAsWanted) return;
  const metadata = isMarked
    ? existing.metadata
    : { ...existing.metadata, annotations: { ...annotations, [annotation]: String(isOurs) } };
  const spec = isAsWanted ? existing.spec : wanted.spec;
  await objects.update(resource, { ...existing, metadata, spec }, "", signal);
}

/** Takes away what an earlier release suggested, as far as no operator has taken it over. */
async function removeUnwanted(
  { objects, naming, signal }: Work,
  resource: ControlledResource,
  wanted: readonly ApiObject[],
): Promise<void> {
  const names = new Set(wanted.map(({ metadata }) => metadata.name));
  await eachInTurn(objects.list(resource, ""), async ({ metadata }) => {
    if (names.has(metadata.name)) return;
    if (parseFlag(metadata.annotations?.[annotationOf(naming)]) !== true) return;
    const key = { namespace: "", name: metadata.name ?? "" };
    await objects.remove(resource, key, { propagationPolicy: "Background" }, signal);
  });
}

function annotationOf({ labelDomain }: Naming): string {
  return `apf.${labelDomain}/autoupdate-spec`;
}

/** As Go's ParseBool; undefined = neither. */
function parseFlag(text: string | undefined): boolean | undefined {
  if (/^(1|t|T|true|True|TRUE)$/.test(text ?? "")) return true;
  return /^(0|f|F|false|False|FALSE)$/.test(text ?? "") ? false : undefined;
}

/** The shares of the exempt level are the operator's. */
function hasSameSpec(wanted: ApiObject, stored: ApiObject): boolean {
  if (wanted.metadata.name !== "exempt" || wanted.kind !== "PriorityLevelConfiguration") {
    return isSameSpec(wanted.spec, stored.spec);
  }
  return (stored.spec as { readonly exempt?: unknown } | undefined)?.exempt !== undefined;
}

/** A schema with a missing level matches no request; its status says so. */
async function markDangling(
  { objects, clock, signal }: Work,
  levels: ControlledResource,
  schemas: ControlledResource,
): Promise<void> {
  const mark = async (schema: ApiObject) => {
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
    if (known !== undefined && isIncluded(wanted, known)) return;
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
  };
  await eachInTurn(objects.list(schemas, ""), mark, AT_ONCE);
}

function isIncluded(wanted: JsonObject, known: JsonObject): boolean {
  return Object.entries(wanted).every(([member, value]) => known[member] === value);
}
