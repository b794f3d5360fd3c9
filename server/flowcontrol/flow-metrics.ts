/**
 * What flow control counts, under kube-apiserver's names, with its labels and buckets. Counters are plain numbers;
 * scrapes read them.
 */
import type { KeptMetricFamilies, MetricFamilies } from "../request/metric-families.js";
import type { FlowControl } from "./flow-control.js";
import type { FlowTimes, SchemaCounts } from "./flow-counts.js";
import { DEMAND_BUCKETS, REQUEST_BUCKETS, SEAT_BUCKETS } from "./level-use.js";
import type { Turns } from "./turns.js";

const PREFIX = "apiserver_flowcontrol_";
const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const;
const SEATS = [1, 2, 4, 8, 16, 32, 64, 100] as const;
const QUEUE_LENGTHS = [0, 10, 25, 50, 100, 250, 500, 1000] as const;
const WATCHERS = [0, 1, 10, 100, 1000, 10_000] as const;
const BY_LEVEL = ["priority_level"] as const;
const BY_SCHEMA = [...BY_LEVEL, "flow_schema"] as const;

type LevelDescription = ReturnType<FlowControl["describeLevels"]>[number];

export function createFlowTimes(families: MetricFamilies): FlowTimes {
  const bySchema = (
    name: string,
    help: string,
    buckets: readonly number[],
    ...more: readonly string[]
  ) =>
    families.histogram({
      name: `${PREFIX}${name}`,
      help,
      labelNames: [...BY_SCHEMA, ...more],
      buckets,
    });
  const waits = bySchema(
    "request_wait_duration_seconds",
    "Length of time a request spent waiting in its queue.",
    SECONDS,
    "execute",
  );
  const work = bySchema(
    "request_execution_seconds",
    "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution.",
    SECONDS,
    "type",
  );
  const widths = bySchema(
    "work_estimated_seats",
    "Number of seats that a request is expected to take.",
    SEATS,
  );
  const lengths = bySchema(
    "request_queue_length_after_enqueue",
    "Length of a queue, as seen by each request after it is enqueued.",
    QUEUE_LENGTHS,
  );
  const watchers = bySchema("watch_count_samples", "Watchers for mutating requests.", WATCHERS);
  return (level, schema) => {
    const of = [level, schema] as const;
    const [executed, refused] = [waits.cell(...of, "true"), waits.cell(...of, "false")];
    const [regular, watch] = [work.cell(...of, "regular"), work.cell(...of, "watch")];
    const [width, length, told] = [widths.cell(...of), lengths.cell(...of), watchers.cell(...of)];
    return {
      waited: (isExecuted, seconds) => (isExecuted ? executed : refused).observe(seconds),
      worked: (isWatch, seconds) => (isWatch ? watch : regular).observe(seconds),
      estimated: (seats) => width.observe(seats),
      queued: (requests) => length.observe(requests),
      watched: (count) => told.observe(count),
    };
  };
}

/** Gauges and counters that are read from the state at each scrape. */
export function observeFlowControl(
  families: KeptMetricFamilies,
  flowControl: FlowControl,
  turns: Pick<Turns, "waiting" | "pausedConnections">,
): void {
  observeLevels(families, flowControl);
  observeVirtualTimes(families, flowControl);
  observeUse(families, flowControl);
  observeSchemas(families, flowControl);
  families.gauge({ name: `${PREFIX}seat_fair_frac`, help: "Fair share of the seats." }, (set) =>
    set(flowControl.fairShare),
  );
  families.gauge(
    { name: `${PREFIX}waiting_turns`, help: "Work that waits for the thread." },
    (set) => set(turns.waiting),
  );
  const help = "Connections that are not read while their flow has a backlog.";
  families.gauge({ name: `${PREFIX}paused_connections`, help }, (set) =>
    set(turns.pausedConnections),
  );
}

function observeLevels(families: MetricFamilies, flowControl: FlowControl): void {
  const gauge = (name: string, help: string, read: (level: LevelDescription) => number) =>
    families.gauge({ name: `${PREFIX}${name}`, help, labelNames: BY_LEVEL }, (set) => {
      for (const level of flowControl.describeLevels()) set(read(level), level.name);
    });
  gauge("nominal_limit_seats", "Seats of a level by its shares.", ({ nominal }) => nominal);
  gauge("lower_limit_seats", "The least seats of a level.", ({ lower }) => lower);
  gauge("upper_limit_seats", "The most seats of a level.", ({ upper }) => upper);
  gauge("current_limit_seats", "Seats of a level now.", ({ current }) => current);
  const period = "over the last adjustment period";
  gauge("demand_seats_high_watermark", `Most wanted seats ${period}.`, (one) => one.wanted.high);
  gauge("demand_seats_average", `Mean of wanted seats ${period}.`, (one) => one.wanted.mean);
  gauge(
    "demand_seats_stdev",
    `Standard deviation of wanted seats ${period}.`,
    (one) => one.wanted.deviation,
  );
  gauge("demand_seats_smoothed", "Smoothed demand of a level.", ({ smoothed }) => smoothed);
  gauge("target_seats", "Seats that a level should have.", ({ target }) => target);
}

