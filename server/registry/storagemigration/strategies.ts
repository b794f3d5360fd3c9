/** Strategy of StorageVersionMigration. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus, replacedWhenSeen } from "../generic/status-parts.js";

export const storageMigrationStrategies: StrategyTable = {
  "storagemigration/storageversionmigrations": { ...dropsStatus, ...replacedWhenSeen },
};
