/** The status of a pod in a few words, as kubectl shows it. */

import type { Row, RowCondition, TablePrinter } from "../../kinds/table-printer.js";
import {
  AGE,
  age,
  at,
  type Fields,
  fields,
  isBeingDeleted,
  isConditionTrue,
  list,
  NAME,
  orNone,
  table,
  text,
  textColumn,
  whole,
  wide,
} from "./cells.js";

interface PodSummary {
  readonly ready: string;
  readonly status: string;
  readonly restarts: string;
}

const PODS = table(
  NAME,
  textColumn("Ready", () => ""),
  textColumn("Status", () => ""),
  textColumn("Restarts", () => ""),
  AGE,
  wide(textColumn("IP", () => "")),
  wide(textColumn("Node", () => "")),
  wide(textColumn("Nominated Node", () => "")),
  wide(textColumn("Readiness Gates", () => "")),
);

const ENDED: Readonly<Record<string, readonly RowCondition[]>> = {
  Succeeded: [completed("Succeeded", "The pod has completed successfully.")],
  Failed: [completed("Failed", "The pod failed.")],
};

function completed(reason: string, message: string): RowCondition {
  return { type: "Completed", status: "True", reason, message };
}

/** Computes all cells at once, because several need the same pass over the containers. */
export const PODS_TABLE: TablePrinter = {
  columns: PODS.columns,
  row: (object, nowMs) => podRow(JSON.parse(object.bytes.toString("utf8")) as Fields, nowMs),
};

function podRow(pod: Fields, nowMs: number): Row {
  const { ready, status, restarts } = summarize(pod, nowMs);
  const conditions = ENDED[text(pod, "status", "phase")];
  const cells = [
    text(pod, "metadata", "name"),
    ready,
    status,
    restarts,
    age(text(pod, "metadata", "creationTimestamp"), nowMs),
    orNone(text(list(pod, "status", "podIPs")[0], "ip")),
    orNone(text(pod, "spec", "nodeName")),
    orNone(text(pod, "status", "nominatedNodeName")),
    readinessGates(pod),
  ];
  return conditions === undefined ? { cells } : { cells, conditions };
}

function summarize(pod: Fields, nowMs: number): PodSummary {
  const sidecars = new Set<string>();
  for (const container of list(pod, "spec", "initContainers")) {
    if (text(container, "restartPolicy") === "Always") sidecars.add(text(container, "name"));
  }
  const start = initialization(pod, sidecars);
  const total = list(pod, "spec", "containers").length + sidecars.size;
  const conditions = list(pod, "status", "conditions");
  const isStarted = start.reason === undefined || isConditionTrue(conditions, "Initialized");
  const running = isStarted ? execution(pod) : undefined;

  let status = start.reason ?? phaseOf(pod);
  let { restarts, lastRestart } = start.all;
  if (running !== undefined) {
    restarts = start.sidecars.restarts + running.restarts;
    lastRestart = later(start.sidecars.lastRestart, running.lastRestart);
    status = running.reason ?? status;
    // One container has completed while another still runs.
    if (status === "Completed" && running.hasRunning) {
      status = isConditionTrue(conditions, "Ready") ? "Running" : "NotReady";
    }
  }
  const ready = start.ready + (running?.ready ?? 0);
  const since = restarts === 0 || lastRestart === "" ? "" : ` (${age(lastRestart, nowMs)} ago)`;
  return {
    ready: `${ready}/${total}`,
    status: deletionStatus(pod) ?? status,
    restarts: `${restarts}${since}`,
  };
}

function phaseOf(pod: Fields): string {
  const gated = list(pod, "status", "conditions").some(
    (condition) =>
      text(condition, "type") === "PodScheduled" && text(condition, "reason") === "SchedulingGated",
  );
  if (gated) return "SchedulingGated";
  return orNone(text(pod, "status", "reason"), text(pod, "status", "phase"));
}

function deletionStatus(pod: Fields): string | undefined {
  if (!isBeingDeleted(pod)) return undefined;
  if (text(pod, "status", "reason") === "NodeLost") return "Unknown";
  return text(pod, "status", "phase") in ENDED ? undefined : "Terminating";
}

