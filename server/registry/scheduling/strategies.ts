/** Strategies of the scheduling group. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus, statusOnly } from "../generic/status-parts.js";
import { isSystemClass, validatesPriorityClass } from "./validate-priority-class.js";

export const schedulingStrategies: StrategyTable = {
  "scheduling/priorityclasses": {
    ...validatesPriorityClass,
    refusesDelete: (name) =>
      isSystemClass(name) ? "this is a system priority class and cannot be deleted" : undefined,
    judges: "classes",
    generationFields: [],
  },
  "scheduling/podgroups": {
    ...dropsStatus,
    ...statusOnly,
    resetFields: { status: ["metadata", "spec"] },
  },
};
