/**
 * The strategies of all built-in resources, by group and resource in the facts' spelling. A resource
 * that is not named here has nothing of its own and gets the common treatment.
 */
import { coreStrategies } from "./core/strategies.js";
import type { StrategyTable } from "./generic/served-resource.js";

/** "group/resource" ("" = core) to strategy. */
export const STRATEGIES: StrategyTable = {
  ...coreStrategies,
};
