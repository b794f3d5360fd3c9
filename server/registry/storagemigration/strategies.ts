/** Strategy of StorageVersionMigration. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus, replacedWhenSeen, statusOnly } from "../generic/status-parts.js";
import { validatesMigration } from "./validate-migration.js";

export const storageMigrationStrategies: StrategyTable = {
  "storagemigration/storageversionmigrations": {
    ...dropsStatus,
    ...replacedWhenSeen,
    ...validatesMigration,
    ...statusOnly,
  },
};
