/** Strategies of the coordination group: leases and lease candidates. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { replacedWhenSeen } from "../generic/status-parts.js";
import { validatesLease, validatesLeaseCandidate } from "./validate-lease.js";

export const coordinationStrategies: StrategyTable = {
  "coordination/leases": { ...validatesLease, ...replacedWhenSeen, allowCreateOnUpdate: true },
  "coordination/leasecandidates": {
    ...validatesLeaseCandidate,
    ...replacedWhenSeen,
    allowCreateOnUpdate: true,
  },
};
