/** Columns of the apiregistration group. */
import type { Tables } from "../../kinds/table-printer.js";
import { AGE, at, conditionOf, list, NAME, table, text, textColumn } from "./cells.js";

export const APIREGISTRATION_TABLES: Tables = {
  "apiregistration/apiservices": table(
    NAME,
    textColumn("Service", (object) => {
      const service = at(object, "spec", "service");
      return service === undefined
        ? "Local"
        : `${text(service, "namespace")}/${text(service, "name")}`;
    }),
    textColumn("Available", (object) => {
      const condition = conditionOf(list(object, "status", "conditions"), "Available");
      if (condition === undefined) return "Unknown";
      const status = text(condition, "status");
      const reason = status === "True" ? "" : text(condition, "reason");
      return reason === "" ? status : `${status} (${reason})`;
    }),
    AGE,
  ),
};
