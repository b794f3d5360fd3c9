/** Strategies of admissionregistration: webhook configurations and policies. */
import { deepEqual } from "../../api/deep-equal.js";
import type { ResourceStrategy, StrategyTable } from "../../kinds/strategy.js";
import { replacedWhenSeen, specAndStatus, statusOnly } from "../generic/status-parts.js";
import {
  validatesMutatingBinding,
  validatesMutatingPolicy,
  validatesValidatingBinding,
  validatesValidatingPolicy,
} from "./validate-policies.js";
import { validatesWebhooks } from "./validate-webhooks.js";

/** All judge other writes, so they are replaced only by a client that has seen what is there. */
export const admissionStrategies: StrategyTable = {
  "admissionregistration/mutatingwebhookconfigurations": {
    ...judgesBy("webhooks"),
    ...validatesWebhooks,
    ...replacedWhenSeen,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingwebhookconfigurations": {
    ...judgesBy("webhooks"),
    ...validatesWebhooks,
    ...replacedWhenSeen,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingadmissionpolicies": {
    ...judgesBy("spec"),
    ...validatesValidatingPolicy,
    ...specAndStatus,
    ...statusOnly,
    ...replacedWhenSeen,
  },
  "admissionregistration/validatingadmissionpolicybindings": {
    ...judgesBy("spec"),
    ...validatesValidatingBinding,
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicies": {
    ...judgesBy("spec"),
    ...validatesMutatingPolicy,
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicybindings": {
    ...judgesBy("spec"),
    ...validatesMutatingBinding,
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
};

/** Labels, owners and reports of a rule decide nothing, so writing them disturbs no writer. */
function judgesBy(
  member: "spec" | "webhooks",
): Required<Pick<ResourceStrategy, "judges" | "judgesAlike">> {
  return {
    judges: "cluster",
    judgesAlike: (next, current) => deepEqual(next[member], current[member]),
  };
}
