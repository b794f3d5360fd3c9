/** Warnings about claims and volumes that are accepted, and deprecated or not meant. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyContext } from "../../kinds/strategy.js";

type Context = Pick<StrategyContext, "naming">;

interface Storage extends ApiObject {
  spec?: Readonly<Record<string, unknown>> & {
    readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
    readonly persistentVolumeReclaimPolicy?: string;
  };
}

/** Sources of volumes that no release of the last years could mount; `as` = how the path is spelled. */
const GONE: readonly (readonly [source: string, as: string, since: string, until: string])[] = [
  ["cephfs", "cephfs", "v1.28", "v1.31+"],
  ["photonPersistentDisk", "photonPersistentDisk", "v1.11", "v1.16+"],
  ["scaleIO", "scaleIO", "v1.16", "v1.22+"],
  ["storageos", "storageOS", "v1.22", "v1.25+"],
  ["glusterfs", "glusterfs", "v1.25", "v1.26+"],
  ["rbd", "rbd", "v1.28", "v1.31+"],
];

export function claimWarnings(next: ApiObject, _current: unknown, context: Context): string[] {
  const warnings = annotationWarnings(next, context, ["storage-class"]);
  const storage = (next as Storage).spec?.resources?.requests?.storage;
  if (storage?.endsWith("m")) {
    warnings.push(
      `spec.resources.requests[storage]: fractional byte value ${JSON.stringify(storage)} is invalid, must be an integer`,
    );
  }
  return warnings;
}

export function volumeWarnings(next: ApiObject, _current: unknown, context: Context): string[] {
  const { spec = {} } = next as Storage;
  const warnings = annotationWarnings(next, context, ["storage-class", "mount-options"]);
  if (spec.persistentVolumeReclaimPolicy === "Recycle") {
    warnings.push(
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    );
  }
  for (const [source, as, since, until] of GONE) {
    if (!spec[source]) continue;
    warnings.push(`spec.${as}: deprecated in ${since}, non-functional in ${until}`);
  }
  return warnings;
}

/** The fields that took the place of annotations, and since when. */
const FIELDS = {
  "storage-class": ["v1.8", "storageClassName"],
  "mount-options": ["v1.31", "mountOptions"],
} as const;

function annotationWarnings(
  { metadata }: ApiObject,
  { naming }: Context,
  names: readonly (keyof typeof FIELDS)[],
): string[] {
  return names.flatMap((name) => {
    const key = `volume.beta.${naming.labelDomain}/${name}`;
    if (metadata.annotations?.[key] === undefined) return [];
    const [since, field] = FIELDS[name];
    return [
      `metadata.annotations[${key}]: deprecated since ${since}; use "${field}" attribute instead`,
    ];
  });
}
