/**
 * What a claim is filled from, which two fields say: the older one takes claims and snapshots alone, the newer one
 * anything. Each is the copy of the other, so that clients of either find it (R36).
 */
import { isRecord } from "../../../storage/base/is-record.js";
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";

type Members = Record<string, unknown>;

/** @param current undefined for a new claim */
export function alignClaimSources(
  next: ApiObject,
  current: ApiObject | undefined,
  { groupDomain }: Naming,
): void {
  const { spec } = next;
  if (!isRecord(spec)) return;
  const before: Members = isRecord(current?.spec) ? current.spec : {};
  const hadReference = isRecord(before.dataSourceRef);
  // Sources of other namespaces are off in this release.
  if (!hadReference && namespaceOf(spec.dataSourceRef) !== "") delete spec.dataSourceRef;
  const hadSource = hadReference || isRecord(before.dataSource);
  if (!hadSource && !isRecord(spec.dataSourceRef) && !isOldSource(spec.dataSource, groupDomain)) {
    delete spec.dataSource;
  }
  if (isRecord(spec.dataSource) && !isRecord(spec.dataSourceRef)) {
    spec.dataSourceRef = copyOf(spec.dataSource);
  } else if (isRecord(spec.dataSourceRef) && !isRecord(spec.dataSource)) {
    if (namespaceOf(spec.dataSourceRef) === "") spec.dataSource = copyOf(spec.dataSourceRef);
  }
}

function namespaceOf(source: unknown): string {
  return isRecord(source) && typeof source.namespace === "string" ? source.namespace : "";
}

function isOldSource(source: unknown, groupDomain: string): boolean {
  if (!isRecord(source)) return false;
  const { apiGroup, kind } = source;
  if (kind === "PersistentVolumeClaim") return (apiGroup ?? "") === "";
  return kind === "VolumeSnapshot" && apiGroup === `snapshot.storage.${groupDomain}`;
}

function copyOf({ apiGroup, kind, name }: Members): Members {
  return { apiGroup: apiGroup ?? null, kind, name };
}
