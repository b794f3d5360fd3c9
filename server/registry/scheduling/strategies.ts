/** Strategies of the scheduling group. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus } from "../generic/status-parts.js";
import { validatesPriorityClass } from "./validate-priority-class.js";

export const schedulingStrategies: StrategyTable = {
  "scheduling/priorityclasses": {
    ...validatesPriorityClass,
    judges: "classes",
    generationFields: [],
  },
  "scheduling/podgroups": dropsStatus,
};
