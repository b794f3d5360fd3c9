/** Strategy of HorizontalPodAutoscaler. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus } from "../generic/status-parts.js";
import { validatesAutoscaler } from "./validate-autoscaler.js";

export const autoscalingStrategies: StrategyTable = {
  "autoscaling/horizontalpodautoscalers": { ...dropsStatus, ...validatesAutoscaler },
};
