/** Strategy of RuntimeClass. */

import type { StrategyTable } from "../../kinds/strategy.js";
import { runtimeClassWarnings } from "../core/node-label-warnings.js";
import { freeFinalizers, replacedWhenSeen } from "../generic/status-parts.js";
import { validatesRuntimeClass } from "./validate-runtime-class.js";

export const nodeStrategies: StrategyTable = {
  "node/runtimeclasses": {
    ...validatesRuntimeClass,
    ...freeFinalizers,
    judges: "classes",
    warnings: runtimeClassWarnings,
    ...replacedWhenSeen,
  },
};
