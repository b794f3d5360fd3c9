/**
 * The debug pages of priority and fairness, as tables of text in kube-apiserver's columns and format. Service is by
 * flow and not by queue, so `dump_queues` has a flow's requests at work where its next one would wait.
 */
import type { Query } from "../request/query.js";
import { type FlowControl, type FlowRequest, schemaNameOf } from "./flow-control.js";
import type { Refusal, Waiter } from "./queue-set.js";

const PATH = "/debug/api_priority_and_fairness";

interface Page {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Rows = readonly (readonly string[])[];

/** By path. */
export function dumpDocuments(
  flowControl: FlowControl,
): Readonly<Record<string, (path: string, headers: object, query: Query) => Page>> {
  const page =
    (rows: (query: Query) => Rows) => (_path: string, _headers: object, query: Query) => ({
      status: 200,
      headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
      body: toTable(rows(query)),
    });
  return {
    [`${PATH}/dump_priority_levels`]: page(() => levelRows(flowControl)),
    [`${PATH}/dump_queues`]: page(() => queueRows(flowControl)),
    [`${PATH}/dump_requests`]: page((query) =>
      requestRows(flowControl, (query.get("includeRequestDetails") ?? "") !== ""),
    ),
  };
}

const LEVEL_COLUMNS = [
  ...["PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests"],
  ...["ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests"],
  "CancelledRequests",
];

function levelRows(flowControl: FlowControl): Rows {
  const schemas = flowControl.describeSchemas();
  const rows = flowControl.describeLevels().map((level) => {
    const own = schemas.filter((schema) => schema.level === level.name);
    const dispatched = own.reduce((sum, { counts }) => sum + counts.dispatched, 0);
    const refused = (...why: readonly Refusal[]) =>
      own.reduce(
        (sum, { counts }) => why.reduce((total, one) => total + (counts.rejected[one] ?? 0), sum),
        0,
      );
    const active = new Set([...level.flows()].flatMap(({ waiting }) => waiting.map(queueOf)));
    return [
      level.name,
      String(active.size),
      String(level.isIdle),
      String(level.isLeaving),
      String(level.waiting),
      String(level.working),
      String(dispatched),
      String(refused("queue-full", "concurrency-limit")),
      String(refused("time-out")),
      String(refused("cancelled")),
    ];
  });
  return [LEVEL_COLUMNS, ...rows];
}

const QUEUE_COLUMNS = [
  ...["PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse"],
  ...["NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum"],
];

/** What is in one queue. */
interface QueueState {
  pending: number;
  working: number;
  seatsInUse: number;
  /** Where the flow stands that is next. */
  next: number;
  seats: number;
  work: number;
}

function queueRows(flowControl: FlowControl): Rows {
  const rows: string[][] = [];
  for (const { name, queuing, flows } of flowControl.describeLevels()) {
    const queues = Array.from({ length: queuing?.queues ?? 0 }, emptyQueue);
    for (const { queue, waiting, working, seatsInUse, nextStart, expectedWork } of flows()) {
      // A request may still wait in a queue of an earlier configuration.
      const at = queues[queue ?? -1];
      if (at === undefined) continue;
      at.next = at.pending + at.working === 0 ? nextStart : Math.min(at.next, nextStart);
      at.working += working;
      at.seatsInUse += seatsInUse;
      at.work += expectedWork;
      for (const waiter of waiting) {
        const own = queues[waiter.queue] ?? at;
        own.pending++;
        own.seats += waiter.width;
      }
    }
    for (const [index, { pending, working, seatsInUse, next, seats, work }] of queues.entries()) {
      const sum = String(seats);
      const counts = [index, pending, working, seatsInUse].map(String);
      rows.push([name, ...counts, seatSeconds(next), sum, sum, seatSeconds(work)]);
    }
  }
  return [QUEUE_COLUMNS, ...rows];
}

function emptyQueue(): QueueState {
  return { pending: 0, working: 0, seatsInUse: 0, next: 0, seats: 0, work: 0 };
}

const REQUEST_COLUMNS = [
  ...["PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue"],
  // kube-apiserver's spelling, which programs look for.
  ...["FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency"],
  "StartTime",
];
const DETAIL_COLUMNS = [
  ...["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"],
];
/** How the absence of a time is written. */
const NO_TIME = "0001-01-01T00:00:00Z";
/** The place of a request in a queue once it has left it. */
const NOT_QUEUED = { queue: -1, index: -1 };

function requestRows(flowControl: FlowControl, hasDetails: boolean): Rows {
  const rows: string[][] = [];
  for (const { name: level, flows, waiters, executing } of flowControl.describeLevels()) {
    const add = (listed: ListedRequest) => {
      const details = hasDetails ? detailsOf(listed.request) : [];
      rows.push([level, ...requestCells(listed), ...details]);
    };
    for (const { flow, request, width, arrivedMs, startMs } of executing) {
      add({ ...NOT_QUEUED, flow, request, width, arrivedMs, startMs });
    }
    for (const { flow, waiting } of flows()) {
      for (const [index, waiter] of waiting.entries()) {
        const { queue, width, sinceMs: arrivedMs } = waiter;
        add({ queue, index, flow, request: waiters.get(waiter), width, arrivedMs });
      }
    }
  }
  return [hasDetails ? [...REQUEST_COLUMNS, ...DETAIL_COLUMNS] : REQUEST_COLUMNS, ...rows];
}

interface ListedRequest {
  readonly queue: number;
  readonly index: number;
  readonly flow: string;
  readonly request: FlowRequest | undefined;
  readonly width: number;
  readonly arrivedMs: number;
  /** Undefined while it waits. */
  readonly startMs?: number;
}

function requestCells({ queue, index, flow, width, arrivedMs, startMs }: ListedRequest): string[] {
  return [
    schemaNameOf(flow),
    String(queue),
    String(index),
    distinguisherOf(flow),
    timeOf(arrivedMs),
    String(width),
    "0",
    "0s",
    startMs === undefined ? NO_TIME : timeOf(startMs),
  ];
}

function timeOf(ms: number): string {
  return new Date(performance.timeOrigin + ms).toISOString();
}

function detailsOf(request: FlowRequest | undefined): string[] {
  if (request === undefined) return DETAIL_COLUMNS.map(() => "");
  const { user, info } = request;
  const { verb, path, namespace, name, group, version, resource, subresource } = info;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  return [user.name, verb, path, namespace, name, apiVersion, resource, subresource];
}

function queueOf({ queue }: Pick<Waiter, "queue">): number {
  return queue;
}

function seatSeconds(value: number): string {
  return `${value.toFixed(8)}ss`;
}

function distinguisherOf(flow: string): string {
  return flow.slice(flow.indexOf("\u0000") + 1);
}

/** The least width of a column, with what separates it from the next. */
const COLUMN_MIN = 8;

/** Columns of equal width, with a comma between them, as kube-apiserver prints them. */
function toTable(rows: Rows): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((most, row) => Math.max(most, (row[column] ?? "").length + 2), COLUMN_MIN),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === row.length - 1 ? cell : `${cell},`.padEnd(widths[column] ?? 0),
      )
      .join(""),
  );
  return `${lines.join("\n")}\n`;
}
