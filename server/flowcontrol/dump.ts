/** The debug pages of priority and fairness, as tables of text in upstream's columns. */
import type { FlowControl } from "./flow-control.js";

const PATH = "/debug/api_priority_and_fairness";

interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** By path. */
export function dumpDocuments(flowControl: FlowControl): Readonly<Record<string, () => Page>> {
  const page = (rows: () => readonly (readonly string[])[]) => () => ({
    status: 200,
    headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
    body: toTable(rows()),
  });
  return {
    [`${PATH}/dump_priority_levels`]: page(() => levelRows(flowControl)),
    [`${PATH}/dump_queues`]: page(() => flowRows(flowControl)),
    [`${PATH}/dump_requests`]: page(() => requestRows(flowControl)),
  };
}

function levelRows(flowControl: FlowControl): string[][] {
  return [
    [
      "PriorityLevelName",
      "ActiveQueues",
      "IsIdle",
      "IsQuiescing",
      "WaitingRequests",
      "ExecutingRequests",
      "SeatsInUse",
      "NominalCL",
      "CurrentCL",
    ],
    ...flowControl
      .describeLevels()
      .map((level) => [
        level.name,
        String([...level.flows()].length),
        String(level.waiting + level.working === 0),
        String(level.isLeaving),
        String(level.waiting),
        String(level.working),
        String(level.seatsInUse),
        String(level.nominal),
        level.isExempt ? "-" : String(level.current),
      ]),
  ];
}

function flowRows(flowControl: FlowControl): string[][] {
  const rows = [
    [
      "PriorityLevelName",
      "Flow",
      "PendingRequests",
      "ExecutingRequests",
      "SeatsInUse",
      "NextStart",
    ],
  ];
  for (const level of flowControl.describeLevels()) {
    for (const { flow, waiting, working, seatsInUse, nextStart } of level.flows()) {
      const counts = [String(waiting.length), String(working), String(seatsInUse)];
      rows.push([level.name, nameOf(flow), ...counts, nextStart.toFixed(4)]);
    }
  }
  return rows;
}

function requestRows(flowControl: FlowControl): string[][] {
  const nowMs = performance.now();
  const rows = [["PriorityLevelName", "Flow", "QueueIndex", "RequestIndex", "Seats", "WaitedMs"]];
  for (const level of flowControl.describeLevels()) {
    for (const { flow, waiting } of level.flows()) {
      for (const [index, { queue, width, sinceMs }] of waiting.entries()) {
        const place = [String(queue), String(index), String(width)];
        rows.push([level.name, nameOf(flow), ...place, (nowMs - sinceMs).toFixed(0)]);
      }
    }
  }
  return rows;
}

/** "schema/distinguisher" for people. */
function nameOf(flow: string): string {
  return flow.replace("\u0000", "/");
}

/** Columns of equal width, with a comma behind each, as upstream prints them. */
function toTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) => `${cell},`.padEnd((widths[column] ?? 0) + 2))
      .join("")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}
