/**
 * The annotations in which autoscaling/v1 shows what it has no fields for. They are another form of the object's own
 * fields: a version that has the fields never shows them, and what a client leaves in one there means nothing (R1).
 */
import type { ApiObject } from "../../api/meta.js";
import type { Naming } from "../../api/naming.js";

export interface AnnotationNames {
  readonly metrics: string;
  readonly currentMetrics: string;
  readonly conditions: string;
  readonly behavior: string;
  /** Had tolerances before these had fields. */
  readonly scaleDownTolerance: string;
  readonly scaleUpTolerance: string;
}

export function annotationNames({ labelDomain }: Pick<Naming, "labelDomain">): AnnotationNames {
  const prefix = `autoscaling.alpha.${labelDomain}`;
  return {
    metrics: `${prefix}/metrics`,
    currentMetrics: `${prefix}/current-metrics`,
    conditions: `${prefix}/conditions`,
    behavior: `${prefix}/behavior`,
    scaleDownTolerance: `${prefix}/scale-down-tolerance`,
    scaleUpTolerance: `${prefix}/scale-up-tolerance`,
  };
}

/** @returns the annotations without those; a new record */
export function withoutRoundTrip(
  annotations: Readonly<Record<string, string>> | undefined,
  names: AnnotationNames,
): Record<string, string> {
  const left = { ...annotations };
  for (const name of Object.values(names) as string[]) delete left[name];
  return left;
}

/** Takes them away from an object that has the fields. */
export function dropRoundTrip({ metadata }: ApiObject, names: AnnotationNames): void {
  const { annotations } = metadata;
  if (annotations === undefined || annotations === null) return;
  const left = withoutRoundTrip(annotations, names);
  if (Object.keys(left).length === Object.keys(annotations).length) return;
  if (Object.keys(left).length === 0) delete metadata.annotations;
  else metadata.annotations = left;
}
