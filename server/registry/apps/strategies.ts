/** The strategies of the apps group: a spec, a status, and a selector that does not change. */
import type { ApiObject } from "../../api/meta.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { selectable } from "../generic/fields.js";
import { keepMetadataField, specAndStatus } from "../generic/status-parts.js";
import {
  validatesControllerRevision,
  validatesDaemonSet,
  validatesDeployment,
  validatesReplicaSet,
  validatesStatefulSet,
} from "./validate-apps.js";

export const appsStrategies: StrategyTable = {
  "apps/controllerrevisions": validatesControllerRevision,
  "apps/daemonsets": { ...specAndStatus, ...validatesDaemonSet },
  "apps/deployments": {
    ...specAndStatus,
    ...validatesDeployment,
    // Annotations give the reason for a rollout, so they count as part of the desired state.
    generationFields: ["spec", "metadata.annotations"],
    prepareForUpdate(next: ApiObject, current: ApiObject, { subresource }) {
      if (subresource === "status") keepMetadataField(next, current, "labels");
    },
  },
  "apps/replicasets": {
    ...specAndStatus,
    ...validatesReplicaSet,
    ...selectable(["status.replicas"], { "status.replicas": "0" }),
  },
  "apps/statefulsets": { ...specAndStatus, ...validatesStatefulSet },
};
