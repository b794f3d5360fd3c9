/** Rules for the core group's workloads: PodTemplate and ReplicationController. */

import { requiredValue } from "../../api/field-errors.js";
import type { ApiObject } from "../../api/meta.js";
import { Problems } from "../../api/problems.js";
import type { Maybe } from "../../api/validation-values.js";
import { type Rules, validated } from "../generic/validated.js";
import type { PodTemplateSpec } from "./pod-types.js";
import { validatePodTemplate } from "./validate-pod-spec.js";
import {
  validateCounts,
  validateLastingTemplate,
  validateReplicaStatus,
  validateTemplateLabels,
} from "./workload-rules.js";

interface PodTemplate extends ApiObject {
  template?: PodTemplateSpec;
}

const podTemplateRules: Rules<PodTemplate> = {
  object({ template }, { naming, long }, current) {
    const errors = new Problems();
    const use = { naming, errors, long, before: current?.template };
    validatePodTemplate(template ?? {}, "template", use);
    return errors;
  },
};

interface ReplicationController extends ApiObject {
  spec?: {
    readonly selector?: Maybe<Readonly<Record<string, string>>>;
    readonly template?: Maybe<PodTemplateSpec>;
  };
  status?: object;
}

const replicationControllerRules: Rules<ReplicationController> = {
  object({ spec = {} }, { naming, long }, current) {
    const errors = new Problems();
    validateCounts(spec, "spec", { names: ["minReadySeconds", "replicas"], errors });
    const matchLabels = spec.selector ?? {};
    const { template } = spec;
    if (Object.keys(matchLabels).length === 0) errors.push(requiredValue("spec.selector"));
    else if (template) {
      validateTemplateLabels({ matchLabels }, template, { field: "spec.template", errors });
    }
    if (template) {
      const kind = "replicationcontroller";
      const before = current?.spec?.template;
      const use = { kind, naming, errors, long, before };
      validateLastingTemplate(template, "spec.template", use);
    } else errors.push(requiredValue("spec.template"));
    return errors;
  },
  status: ({ status }) =>
    validateReplicaStatus(status, {
      parts: ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
    }),
};

export const validatesPodTemplate = validated(podTemplateRules);
export const validatesReplicationController = validated(replicationControllerRules);