interface Restarts {
  restarts: number;
  /** "" = never. */
  lastRestart: string;
}

function countRestarts(to: Restarts, container: unknown): void {
  to.restarts += whole(container, "restartCount");
  to.lastRestart = later(to.lastRestart, text(container, "lastState", "terminated", "finishedAt"));
}

/** Timestamps of one format compare as strings. */
function later(one: string, other: string): string {
  return other > one ? other : one;
}

interface Initialization {
  readonly all: Restarts;
  readonly sidecars: Restarts;
  /** Number of ready sidecars. */
  readonly ready: number;
  /** The reason that the pod waits; undefined = it does not. */
  readonly reason: string | undefined;
}

function initialization(pod: Fields, sidecarNames: ReadonlySet<string>): Initialization {
  const all: Restarts = { restarts: 0, lastRestart: "" };
  const sidecars: Restarts = { restarts: 0, lastRestart: "" };
  const total = list(pod, "spec", "initContainers").length;
  let ready = 0;
  for (const [index, container] of list(pod, "status", "initContainerStatuses").entries()) {
    const isSidecar = sidecarNames.has(text(container, "name"));
    countRestarts(all, container);
    if (isSidecar) countRestarts(sidecars, container);
    const ended = at(container, "state", "terminated");
    if (ended !== undefined && whole(ended, "exitCode") === 0) continue;
    if (isSidecar && at(container, "started") === true) {
      if (at(container, "ready") === true) ready++;
      continue;
    }
    return { all, sidecars, ready, reason: `Init:${initReason(container, ended, index, total)}` };
  }
  return { all, sidecars, ready, reason: undefined };
}

function initReason(container: unknown, ended: unknown, index: number, total: number): string {
  if (ended !== undefined) return endReason(ended);
  const waiting = text(container, "state", "waiting", "reason");
  return waiting === "" || waiting === "PodInitializing" ? `${index}/${total}` : waiting;
}

function endReason(ended: unknown): string {
  const reason = text(ended, "reason");
  if (reason !== "") return reason;
  const signal = whole(ended, "signal");
  return signal === 0 ? `ExitCode:${whole(ended, "exitCode")}` : `Signal:${signal}`;
}

interface Execution extends Restarts {
  ready: number;
  hasRunning: boolean;
  reason: string | undefined;
}

function execution(pod: Fields): Execution {
  const result: Execution = {
    restarts: 0,
    lastRestart: "",
    ready: 0,
    hasRunning: false,
    reason: undefined,
  };
  // The first container's reason wins.
  for (const container of list(pod, "status", "containerStatuses").toReversed()) {
    countRestarts(result, container);
    const waiting = text(container, "state", "waiting", "reason");
    const ended = at(container, "state", "terminated");
    if (waiting !== "") result.reason = waiting;
    else if (ended !== undefined) result.reason = endReason(ended);
    else if (at(container, "ready") === true && at(container, "state", "running") !== undefined) {
      result.hasRunning = true;
      result.ready++;
    }
  }
  return result;
}

function readinessGates(pod: Fields): string {
  const gates = list(pod, "spec", "readinessGates");
  if (gates.length === 0) return "<none>";
  const conditions = list(pod, "status", "conditions");
  const open = gates.filter((gate) => isConditionTrue(conditions, text(gate, "conditionType")));
  return `${open.length}/${gates.length}`;
}

/** The columns of pod templates. */
export const POD_TEMPLATES_TABLE = table(
  NAME,
  textColumn("Containers", (object) => namesOf(object, "name")),
  textColumn("Images", (object) => namesOf(object, "image")),
  textColumn("Pod Labels", (object) => {
    const pairs = Object.entries(fields(object, "template", "metadata", "labels"));
    return orNone(
      pairs
        .map(([key, value]) => `${key}=${String(value)}`)
        .sort()
        .join(","),
    );
  }),
);

function namesOf(object: Fields, field: string): string {
  return list(object, "template", "spec", "containers")
    .map((container) => text(container, field))
    .join(",");
}
