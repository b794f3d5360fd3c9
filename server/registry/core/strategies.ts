/** The strategies of the core group, by resource. */
import { isRecord } from "../../../storage/base/is-record.js";
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { eventStrategy } from "../events/event.js";
import { alignFirst, selectable } from "../generic/fields.js";
import { workloadNameWarnings } from "../generic/name-warnings.js";
import { dropsStatus, specAndStatus } from "../generic/status-parts.js";
import { configMapStrategy, secretStrategy } from "./configuration.js";
import { namespaceStrategy } from "./namespace.js";
import { podStrategy } from "./pod.js";
import { serviceStrategy } from "./service.js";
import { validatesEndpoints, validatesNode } from "./validate-cluster.js";
import { validatesPodTemplate, validatesReplicationController } from "./validate-controllers.js";
import {
  validatesPersistentVolume,
  validatesPersistentVolumeClaim,
} from "./validate-persistent-volumes.js";
import { validatesLimitRange, validatesResourceQuota } from "./validate-quotas.js";

const beginsPending = {
  prepareForCreate(next: ApiObject) {
    next.status = { phase: "Pending" };
  },
};

function alignPodCidrs(node: ApiObject): void {
  if (isRecord(node.spec)) alignFirst(node.spec, "podCIDR", "podCIDRs");
}

/** A quota limits by its spec and the copy in its status; its usage is compared separately. */
function boundsAlike(next: ApiObject | undefined, current: ApiObject | undefined): boolean {
  if (next === undefined || current === undefined) return false;
  const hardOf = ({ status }: ApiObject) => (isRecord(status) ? status.hard : undefined);
  return deepEqual(next.spec, current.spec) && deepEqual(hardOf(next), hardOf(current));
}

export const coreStrategies: StrategyTable = {
  "/configmaps": configMapStrategy,
  "/endpoints": { ...validatesEndpoints, allowCreateOnUpdate: true },
  "/events": eventStrategy,
  "/limitranges": { ...validatesLimitRange, allowCreateOnUpdate: true, judges: "namespace" },
  "/namespaces": namespaceStrategy,
  // A node agent registers its Node with a status.
  "/nodes": {
    ...validatesNode,
    prepareForCreate: alignPodCidrs,
    prepareForUpdate: alignPodCidrs,
    ...selectable(["spec.unschedulable"], { "spec.unschedulable": "false" }),
  },
  "/persistentvolumeclaims": {
    ...beginsPending,
    ...validatesPersistentVolumeClaim,
    returnsDeletedObject: true,
    judgedBy: ["classes"],
  },
  "/persistentvolumes": {
    ...beginsPending,
    ...validatesPersistentVolume,
    returnsDeletedObject: true,
  },
  "/pods": podStrategy,
  "/podtemplates": {
    ...validatesPodTemplate,
    generationFields: ["template"],
    returnsDeletedObject: true,
  },
  "/replicationcontrollers": {
    ...specAndStatus,
    ...validatesReplicationController,
    garbageCollection: "orphan",
    warnings: workloadNameWarnings,
    ...selectable(["status.replicas"], { "status.replicas": "0" }),
  },
  "/resourcequotas": {
    ...dropsStatus,
    ...validatesResourceQuota,
    returnsDeletedObject: true,
    judges: "namespace",
    judgesAlike: boundsAlike,
  },
  "/secrets": secretStrategy,
  "/serviceaccounts": { returnsDeletedObject: true, judges: "accounts" },
  "/services": serviceStrategy,
};
