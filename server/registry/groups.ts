/**
 * The strategies of all built-in resources, by group and resource with groups without their domain. A resource
 * that is not named here has nothing of its own and gets the common treatment.
 */

import type { StrategyTable } from "../kinds/strategy.js";
import { appsStrategies } from "./apps/strategies.js";
import { batchStrategies } from "./batch/strategies.js";
import { coreStrategies } from "./core/strategies.js";
import { newerEventStrategy } from "./events/event.js";
import { otherStrategies } from "./other-groups.js";

/** "group/resource" ("" = core) to strategy. */
export const STRATEGIES: StrategyTable = {
  ...otherStrategies,
  ...appsStrategies,
  ...batchStrategies,
  ...coreStrategies,
  "events/events": newerEventStrategy,
};
