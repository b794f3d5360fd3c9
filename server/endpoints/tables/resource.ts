/** Columns of the resource group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  age,
  at,
  conditionOf,
  type Fields,
  integerColumn,
  isBeingDeleted,
  list,
  NAME,
  specText,
  table,
  text,
  textColumn,
  whole,
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
  "resource/devicetaintrules": table(
    NAME,
    ofTaint("Key", "key"),
    ofTaint("Value", "value"),
    ofTaint("Effect", "effect"),
    textColumn("TimeAdded", (object, nowMs) => {
      const added = text(object, "spec", "taint", "timeAdded");
      return added === "" ? "" : age(added, nowMs);
    }),
    AGE,
  ),
  "resource/resourcepoolstatusrequests": table(
    NAME,
    specText("Driver", "driver"),
    devicesOfPools("Total", "totalDevices"),
    devicesOfPools("Available", "availableDevices"),
    devicesOfPools("Allocated", "allocatedDevices"),
    devicesOfPools("Unavailable", "unavailableDevices"),
    ofPools("Errors", (pool) => (at(pool, "validationError") === undefined ? 0 : 1)),
    integerColumn("Pools", (object) => whole(object, "status", "poolCount")),
    textColumn("Status", poolsState),
    textColumn("Completed", (object, nowMs) => {
      if (outcomeOf(object) !== "Complete") return "<none>";
      return age(text(conditionOf(conditionsOf(object), "Complete"), "lastTransitionTime"), nowMs);
    }),
  ),
};

function ofTaint(name: string, field: string) {
  return textColumn(name, (object) => text(object, "spec", "taint", field));
}

/** A sum over the pools that were found; "-" while there is none. */
function ofPools(name: string, amount: (pool: unknown) => number) {
  return textColumn(name, (object) => {
    if (at(object, "status") === undefined || outcomeOf(object) === "Failed") return "-";
    return String(
      list(object, "status", "pools").reduce((sum: number, pool) => sum + amount(pool), 0),
    );
  });
}

function devicesOfPools(name: string, field: string) {
  return ofPools(name, (pool) => whole(pool, field));
}

function conditionsOf(object: Fields): readonly unknown[] {
  return list(object, "status", "conditions");
}

/** Of the two conditions that end a request, the first that holds. */
function outcomeOf(object: Fields): string {
  const ended = conditionsOf(object).find(
    (one) => ["Complete", "Failed"].includes(text(one, "type")) && text(one, "status") === "True",
  );
  return ended === undefined ? "Pending" : text(ended, "type");
}

function poolsState(object: Fields): string {
  const outcome = outcomeOf(object);
  const shown = list(object, "status", "pools").length;
  const count = whole(object, "status", "poolCount");
  return outcome === "Complete" && count > shown ? `Complete (${shown}/${count} pools)` : outcome;
}

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
