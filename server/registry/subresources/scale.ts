/**
 * scale: a workload's actual and desired replicas, in one shape for all kinds of workloads
 * (S1-GEN-03). A write changes `spec.replicas` of the workload and nothing else.
 */
import { invalidValue } from "../../api/field-errors.js";
import type { ApiObject, ObjectMeta } from "../../api/meta.js";
import { invalid } from "../../api/status.js";
import { valueAt } from "../generic/fields.js";
import type { PartDefinition } from "./definition.js";
import { formatLabelSelector, type LabelSelector } from "./label-selector.js";

interface ScaleObject extends ApiObject {
  spec?: { replicas?: number };
}

interface Workload extends ApiObject {
  spec?: Record<string, unknown>;
}

/** Workloads whose selector is a label selector. */
export const scale: PartDefinition = scaleOf((workload) =>
  formatLabelSelector((valueAt(workload, ["spec", "selector"]) ?? {}) as LabelSelector),
);

/** Replication controllers are older than label selectors: theirs is a map of labels. */
export const scaleByLabels: PartDefinition = scaleOf((workload) => {
  const matchLabels = (valueAt(workload, ["spec", "selector"]) ?? {}) as Record<string, string>;
  return formatLabelSelector({ matchLabels });
});

function scaleOf(selectorOf: (workload: ApiObject) => string): PartDefinition {
  return {
    conversion: {
      // A Scale alone does not make a workload; `merge` combines it with the stored one.
      toStored: (sent) => sent,
      fromStored: (workload) => ({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: identityOf(workload.metadata),
        spec: { replicas: replicasAt(workload, "spec") },
        status: { replicas: replicasAt(workload, "status"), selector: selectorOf(workload) },
      }),
    },
    part: {
      isOwnShape: true,
      replicas: ["spec", "replicas"],
      merge(sent: ScaleObject, workload: Workload) {
        const replicas = sent.spec?.replicas ?? 0;
        if (replicas < 0) {
          const scaleKind = { group: "autoscaling", kind: "Scale" };
          const why = "must be greater than or equal to 0";
          throw invalid(scaleKind, workload.metadata.name ?? "", [
            invalidValue("spec.replicas", replicas, why),
          ]);
        }
        const metadata = { ...workload.metadata };
        return { ...workload, metadata, spec: { ...workload.spec, replicas } };
      },
    },
  };
}

function replicasAt(workload: ApiObject, field: "spec" | "status"): number {
  const replicas = valueAt(workload, [field, "replicas"]);
  return typeof replicas === "number" ? replicas : 0;
}

/** The metadata that identifies the object; labels and owners stay the workload's. */
function identityOf(metadata: ObjectMeta): ObjectMeta {
  const identity: ObjectMeta = {};
  if (metadata.name !== undefined) identity.name = metadata.name;
  if (metadata.namespace !== undefined) identity.namespace = metadata.namespace;
  if (metadata.uid !== undefined) identity.uid = metadata.uid;
  if (metadata.resourceVersion !== undefined) identity.resourceVersion = metadata.resourceVersion;
  if (metadata.creationTimestamp !== undefined) {
    identity.creationTimestamp = metadata.creationTimestamp;
  }
  return identity;
}
