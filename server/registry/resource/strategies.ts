/** Strategies of the resource group: devices and claims of them. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { selectable } from "../generic/fields.js";
import { checkImmutable, dropsStatus, specAndStatus, statusOnly } from "../generic/status-parts.js";

export const resourceStrategies: StrategyTable = {
  "resource/deviceclasses": { generationFields: ["spec"], returnsDeletedObject: true },
  "resource/resourceclaims": {
    ...dropsStatus,
    ...statusOnly,
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceclaimtemplates": {
    returnsDeletedObject: true,
    validateUpdate: (next, current) => checkImmutable(next, current, ["spec"]),
  },
  "resource/resourceslices": {
    generationFields: ["spec"],
    returnsDeletedObject: true,
    ...selectable(["spec.nodeName", "spec.driver"]),
  },
  "resource/devicetaintrules": specAndStatus,
};
