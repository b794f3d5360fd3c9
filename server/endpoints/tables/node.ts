/** Columns of the node group. */
import type { Tables } from "../../kinds/table-printer.js";
import { AGE, NAME, table, text, textColumn } from "./cells.js";

export const NODE_TABLES: Tables = {
  "node/runtimeclasses": table(
    NAME,
    textColumn("Handler", (object) => text(object, "handler")),
    AGE,
  ),
};
