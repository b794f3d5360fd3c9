/** Strategies of the coordination group: leases and lease candidates. */
import type { StrategyTable } from "../../kinds/strategy.js";
import { dropGatedFields } from "../generic/gated-fields.js";
import { freeFinalizers, replacedWhenSeen } from "../generic/status-parts.js";
import { validatesLease, validatesLeaseCandidate } from "./validate-lease.js";

/** Coordinated elections are off in this release. */
const ELECTION = ["spec.strategy", "spec.preferredHolder"];

export const coordinationStrategies: StrategyTable = {
  "coordination/leases": {
    ...validatesLease,
    ...freeFinalizers,
    ...replacedWhenSeen,
    allowCreateOnUpdate: true,
    prepareForCreate: (next) => dropGatedFields(next, undefined, ELECTION),
    prepareForUpdate: (next, current) => dropGatedFields(next, current, ELECTION),
  },
  "coordination/leasecandidates": {
    ...validatesLeaseCandidate,
    ...replacedWhenSeen,
    allowCreateOnUpdate: true,
  },
};
