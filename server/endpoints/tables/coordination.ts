/** Columns of the coordination group. */
import type { Tables } from "../../kinds/table-printer.js";
import { AGE, NAME, specText, table } from "./cells.js";

export const COORDINATION_TABLES: Tables = {
  "coordination/leases": table(NAME, specText("Holder", "holderIdentity"), AGE),
  "coordination/leasecandidates": table(
    NAME,
    specText("LeaseName", "leaseName"),
    specText("BinaryVersion", "binaryVersion"),
    specText("EmulationVersion", "emulationVersion"),
    AGE,
  ),
};
