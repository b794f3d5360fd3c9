/** Columns of the scheduling group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  booleanColumn,
  integerColumn,
  NAME,
  table,
  text,
  textColumn,
  whole,
} from "./cells.js";

export const SCHEDULING_TABLES: Tables = {
  "scheduling/priorityclasses": table(
    NAME,
    integerColumn("Value", (object) => whole(object, "value")),
    booleanColumn("Global-Default", (object) => at(object, "globalDefault") === true),
    AGE,
    textColumn("PreemptionPolicy", (object) => text(object, "preemptionPolicy")),
  ),
};
