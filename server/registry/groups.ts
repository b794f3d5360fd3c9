/**
 * The strategies of all built-in resources, by group and resource with groups without their domain. Resources
 * without an entry get the default behaviour.
 */

import type { StrategyTable } from "../kinds/strategy.js";
import { admissionStrategies } from "./admissionregistration/strategies.js";
import { aggregationStrategies } from "./apiregistration/strategies.js";
import { appsStrategies } from "./apps/strategies.js";
import { autoscalingStrategies } from "./autoscaling/strategies.js";
import { batchStrategies } from "./batch/strategies.js";
import { certificateStrategies } from "./certificates/strategies.js";
import { coordinationStrategies } from "./coordination/strategies.js";
import { coreStrategies } from "./core/strategies.js";
import { discoveryStrategies } from "./discovery/strategies.js";
import { newerEventStrategy } from "./events/event.js";
import { flowControlStrategies } from "./flowcontrol/strategies.js";
import { internalStrategies } from "./internal/strategies.js";
import { networkingStrategies } from "./networking/strategies.js";
import { nodeStrategies } from "./node/strategies.js";
import { policyStrategies } from "./policy/strategies.js";
import { rbacStrategies } from "./rbac/strategies.js";
import { resourceStrategies } from "./resource/strategies.js";
import { schedulingStrategies } from "./scheduling/strategies.js";
import { storageStrategies } from "./storage/strategies.js";
import { storageMigrationStrategies } from "./storagemigration/strategies.js";

/** "group/resource" ("" = core) to strategy. */
export const STRATEGIES: StrategyTable = {
  ...admissionStrategies,
  ...aggregationStrategies,
  ...appsStrategies,
  ...autoscalingStrategies,
  ...batchStrategies,
  ...certificateStrategies,
  ...coordinationStrategies,
  ...coreStrategies,
  ...discoveryStrategies,
  ...flowControlStrategies,
  ...internalStrategies,
  ...networkingStrategies,
  ...nodeStrategies,
  ...policyStrategies,
  ...rbacStrategies,
  ...resourceStrategies,
  ...schedulingStrategies,
  ...storageStrategies,
  ...storageMigrationStrategies,
  "events/events": newerEventStrategy,
};
