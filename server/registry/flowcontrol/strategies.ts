/** Strategies of API priority and fairness. */
import type { ResourceStrategy, StrategyTable } from "../../kinds/strategy.js";
import { specAndStatus, statusOnly } from "../generic/status-parts.js";
import { validatesFlowSchema } from "./validate-flow-schema.js";
import { validatesPriorityLevel } from "./validate-priority-level.js";

const flowControl: ResourceStrategy = { ...specAndStatus, ...statusOnly };

export const flowControlStrategies: StrategyTable = {
  "flowcontrol.apiserver/flowschemas": { ...flowControl, ...validatesFlowSchema },
  "flowcontrol.apiserver/prioritylevelconfigurations": {
    ...flowControl,
    ...validatesPriorityLevel,
  },
};
