/**
 * Fields of pods whose features are off in release 1.36: what a client sends there is dropped from pods and from templates
 * of pods, unless the stored object uses the feature already, which then stays usable (R25, R44; pkg/api/pod/util.go).
 *
 *   lifecycle: { stopSignal: "SIGTERM" }                    no lifecycle
 *   lifecycle: { stopSignal: "SIGTERM", preStop: {...} }    lifecycle: { preStop: {...} }
 *   projected: { sources: [{ podCertificate: {...} }] }     projected: { sources: [{}] }
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";

type Members = Record<string, unknown>;

/** @param current undefined for a new pod */
export function dropGatedPodFields(next: ApiObject, current?: ApiObject): void {
  dropGatedSpecFields(next.spec, current?.spec);
  const { status } = next;
  if (!isRecord(status)) return;
  const before = isRecord(current?.status) ? current.status : {};
  drop("nodeAllocatableResourceClaimStatuses", [status], [before]);
  drop("volumeStatus", volumesInStatus(status), volumesInStatus(before));
}

/** @param current undefined or no object for new pods */
export function dropGatedSpecFields(next: unknown, current: unknown): void {
  if (!isRecord(next)) return;
  const before = isRecord(current) ? current : {};
  drop("schedulingGroup", [next], [before]);
  const owners = containersIn(next).filter(({ lifecycle }) => hasStopSignal(lifecycle));
  drop("stopSignal", lifecyclesOf(owners), lifecyclesOf(containersIn(before)));
  for (const owner of owners) {
    if (isRecord(owner.lifecycle) && Object.keys(owner.lifecycle).length === 0) {
      delete owner.lifecycle;
    }
  }
  const [sources, sourcesBefore] = [projectionsIn(next), projectionsIn(before)];
  drop("clusterTrustBundle", sources, sourcesBefore);
  drop("podCertificate", sources, sourcesBefore);
}

/** Drops a member, unless one of the owners before has it. */
function drop(name: string, owners: readonly Members[], before: readonly Members[]): void {
  const isUsed = (owner: Members) => (owner[name] ?? null) !== null;
  if (!owners.some(isUsed) || before.some(isUsed)) return;
  for (const owner of owners) delete owner[name];
}

function hasStopSignal(lifecycle: unknown): boolean {
  return isRecord(lifecycle) && (lifecycle.stopSignal ?? null) !== null;
}

function lifecyclesOf(containers: readonly Members[]): Members[] {
  return containers.map(({ lifecycle }) => lifecycle).filter(isRecord);
}

function containersIn(spec: Members): Members[] {
  return ["containers", "initContainers", "ephemeralContainers"].flatMap((name) =>
    itemsOf(spec[name]),
  );
}

function projectionsIn(spec: Members): Members[] {
  return itemsOf(spec.volumes).flatMap(({ projected }) =>
    isRecord(projected) ? itemsOf(projected.sources) : [],
  );
}

function volumesInStatus(status: Members): Members[] {
  const names = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
  return names
    .flatMap((name) => itemsOf(status[name]))
    .flatMap(({ volumeMounts }) => itemsOf(volumeMounts));
}

function itemsOf(list: unknown): Members[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
