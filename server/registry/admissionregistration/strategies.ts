/** Strategies of admissionregistration: webhook configurations and policies. */
import type { StrategyTable } from "../../kinds/strategy.js";
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
    judges: "cluster",
    ...validatesWebhooks,
    ...replacedWhenSeen,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingwebhookconfigurations": {
    judges: "cluster",
    ...validatesWebhooks,
    ...replacedWhenSeen,
    generationFields: ["webhooks"],
  },
  "admissionregistration/validatingadmissionpolicies": {
    judges: "cluster",
    ...validatesValidatingPolicy,
    ...specAndStatus,
    ...statusOnly,
    ...replacedWhenSeen,
  },
  "admissionregistration/validatingadmissionpolicybindings": {
    judges: "cluster",
    ...validatesValidatingBinding,
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicies": {
    judges: "cluster",
    ...validatesMutatingPolicy,
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicybindings": {
    judges: "cluster",
    ...validatesMutatingBinding,
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
};
