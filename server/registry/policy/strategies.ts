/** Strategy of PodDisruptionBudget. */
import { checkPathSegmentName } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { freeFinalizers, replacedWhenSeen, specAndStatus } from "../generic/status-parts.js";
import { validatesPodDisruptionBudget } from "./validate-budget.js";

export const policyStrategies: StrategyTable = {
  "policy/poddisruptionbudgets": {
    ...specAndStatus,
    ...validatesPodDisruptionBudget,
    ...freeFinalizers,
    ...replacedWhenSeen,
    validateName: checkPathSegmentName,
  },
};
