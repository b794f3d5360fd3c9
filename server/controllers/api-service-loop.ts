/**
 * The APIServices for this server's own group-versions: one each, created and removed with it, so that
 * clients find every group-version in one place. Other APIServices are left alone but for their
 * status: aggregation/aggregation.ts checks the servers behind them, and reportAvailability writes what
 * it found.
 */

import type { Clock } from "../../storage/base/clock.js";
import { deepEqual } from "../api/deep-equal.js";
import type { ApiObject, JsonObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import { formatTime } from "../api/time.js";
import { eachInTurn } from "./each-in-turn.js";
import { untilDone } from "./lost-race.js";
import type { ControlledResource, ObjectsApi } from "./objects-api.js";
import { type LoopParts, runSyncLoop } from "./sync-loop.js";

export interface LocalGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Added at run time and removable. */
  readonly isCustom: boolean;
}

export interface ApiServiceLoopOptions extends LoopParts {
  readonly naming: Naming;
  /** The served group-versions; the same array until they change. */
  readonly served: () => readonly LocalGroupVersion[];
}

/**
 * Definitions change without a write of an APIService; this interval is how soon that is noticed. An unchanged
 * list costs nothing.
 */
const INTERVAL_MS = 1_000;

/**
 * Once, before a replica is ready. Replicas that start together have the same goal: who comes second finds
 * the work done. @throws {StatusError}
 */
export async function ensureApiServices(
  { naming, served, ...parts }: ApiServiceLoopOptions,
  signal: AbortSignal,
): Promise<void> {
  const resource = apiServicesOf(parts.objects, naming);
  const work = { ...parts, resource, label: labelOf(naming), signal };
  await untilDone(parts.objects, () => keepUp(work, served()), signal);
}

function labelOf({ labelDomain }: Naming): string {
  return `kube-aggregator.${labelDomain}/automanaged`;
}

/** Maintains them until the signal aborts. Runs in the leading process. */
export async function runApiServices(
  { naming, served, ...parts }: ApiServiceLoopOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects } = parts;
  const resource = apiServicesOf(objects, naming);
  const work = { ...parts, resource, label: labelOf(naming), signal };
  /** The list at the last sync, unless an APIService was written since. */
  let seen: readonly LocalGroupVersion[] | undefined;
  await runSyncLoop(
    {
      ...parts,
      name: "api-services",
      watches: [
        {
          resource,
          concerns() {
            seen = undefined;
            return true;
          },
        },
      ],
      intervalMs: INTERVAL_MS,
      async sync() {
        const now = served();
        if (now === seen) return undefined;
        seen = now;
        try {
          await keepUp(work, now);
        } catch (error) {
          seen = undefined;
          throw error;
        }
        return undefined;
      },
    },
    signal,
  );
}

/** APIServices that are written at a time. */
const AT_ONCE = 8;

interface Work extends LoopParts {
  readonly resource: ControlledResource;
  readonly label: string;
  readonly signal: AbortSignal;
}

async function keepUp(work: Work, served: readonly LocalGroupVersion[]): Promise<void> {
  const { objects, resource, label, signal } = work;
  const wanted = new Map(served.map((one) => [`${one.version}.${one.group}`, one]));
  const unwanted = objects
    .list(resource, "")
    .filter(({ metadata }) => metadata.labels?.[label] && !wanted.has(metadata.name ?? ""));
  const steps = [
    ...unwanted.map(({ metadata: { name = "", uid } }) => () => {
      const options = { propagationPolicy: "Background" as const, ...(uid && { uid }) };
      return objects.remove(resource, { namespace: "", name }, options, signal);
    }),
    ...[...wanted].map(
      ([name, one]) =>
        () =>
          ensure(work, name, one),
    ),
  ];
  await eachInTurn(steps, (step) => step(), AT_ONCE);
}

async function ensure(
  { objects, clock, resource, label, signal }: Work,
  name: string,
  one: LocalGroupVersion,
): Promise<void> {
  const { group, version, groupPriority, versionPriority, isCustom } = one;
  const spec = {
    ...(group !== "" && { group }),
    version,
    groupPriorityMinimum: groupPriority,
    versionPriority,
  };
  let existing = objects.get(resource, { namespace: "", name });
  // Someone else's APIService covers the group-version.
  if (existing !== undefined && existing.metadata.labels?.[label] === undefined) return;
  if (existing === undefined) {
    const metadata = { name, labels: { [label]: isCustom ? "true" : "onstart" } };
    const made = {
      kind: resource.kind,
      apiVersion: `${resource.group}/${resource.version}`,
      metadata,
      spec,
    };
    try {
      existing = await objects.create(resource, made, signal);
    } catch (error) {
      // Another replica's, or one that cannot be read: in either case the others go on.
      const isThere = error instanceof StatusError && error.reason === "AlreadyExists";
      if (isThere) return;
      throw error;
    }
  } else if (!deepEqual({ ...(existing.spec as object) }, spec)) {
    existing = await objects.update(resource, { ...existing, spec }, "", signal);
  }
  const isLocal = {
    isAvailable: true,
    reason: "Local",
    message: "Local APIServices are always available",
  };
  await writeAvailability({ objects, clock, resource, signal }, existing, isLocal);
}

export interface ReportedAvailability {
  readonly isAvailable: boolean;
  readonly reason: string;
  readonly message: string;
}

/** Writes the result of an availability check into the status; does nothing if the service is gone. @throws {StatusError} */
export async function reportAvailability(
  { objects, clock, naming }: { objects: ObjectsApi; clock: Clock; naming: Naming },
  name: string,
  found: ReportedAvailability,
  signal: AbortSignal,
): Promise<void> {
  const resource = apiServicesOf(objects, naming);
  const existing = objects.get(resource, { namespace: "", name });
  if (existing === undefined) return;
  await writeAvailability({ objects, clock, resource, signal }, existing, found);
}

async function writeAvailability(
  { objects, clock, resource, signal }: Pick<Work, "objects" | "clock" | "resource" | "signal">,
  existing: ApiObject,
  { isAvailable, reason, message }: ReportedAvailability,
): Promise<void> {
  const status = (existing.status ?? {}) as { conditions?: readonly JsonObject[] };
  const conditions = status.conditions ?? [];
  const known = conditions.find(({ type }) => type === "Available");
  const wanted = isAvailable ? "True" : "False";
  const isSame = known?.status === wanted && known.reason === reason && known.message === message;
  if (isSame) return;
  const lastTransitionTime =
    known?.status === wanted ? known.lastTransitionTime : formatTime(clock.now());
  const next = [
    ...conditions.filter(({ type }) => type !== "Available"),
    { type: "Available", status: wanted, lastTransitionTime, reason, message },
  ];
  await objects.update(
    resource,
    { ...existing, status: { ...status, conditions: next } },
    "status",
    signal,
  );
}

function apiServicesOf(objects: ObjectsApi, naming: Naming): ControlledResource {
  return objects.resource(`apiregistration.${naming.groupDomain}`, "apiservices");
}
