/** Strategies of admissionregistration: webhook configurations and policies. */
import { deepEqual } from "../../api/deep-equal.js";
import type { ResourceStrategy, StrategyTable } from "../../kinds/strategy.js";
import {
  freeFinalizers,
  replacedWhenSeen,
  specAndStatus,
  statusOnly,
} from "../generic/status-parts.js";
import {
  validatesMutatingBinding,
  validatesMutatingPolicy,
  validatesValidatingBinding,
  validatesValidatingPolicy,
} from "./validate-policies.js";
import { validatesWebhooks } from "./validate-webhooks.js";

/** Told under each other's name (validate-webhooks.ts). */
const SERVICE_NAMES = /\.clientConfig\.service\.(?:name|namespace)$/;

/** All of them judge other writes, so a client replaces them only with a resourceVersion. */
export const admissionStrategies: StrategyTable = {
  "admissionregistration/mutatingwebhookconfigurations": {
    ...judgesBy("webhooks"),
    ...validatesWebhooks,
    ownFields: SERVICE_NAMES,
    ...replacedWhenSeen,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingwebhookconfigurations": {
    ...judgesBy("webhooks"),
    ...validatesWebhooks,
    ownFields: SERVICE_NAMES,
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

/** A rule's labels, owners and reports decide nothing, so a change of them delays no writer. */
function judgesBy(
  member: "spec" | "webhooks",
): Pick<ResourceStrategy, "judges" | "judgesAlike" | "finalizers"> {
  return {
    ...freeFinalizers,
    judges: "cluster",
    judgesAlike: (next, current) =>
      next !== undefined && current !== undefined && deepEqual(next[member], current[member]),
  };
}
