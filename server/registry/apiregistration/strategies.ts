/** Strategy of APIService. */
import { deepEqual } from "../../api/deep-equal.js";
import type { ApiObject } from "../../api/meta.js";
import { formatTime } from "../../api/time.js";
import { checkPathSegmentName } from "../../api/validation-names.js";
import type { StrategyTable } from "../../kinds/strategy.js";
import { valueAt } from "../generic/fields.js";
import { freeFinalizers, replacedWhenSeen, statusOnly } from "../generic/status-parts.js";
import { validatesApiService } from "./validate-api-service.js";

export const aggregationStrategies: StrategyTable = {
  "apiregistration/apiservices": {
    judges: "cluster",
    judgesAlike: (next, current) => deepEqual(serverOf(next), serverOf(current)),
    ...validatesApiService,
    ...freeFinalizers,
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

/** What is served by another server; this server's own groups are what the catalog says. */
function serverOf(apiService: ApiObject | undefined): unknown {
  const service = apiService && valueAt(apiService, ["spec", "service"]);
  return (service ?? null) === null ? undefined : apiService?.spec;
}

function localApiCondition(nowMs: number): object {
  return {
    type: "Available",
    status: "True",
    lastTransitionTime: formatTime(nowMs),
    reason: "Local",
    message: "Local APIServices are always available",
  };
}
