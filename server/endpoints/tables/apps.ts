/** Columns of the groups apps, batch, autoscaling and policy: workloads and their scaling. */

import type { TablePrinter } from "../../kinds/table-printer.js";
import {
  AGE,
  AGE_COLUMN,
  age,
  at,
  containerColumns,
  type Fields,
  fields,
  firstFew,
  humanDuration,
  integerColumn,
  isBeingDeleted,
  isConditionTrue,
  labelsText,
  list,
  NAME,
  selectorColumn,
  selectorText,
  table,
  text,
  textColumn,
  whole,
  wide,
} from "./cells.js";

const POD_SPEC = ["spec", "template", "spec"] as const;

function desired(object: Fields): number {
  return whole(object, "spec", "replicas");
}

function inStatus(field: string) {
  return (object: Fields): number => whole(object, "status", field);
}

const readyOfDesired = textColumn(
  "Ready",
  (object) => `${whole(object, "status", "readyReplicas")}/${desired(object)}`,
);

const replicaColumns = [
  integerColumn("Desired", desired),
  integerColumn("Current", inStatus("replicas")),
  integerColumn("Ready", inStatus("readyReplicas")),
];

export const REPLICATION_CONTROLLERS_TABLE = table(
  NAME,
  ...replicaColumns,
  AGE,
  ...containerColumns(...POD_SPEC),
  wide(textColumn("Selector", (object) => labelsText(fields(object, "spec", "selector")))),
);

const SCALE_COLUMNS = [
  integerColumn("Desired", desired),
  integerColumn("Available", inStatus("replicas")),
];

/** The scale of a workload, whose name column has no format in kube-apiserver either. */
export const SCALE_TABLE = table(
  textColumn("Name", (object) => text(object, "metadata", "name")),
  ...SCALE_COLUMNS,
  AGE,
);

/** The scale of a custom object. */
export const CUSTOM_SCALE_TABLE = table(NAME, ...SCALE_COLUMNS, {
  ...AGE,
  column: { ...AGE_COLUMN, type: "date" },
});

export const APPS_TABLES: Readonly<Record<string, TablePrinter>> = {
  "apps/deployments": table(
    NAME,
    readyOfDesired,
    textColumn("Up-to-date", inStatus("updatedReplicas")),
    textColumn("Available", inStatus("availableReplicas")),
    AGE,
    ...containerColumns(...POD_SPEC),
    wide(textColumn("Selector", (object) => selectorText(fields(object, "spec", "selector")))),
  ),
  "apps/replicasets": table(
    NAME,
    ...replicaColumns,
    AGE,
    ...containerColumns(...POD_SPEC),
    selectorColumn("spec", "selector"),
  ),
  "apps/statefulsets": table(NAME, readyOfDesired, AGE, ...containerColumns(...POD_SPEC)),
  "apps/daemonsets": table(
    NAME,
    integerColumn("Desired", inStatus("desiredNumberScheduled")),
    integerColumn("Current", inStatus("currentNumberScheduled")),
    integerColumn("Ready", inStatus("numberReady")),
    integerColumn("Up-to-date", inStatus("updatedNumberScheduled")),
    integerColumn("Available", inStatus("numberAvailable")),
    textColumn("Node Selector", (object) =>
      labelsText(fields(object, ...POD_SPEC, "nodeSelector")),
    ),
    AGE,
    ...containerColumns(...POD_SPEC),
    selectorColumn("spec", "selector"),
  ),
  "apps/controllerrevisions": table(
    NAME,
    textColumn("Controller", controllerName),
    textColumn("Revision", (object) => whole(object, "revision")),
    AGE,
  ),
  "batch/jobs": table(
    NAME,
    textColumn("Status", jobStatus),
    textColumn("Completions", jobCompletions),
    textColumn("Duration", jobDuration),
    AGE,
    ...containerColumns(...POD_SPEC),
    selectorColumn("spec", "selector"),
  ),
  "batch/cronjobs": table(
    NAME,
    textColumn("Schedule", (object) => text(object, "spec", "schedule")),
    textColumn("Timezone", (object) => (at(object, "spec", "timeZone") as string) ?? "<none>"),
    {
      ...textColumn("Suspend", (object) => trueOrFalse(at(object, "spec", "suspend"))),
      column: { name: "Suspend", type: "boolean", format: "", description: "", priority: 0 },
    },
    integerColumn("Active", (object) => list(object, "status", "active").length),
    textColumn("Last Schedule", (object, nowMs) => {
      const last = text(object, "status", "lastScheduleTime");
      return last === "" ? "<none>" : age(last, nowMs);
    }),
    AGE,
    ...containerColumns("spec", "jobTemplate", ...POD_SPEC),
    selectorColumn("spec", "jobTemplate", "spec", "selector"),
  ),
  "autoscaling/horizontalpodautoscalers": table(
    NAME,
    textColumn("Reference", (object) => {
      const target = fields(object, "spec", "scaleTargetRef");
      return `${text(target, "kind")}/${text(target, "name")}`;
    }),
    textColumn("Targets", scalingTargets),
    textColumn("MinPods", (object) => {
      const min = at(object, "spec", "minReplicas");
      return min === undefined ? "<unset>" : String(min);
    }),
    textColumn("MaxPods", (object) => whole(object, "spec", "maxReplicas")),
    textColumn("Replicas", inStatus("currentReplicas")),
    AGE,
  ),
  "policy/poddisruptionbudgets": table(
    NAME,
    textColumn("Min Available", (object) => numberOrPercent(object, "minAvailable")),
    textColumn("Max Unavailable", (object) => numberOrPercent(object, "maxUnavailable")),
    integerColumn("Allowed Disruptions", inStatus("disruptionsAllowed")),
    AGE,
  ),
};

