/** Strategies of admissionregistration: webhook configurations and policies. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { replacedWhenSeen, specAndStatus, statusOnly } from "../generic/status-parts.js";
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
    ...specAndStatus,
    ...statusOnly,
    ...replacedWhenSeen,
  },
  "admissionregistration/validatingadmissionpolicybindings": {
    judges: "cluster",
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicies": {
    judges: "cluster",
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
  "admissionregistration/mutatingadmissionpolicybindings": {
    judges: "cluster",
    ...replacedWhenSeen,
    generationFields: ["spec"],
  },
};
