/**
 * Strategy of core/v1 Pod: deletion is graceful, and the status begins as Pending with the
 * quality-of-service class of its containers. The rules are in validate-pod.ts.
 */

import type { ApiObject } from "../../api/meta.js";
import { formatTime } from "../../api/time.js";
import type { Whole } from "../../api/validation-values.js";
import type { ResourceStrategy } from "../../kinds/strategy.js";
import { alignFirst, membersAt, selectable } from "../generic/fields.js";
import { keepMetadataField, SPEC_OR_STATUS } from "../generic/status-parts.js";
import { dropGatedPodFields } from "./gated-pod-fields.js";
import { fillInMatchedLabels } from "./matched-labels.js";
import { dropOldAnnotations } from "./pod-annotations.js";
import { qualityOfService } from "./pod-qos.js";
import type { PodSpec } from "./pod-types.js";
import { podStatusWarnings, podWarnings } from "./pod-warnings.js";
import { fillInAppArmor } from "./profile-annotations.js";
import { validatePod, validatePodUpdate } from "./validate-pod.js";

interface PodObject extends ApiObject {
  spec?: {
    nodeName?: string;
    terminationGracePeriodSeconds?: number;
    schedulingGates?: unknown[];
  };
  status?: PodStatus;
}

interface PodStatus extends Observed {
  phase?: string;
  qosClass?: string;
  conditions?: (Observed & { readonly type?: string })[] | null;
}

/** Says which generation of the pod it was made of. */
interface Observed {
  observedGeneration?: Whole;
}

const SELECTABLE = [
  "spec.nodeName",
  "spec.restartPolicy",
  "spec.schedulerName",
  "spec.serviceAccountName",
  "spec.hostNetwork",
  "status.phase",
  "status.podIP",
  "status.nominatedNodeName",
] as const;

export const podStrategy: ResourceStrategy = {
  judgedBy: ["classes", "accounts"],
  prepareForCreate(next: PodObject, { nowMs, naming, warn }) {
    endsInTime(next);
    dropOldAnnotations(next.metadata, naming);
    dropGatedPodFields(next);
    const { metadata } = next;
    const spec = (next.spec ?? {}) as PodSpec;
    if (metadata.annotations) fillInAppArmor(metadata.annotations, spec, { naming, warn });
    fillInMatchedLabels(spec, metadata.labels ?? {});
    next.status = { phase: "Pending", qosClass: qualityOfService(next) };
    if ((next.spec?.schedulingGates?.length ?? 0) > 0) {
      Object.assign(next.status, { conditions: [gatedCondition(nowMs)] });
    }
  },
  prepareForUpdate(next: PodObject, current: PodObject, { subresource, naming }) {
    endsInTime(next);
    dropOldAnnotations(next.metadata, naming);
    dropGatedPodFields(next, current);
    if (subresource !== "status") return;
    keepMetadataField(next, current, "ownerReferences");
    keepMetadataField(next, current, "deletionTimestamp");
    const before = current.status ?? {};
    const members = membersAt(next, "status");
    const status: PodStatus = members;
    alignFirst(members, "podIP", "podIPs", "ip");
    if (!status.qosClass && before.qosClass) status.qosClass = before.qosClass;
    keepObserved(status, before);
  },
  resetFields: {
    ...SPEC_OR_STATUS,
    status: ["spec", "metadata.deletionTimestamp", "metadata.ownerReferences"],
  },
  validate: validatePod,
  validateUpdate: validatePodUpdate,
  warnings: podWarnings,
  statusWarnings: podStatusWarnings,
  generationFields: ["spec"],
  gracePeriodSeconds: (pod: PodObject) => Number(pod.spec?.terminationGracePeriodSeconds ?? 0),
  deletesAtOnce(pod: PodObject) {
    const phase = pod.status?.phase;
    // No node agent would confirm the end of an unscheduled pod.
    return (pod.spec?.nodeName ?? "") === "" || phase === "Failed" || phase === "Succeeded";
  },
  ...selectable(SELECTABLE, { "spec.hostNetwork": "false" }, ["status.podIPs"]),
  // The field's name in the first clients.
  selectableFieldAliases: { "spec.host": "spec.nodeName" },
  triggerField: "spec.nodeName",
  returnsDeletedObject: true,
};

/** A negative time to end in is the shortest one. Templates keep theirs, as whoever wrote them compares. */
function endsInTime({ spec }: PodObject): void {
  if (spec !== undefined && Number(spec.terminationGracePeriodSeconds ?? 0) < 0) {
    spec.terminationGracePeriodSeconds = 1;
  }
}

/** Whoever does not know which generation was seen leaves it as it was, of conditions in the order of each type. */
function keepObserved(status: PodStatus, before: PodStatus): void {
  if (!status.observedGeneration && before.observedGeneration) {
    status.observedGeneration = before.observedGeneration;
  }
  const old = (before.conditions ?? []).toReversed();
  if (!status.conditions || old.every(({ observedGeneration }) => !observedGeneration)) return;
  const byType = Map.groupBy(old, ({ type }) => type);
  status.conditions = status.conditions.map((condition) => {
    const { observedGeneration } = byType.get(condition.type)?.pop() ?? {};
    if (condition.observedGeneration || !observedGeneration) return condition;
    return { ...condition, observedGeneration };
  });
}

function gatedCondition(nowMs: number): object {
  return {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: formatTime(nowMs),
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
}
