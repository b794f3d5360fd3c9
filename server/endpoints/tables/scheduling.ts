/** Columns of the scheduling group. */
import type { Tables } from "../../kinds/table-printer.js";
import {
  AGE,
  at,
  booleanColumn,
  conditionOf,
  type Fields,
  integerColumn,
  isConditionTrue,
  list,
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
  "scheduling/workloads": table(NAME, AGE),
  "scheduling/podgroups": table(
    NAME,
    textColumn("Policy", (object) =>
      at(object, "spec", "schedulingPolicy", "gang") === undefined ? "Basic" : "Gang",
    ),
    textColumn("Workload", (object) => {
      const reference = at(object, "spec", "podGroupTemplateRef");
      return reference === undefined ? "<none>" : text(reference, "workload", "workloadName");
    }),
    textColumn("Status", podGroupStatus),
    AGE,
  ),
};

function podGroupStatus(group: Fields): string {
  const conditions = list(group, "status", "conditions");
  const disrupted = conditionOf(conditions, "DisruptionTarget");
  if (disrupted !== undefined) return text(disrupted, "reason");
  if (conditionOf(conditions, "PodGroupScheduled") === undefined) return "Pending";
  return isConditionTrue(conditions, "PodGroupScheduled") ? "Scheduled" : "Unschedulable";
}
