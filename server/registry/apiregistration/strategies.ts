/** Strategy of APIService. */
import { formatTime } from "../../api/time.js";
import { checkPathSegmentName } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { valueAt } from "../generic/fields.js";
import { replacedWhenSeen, statusOnly } from "../generic/status-parts.js";
import { validatesApiService } from "./validate-api-service.js";

export const aggregationStrategies: StrategyTable = {
  "apiregistration/apiservices": {
    judges: "cluster",
    ...validatesApiService,
    // The legacy group has no name: its version is "v1.".
    validateName: checkPathSegmentName,
    ...statusOnly,
    ...replacedWhenSeen,
    prepareForCreate(next, { nowMs }) {
      delete next.status;
      const service = valueAt(next, ["spec", "service"]);
      if (service !== undefined && service !== null) return;
      next.status = { conditions: [localApiCondition(nowMs)] };
    },
  },
};

function localApiCondition(nowMs: number): object {
  return {
    type: "Available",
    status: "True",
    lastTransitionTime: formatTime(nowMs),
    reason: "Local",
    message: "Local APIServices are always available",
  };
}
