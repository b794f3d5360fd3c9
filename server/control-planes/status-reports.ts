/**
 * Reports how large the loaded control planes are, and when they were last used, into their status. Every replica
 * reports what it has in memory; what has hardly changed is not written. Reports are spread over time: fifty at once
 * would hold the thread for everybody.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Naming } from "../api/naming.js";
import { formatTime } from "../api/time.js";
import { isLostRace } from "../controllers/lost-race.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import type { ControlPlaneObject } from "./control-plane-index.js";
import type { ControlPlanes, LoadedControlPlane } from "./control-planes.js";
import { CONTROL_PLANES, controlPlaneGroup } from "./definition.js";

export interface StatusReportOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly planes: Pick<ControlPlanes, "loaded">;
}

/** In which each one is looked at once. */
export const INTERVAL_MS = 15_000;
/** A time that is later by less is not news. */
const USED_MS = 60_000;

/** Until the signal aborts. */
export async function runStatusReports(
  options: StatusReportOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, planes } = options;
  while (!signal.aborted) {
    const { loaded } = planes;
    if (loaded.length === 0) await clock.sleep(INTERVAL_MS, signal);
    for (const plane of loaded) {
      await clock.sleep(INTERVAL_MS / loaded.length, signal);
      if (planes.loaded.includes(plane)) await tryReport(options, plane, signal);
    }
  }
}

async function tryReport(
  options: StatusReportOptions,
  plane: LoadedControlPlane,
  signal: AbortSignal,
): Promise<void> {
  try {
    await report(options, plane, signal);
  } catch (error) {
    if (signal.aborted || isLostRace(error)) return;
    options.logger.warn({ controlPlane: plane.entry.name, err: error }, "no status was written");
  }
}

async function report(
  { objects, naming }: StatusReportOptions,
  { entry, usage, size, owesWork }: LoadedControlPlane,
  signal: AbortSignal,
): Promise<void> {
  const resource = objects.resource(controlPlaneGroup(naming), CONTROL_PLANES);
  const object = objects.get(resource, { namespace: "", name: entry.name }) as
    | ControlPlaneObject
    | undefined;
  if (object === undefined || object.metadata.uid !== entry.uid) return;
  const { status = {} } = object;
  const now = { ...size(), owesWork: owesWork() };
  const isUsed = usage.lastUsedMs - Date.parse(status.lastUsedTime ?? "") < USED_MS;
  const isSame = status.objects === now.objects && status.bytes === now.bytes;
  if (isSame && (status.owesWork ?? false) === now.owesWork && isUsed) return;
  const next = { ...status, ...now, lastUsedTime: formatTime(usage.lastUsedMs) };
  await objects.update(resource, { ...object, status: next } as typeof object, "status", signal);
}
