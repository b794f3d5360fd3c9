/** The strategies of the apps group: a spec, a status, and a selector that does not change. */
import type { ApiObject } from "../../api/meta.js";
import { checkDnsLabelName } from "../../api/validation-names.js";
import type { Maybe } from "../../api/validation-values.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { templated } from "../core/templated.js";
import { warnOfClaim } from "../core/volume-warnings.js";
import { dropGatedFields } from "../generic/gated-fields.js";
import { workloadNameWarnings } from "../generic/name-warnings.js";
import { keepMetadataField, SPEC_OR_STATUS, specAndStatus } from "../generic/status-parts.js";
import { WarningList } from "../generic/warning-list.js";
import { countTemplate, isNewTemplate } from "./template-generation.js";
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

interface Claiming {
  readonly revisionHistoryLimit?: Maybe<number>;
  readonly volumeClaimTemplates?: Maybe<readonly { readonly spec?: object }[]>;
}

function setWarnings({ spec }: ApiObject, current: ApiObject | undefined): readonly string[] {
  const { revisionHistoryLimit, volumeClaimTemplates } = (spec ?? {}) as Claiming;
  const warnings = new WarningList();
  (volumeClaimTemplates ?? []).forEach(({ spec: claim }, index) => {
    // The paths differ like this in kube-apiserver.
    const field = `spec.volumeClaimTemplates[${index}]${current === undefined ? "" : ".Spec"}`;
    warnOfClaim(claim, field, warnings);
  });
  if (Number(revisionHistoryLimit ?? 0) < 0) warnings.add(KEEPS_ALL);
  return warnings.texts;
}

export const appsStrategies: StrategyTable = {
  "apps/controllerrevisions": validatesControllerRevision,
  "apps/daemonsets": templated(
    "spec.template",
    {
      ...specAndStatus,
      ...validatesDaemonSet,
      prepareForCreate(next) {
        delete next.status;
        countTemplate(next, undefined);
      },
      prepareForUpdate(next, current) {
        countTemplate(next, current);
      },
    },
    isNewTemplate,
  ),
  "apps/deployments": templated("spec.template", {
    ...specAndStatus,
    ...validatesDeployment,
    // Annotations give the reason for a rollout, so they count as part of the desired state.
    generationFields: ["spec", "metadata.annotations"],
    warnings: workloadNameWarnings,
    resetFields: { ...SPEC_OR_STATUS, status: ["spec", "metadata.labels"] },
    prepareForUpdate(next: ApiObject, current: ApiObject, { subresource }) {
      if (subresource === "status") keepMetadataField(next, current, "labels");
    },
  }),
  "apps/replicasets": templated("spec.template", {
    ...specAndStatus,
    ...validatesReplicaSet,
    warnings: workloadNameWarnings,
  }),
  "apps/statefulsets": templated("spec.template", {
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
    warnings: setWarnings,
  }),
};