function observeVirtualTimes(families: MetricFamilies, flowControl: FlowControl): void {
  const gauge = (name: string, help: string, read: (level: LevelDescription) => number) =>
    families.gauge({ name: `${PREFIX}${name}`, help, labelNames: BY_LEVEL }, (set) => {
      for (const level of flowControl.describeLevels()) {
        if (level.queuing !== undefined) set(read(level), level.name);
      }
    });
  gauge("current_r", "R at the last change.", ({ virtual }) => virtual.r);
  gauge("dispatch_r", "R at the last start of a request.", ({ virtual }) => virtual.startR);
  gauge("latest_s", "S of the last request that started.", ({ virtual }) => virtual.latestStart);
  const bounds = (name: string, help: string, of: "next" | "nextDiscounted") =>
    families.gauge(
      { name: `${PREFIX}${name}`, help, labelNames: [...BY_LEVEL, "bound"] },
      (set) => {
        for (const { name: level, virtual } of flowControl.describeLevels()) {
          const { min, max } = virtual[of] ?? {};
          if (min === undefined || max === undefined) continue;
          set(min, level, "min");
          set(max, level, "max");
        }
      },
    );
  bounds("next_s_bounds", "Least and largest S of those that are next of their flow.", "next");
  bounds(
    "next_discounted_s_bounds",
    "The same without the work that is expected of what is under way.",
    "nextDiscounted",
  );
}

/** kube-apiserver's histograms over time; a second in a bucket counts there as 1e9. */
function observeUse(families: KeptMetricFamilies, flowControl: FlowControl): void {
  families.keptHistogram(
    {
      name: `${PREFIX}demand_seats`,
      help: "Nanoseconds by wanted seats as a part of the level's seats.",
      labelNames: BY_LEVEL,
      buckets: DEMAND_BUCKETS,
    },
    (set) => {
      for (const { name, use } of flowControl.describeLevels()) set(use.demand, name);
    },
  );
  families.keptHistogram(
    {
      name: `${PREFIX}priority_level_seat_utilization`,
      help: "Nanoseconds by seats in use as a part of the level's seats.",
      labelNames: [...BY_LEVEL, "phase"],
      buckets: SEAT_BUCKETS,
    },
    (set) => {
      for (const { name, use } of flowControl.describeLevels()) set(use.seats, name, "executing");
    },
  );
  families.keptHistogram(
    {
      name: `${PREFIX}priority_level_request_utilization`,
      help: "Nanoseconds by requests at work as a part of the level's seats, or waiting as a part of its places.",
      labelNames: ["phase", ...BY_LEVEL],
      buckets: REQUEST_BUCKETS,
    },
    (set) => {
      for (const { name, use } of flowControl.describeLevels()) {
        set(use.executing, "executing", name);
        set(use.waiting, "waiting", name);
      }
    },
  );
}

function observeSchemas(families: MetricFamilies, flowControl: FlowControl): void {
  const gauge = (name: string, help: string, read: (counts: SchemaCounts) => number) =>
    families.gauge({ name: `${PREFIX}${name}`, help, labelNames: BY_SCHEMA }, (set) => {
      for (const { level, schema, counts } of flowControl.describeSchemas()) {
        set(read(counts), level, schema);
      }
    });
  gauge("current_executing_requests", "Requests at work.", ({ executing }) => executing);
  gauge("current_executing_seats", "Seats in use.", ({ executingSeats }) => executingSeats);
  gauge("current_inqueue_requests", "Requests that wait.", ({ inQueue }) => inQueue);
  gauge("current_inqueue_seats", "Seats that are waited for.", ({ inQueueSeats }) => inQueueSeats);
  gauge("dispatched_requests_total", "Requests that got seats.", (one) => one.dispatched);
  gauge(
    "request_dispatch_no_accommodation_total",
    "Times that a request was next and found too few seats.",
    ({ noRoom }) => noRoom,
  );
  families.gauge(
    {
      name: `${PREFIX}rejected_requests_total`,
      help: "Number of requests rejected by API Priority and Fairness.",
      labelNames: [...BY_SCHEMA, "reason"],
    },
    (set) => {
      for (const { level, schema, counts } of flowControl.describeSchemas()) {
        for (const [reason, count] of Object.entries(counts.rejected)) {
          set(count, level, schema, reason);
        }
      }
    },
  );
}