function controllerName(object: Fields): string {
  const owner = list(object, "metadata", "ownerReferences").find(
    (reference) => at(reference, "controller") === true,
  );
  if (owner === undefined) return "<none>";
  const apiVersion = text(owner, "apiVersion");
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : `.${apiVersion.slice(0, slash)}`;
  return `${`${text(owner, "kind")}${group}`.toLowerCase()}/${text(owner, "name")}`;
}

function jobStatus(job: Fields): string {
  const conditions = list(job, "status", "conditions");
  if (isConditionTrue(conditions, "Complete")) return "Complete";
  if (isConditionTrue(conditions, "Failed")) return "Failed";
  if (isBeingDeleted(job)) return "Terminating";
  if (isConditionTrue(conditions, "Suspended")) return "Suspended";
  return isConditionTrue(conditions, "FailureTarget") ? "FailureTarget" : "Running";
}

function jobCompletions(job: Fields): string {
  const succeeded = whole(job, "status", "succeeded");
  const completions = at(job, "spec", "completions");
  if (completions !== undefined) return `${succeeded}/${String(completions)}`;
  const parallelism = whole(job, "spec", "parallelism");
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration(job: Fields, nowMs: number): string {
  const start = text(job, "status", "startTime");
  if (start === "") return "";
  const end = text(job, "status", "completionTime");
  return humanDuration((end === "" ? nowMs : Date.parse(end)) - Date.parse(start));
}

function trueOrFalse(value: unknown): string {
  if (value === undefined) return "<unset>";
  return value === true ? "True" : "False";
}

function numberOrPercent(budget: Fields, field: string): string {
  const value = at(budget, "spec", field);
  return value === undefined ? "N/A" : String(value);
}

/** The number that fits into a column. */
const TARGETS_MAX = 2;

/** Member of a metric's specification and status, by metric type. */
const METRIC_MEMBERS: Readonly<Record<string, string>> = {
  External: "external",
  Pods: "pods",
  Object: "object",
  Resource: "resource",
  ContainerResource: "containerResource",
};

function scalingTargets(autoscaler: Fields): string {
  const specs = list(autoscaler, "spec", "metrics");
  if (specs.length === 0) return "<none>";
  const statuses = list(autoscaler, "status", "currentMetrics");
  const targets = specs.map((spec, index) => scalingTarget(spec, statuses[index]));
  return firstFew(targets, TARGETS_MAX, ", ");
}

function scalingTarget(spec: unknown, status: unknown): string {
  const type = text(spec, "type");
  const member = METRIC_MEMBERS[type];
  if (member === undefined) return "<unknown type>";
  const target = fields(spec, member, "target");
  const current = fields(status, member, "current");
  const average = text(target, "averageValue");
  if (type === "Resource" || type === "ContainerResource") {
    const name = text(spec, member, "name");
    if (average !== "") return `${name}: ${amount(current, "averageValue")}/${average}`;
    const wanted = percent(target, "<auto>");
    return `${name}: ${percent(current, "<unknown>")}/${wanted}`;
  }
  if (type === "Pods") return `${amount(current, "averageValue")}/${average}`;
  if (average !== "") return `${amount(current, "averageValue")}/${average} (avg)`;
  return `${amount(current, "value")}/${text(target, "value")}`;
}

function amount(current: Fields, field: string): string {
  const value = text(current, field);
  return value === "" ? "<unknown>" : value;
}

function percent(value: Fields, otherwise: string): string {
  const utilization = at(value, "averageUtilization");
  return utilization === undefined ? otherwise : `${String(utilization)}%`;
}
