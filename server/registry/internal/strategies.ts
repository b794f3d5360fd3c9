/** Strategy of StorageVersion, which API servers use to inform each other. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropsStatus, replacedWhenSeen, statusOnly } from "../generic/status-parts.js";

export const internalStrategies: StrategyTable = {
  "internal.apiserver/storageversions": { ...dropsStatus, ...statusOnly, ...replacedWhenSeen },
};
