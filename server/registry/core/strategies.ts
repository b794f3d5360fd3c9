/** The strategies of the core group, by resource. */
import type { StrategyTable } from "../generic/served-resource.js";
import { namespaceStrategy } from "./namespace.js";

export const coreStrategies: StrategyTable = {
  "/namespaces": namespaceStrategy,
};
