/** Columns of the resource group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  type Fields,
  isBeingDeleted,
  list,
  NAME,
  specText,
  table,
  text,
  textColumn,
} from "./cells.js";

export const RESOURCE_TABLES: Tables = {
  "resource/deviceclasses": table(NAME, AGE),
  "resource/resourceclaimtemplates": table(NAME, AGE),
  "resource/resourceclaims": table(NAME, textColumn("State", claimState), AGE),
  "resource/resourceslices": table(
    NAME,
    specText("Node", "nodeName"),
    specText("Driver", "driver"),
    textColumn("Pool", (object) => text(object, "spec", "pool", "name")),
    AGE,
  ),
};

function claimState(claim: Fields): string {
  const isDeleted = isBeingDeleted(claim);
  const states = isDeleted ? ["deleted"] : [];
  if (at(claim, "status", "allocation") === undefined) {
    if (!isDeleted) states.push("pending");
  } else {
    states.push("allocated");
    if (list(claim, "status", "reservedFor").length > 0) states.push("reserved");
  }
  return states.join(",");
}
