/** Warnings about claims and volumes that are accepted, and deprecated or not meant. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyContext } from "../../kinds/strategy.js";
import { WarningList } from "../generic/warning-list.js";
import { warnOfTerm } from "./node-label-warnings.js";
import type { NodeSelector } from "./pod-types.js";
import { warnOfClaim, warnOfSources } from "./volume-warnings.js";

type Context = Pick<StrategyContext, "naming">;

interface Storage extends ApiObject {
  spec?: Readonly<Record<string, unknown>> & {
    readonly persistentVolumeReclaimPolicy?: string;
    readonly nodeAffinity?: { readonly required?: NodeSelector };
  };
}

export function claimWarnings(next: ApiObject, _current: unknown, context: Context): string[] {
  const warnings = annotationWarnings(next, context, ["storage-class"]);
  const ofSpec = new WarningList();
  warnOfClaim(next.spec, "spec", ofSpec);
  return [...warnings, ...ofSpec.texts];
}

export function volumeWarnings(next: ApiObject, _current: unknown, context: Context): string[] {
  const { spec = {} } = next as Storage;
  const warnings = annotationWarnings(next, context, ["storage-class", "mount-options"]);
  if (spec.persistentVolumeReclaimPolicy === "Recycle") {
    warnings.push(
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    );
  }
  const ofSpec = new WarningList();
  (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).forEach((term, index) => {
    const field = `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`;
    const how = { naming: context.naming, warnings: ofSpec, judgesValues: false };
    warnOfTerm(term, field, how);
  });
  // As in kube-apiserver.
  warnOfSources(spec, "spec", ofSpec, ["flocker", "quobyte"]);
  return [...warnings, ...ofSpec.texts];
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
