/** The strategies of the apps group: a spec, a status, and a selector that does not change. */
import type { ApiObject } from "../../api/meta.js";
import { selectable } from "../generic/fields.js";
import type { ResourceStrategy, StrategyTable } from "../generic/served-resource.js";
import { checkImmutable, keepMetadataField, specAndStatus } from "../generic/status-parts.js";

const keepsSelector: Pick<ResourceStrategy, "validateUpdate"> = {
  validateUpdate: (next, current) => checkImmutable(next, current, ["spec.selector"]),
};

export const appsStrategies: StrategyTable = {
  "apps/controllerrevisions": {
    validateUpdate: (next, current) => checkImmutable(next, current, ["data"]),
  },
  "apps/daemonsets": { ...specAndStatus, ...keepsSelector },
  "apps/deployments": {
    ...specAndStatus,
    ...keepsSelector,
    // Annotations say why a rollout happens, so they count as part of what is wanted.
    generationFields: ["spec", "metadata.annotations"],
    prepareForUpdate(next: ApiObject, current: ApiObject, { subresource }) {
      if (subresource === "status") keepMetadataField(next, current, "labels");
    },
  },
  "apps/replicasets": {
    ...specAndStatus,
    ...keepsSelector,
    ...selectable(["status.replicas"], { "status.replicas": "0" }),
  },
  "apps/statefulsets": {
    ...specAndStatus,
    validateUpdate: (next, current) =>
      checkImmutable(next, current, [
        "spec.selector",
        "spec.serviceName",
        "spec.podManagementPolicy",
      ]),
  },
};
