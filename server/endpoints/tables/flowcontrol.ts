/** Columns of the flowcontrol group. */
import type { Cell, Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  conditionOf,
  type Fields,
  list,
  NAME,
  orNone,
  specText,
  table,
  text,
  textColumn,
  whole,
} from "./cells.js";

export const FLOWCONTROL_TABLES: Tables = {
  "flowcontrol.apiserver/flowschemas": table(
    NAME,
    textColumn("PriorityLevel", (object) =>
      text(object, "spec", "priorityLevelConfiguration", "name"),
    ),
    textColumn("MatchingPrecedence", (object) => whole(object, "spec", "matchingPrecedence")),
    textColumn("DistinguisherMethod", (object) =>
      orNone(text(object, "spec", "distinguisherMethod", "type")),
    ),
    AGE,
    textColumn("MissingPL", (object) => {
      const dangling = conditionOf(list(object, "status", "conditions"), "Dangling");
      return dangling === undefined ? "?" : text(dangling, "status");
    }),
  ),
  "flowcontrol.apiserver/prioritylevelconfigurations": table(
    NAME,
    specText("Type", "type"),
    textColumn("NominalConcurrencyShares", (object) =>
      numberOrNone(at(object, "spec", "limited", "nominalConcurrencyShares")),
    ),
    textColumn("Queues", (object) => queuing(object, "queues")),
    textColumn("HandSize", (object) => queuing(object, "handSize")),
    textColumn("QueueLengthLimit", (object) => queuing(object, "queueLengthLimit")),
    AGE,
  ),
};

function queuing(level: Fields, field: string): Cell {
  return numberOrNone(at(level, "spec", "limited", "limitResponse", "queuing", field));
}

function numberOrNone(value: unknown): Cell {
  return typeof value === "number" ? value : "<none>";
}
