/** The strategies of the apps group: a spec, a status, and a selector that does not change. */
import type { ApiObject } from "../../api/meta.js";
import { checkDnsLabelName } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsGatedPodFields } from "../core/gated-pod-fields.js";
import { selectable } from "../generic/fields.js";
import { dropGatedFields } from "../generic/gated-fields.js";
import { workloadNameWarnings } from "../generic/name-warnings.js";
import { keepMetadataField, specAndStatus } from "../generic/status-parts.js";
import { countTemplate } from "./template-generation.js";
import {
  validatesControllerRevision,
  validatesDaemonSet,
  validatesDeployment,
  validatesReplicaSet,
  validatesStatefulSet,
} from "./validate-apps.js";

const STATEFUL_GATED = ["spec.updateStrategy.rollingUpdate.maxUnavailable"];
const KEEPS_ALL =
  "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended";

export const appsStrategies: StrategyTable = {
  "apps/controllerrevisions": validatesControllerRevision,
  "apps/daemonsets": dropsGatedPodFields("spec.template.spec", {
    ...specAndStatus,
    ...validatesDaemonSet,
    prepareForCreate(next) {
      delete next.status;
      countTemplate(next, undefined);
    },
    prepareForUpdate(next, current) {
      countTemplate(next, current);
    },
  }),
  "apps/deployments": dropsGatedPodFields("spec.template.spec", {
    ...specAndStatus,
    ...validatesDeployment,
    // Annotations give the reason for a rollout, so they count as part of the desired state.
    generationFields: ["spec", "metadata.annotations"],
    warnings: workloadNameWarnings,
    prepareForUpdate(next: ApiObject, current: ApiObject, { subresource }) {
      if (subresource === "status") keepMetadataField(next, current, "labels");
    },
  }),
  "apps/replicasets": dropsGatedPodFields("spec.template.spec", {
    ...specAndStatus,
    ...validatesReplicaSet,
    warnings: workloadNameWarnings,
    ...selectable(["status.replicas"], { "status.replicas": "0" }),
  }),
  "apps/statefulsets": dropsGatedPodFields("spec.template.spec", {
    ...specAndStatus,
    ...validatesStatefulSet,
    // Its pods are named after it.
    validateName: checkDnsLabelName,
    prepareForCreate(next) {
      delete next.status;
      dropGatedFields(next, undefined, STATEFUL_GATED);
    },
    prepareForUpdate(next, current) {
      dropGatedFields(next, current, STATEFUL_GATED);
    },
    warnings: ({ spec }) =>
      Number((spec as { revisionHistoryLimit?: number }).revisionHistoryLimit ?? 0) < 0
        ? [KEEPS_ALL]
        : [],
  }),
};
