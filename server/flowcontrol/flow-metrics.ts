/** What flow control counts, under upstream's names. Counters are plain numbers; scrapes read them. */
import type { MetricFamilies } from "../request/metric-families.js";
import type { FlowControl } from "./flow-control.js";
import type { FlowTimes, SchemaCounts } from "./flow-counts.js";
import type { Turns } from "./turns.js";

const PREFIX = "apiserver_flowcontrol_";
const WAIT_SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const;
const WORK_SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30] as const;
const SEATS = [1, 2, 4, 10] as const;

export function createFlowTimes(families: MetricFamilies): FlowTimes {
  const byLevel = ["priority_level", "flow_schema"];
  const waits = families.histogram({
    name: `${PREFIX}request_wait_duration_seconds`,
    help: "Length of time a request spent waiting in its queue.",
    labelNames: [...byLevel, "execute"],
    buckets: WAIT_SECONDS,
  });
  const work = families.histogram({
    name: `${PREFIX}request_execution_seconds`,
    help: "Duration of initial stage of request execution.",
    labelNames: byLevel,
    buckets: WORK_SECONDS,
  });
  const widths = families.histogram({
    name: `${PREFIX}work_estimated_seats`,
    help: "Number of seats that a request is expected to take.",
    labelNames: byLevel,
    buckets: SEATS,
  });
  return (level, schema) => {
    const [workCell, widthCell] = [work.cell(level, schema), widths.cell(level, schema)];
    return {
      waited: (isExecuted, seconds) =>
        waits.cell(level, schema, String(isExecuted)).observe(seconds),
      worked: (seconds) => workCell.observe(seconds),
      estimated: (seats) => widthCell.observe(seats),
    };
  };
}

/** Gauges and counters that are read from the state at each scrape. */
export function observeFlowControl(
  families: MetricFamilies,
  flowControl: FlowControl,
  turns: Pick<Turns, "waiting">,
): void {
  const byLevel = ["priority_level"];
  const bySchema = [...byLevel, "flow_schema"];
  const ofLevels = (
    name: string,
    help: string,
    read: (level: ReturnType<FlowControl["describeLevels"]>[number]) => number,
  ) =>
    families.gauge({ name: `${PREFIX}${name}`, help, labelNames: byLevel }, (set) => {
      for (const level of flowControl.describeLevels()) set(read(level), level.name);
    });
  const ofSchemas = (name: string, help: string, read: (counts: SchemaCounts) => number) =>
    families.gauge({ name: `${PREFIX}${name}`, help, labelNames: bySchema }, (set) => {
      for (const { level, schema, counts } of flowControl.describeSchemas()) {
        set(read(counts), level, schema);
      }
    });
  ofLevels("nominal_limit_seats", "Seats of a level by its shares.", ({ nominal }) => nominal);
  ofLevels("lower_limit_seats", "The least seats of a level.", ({ lower }) => lower);
  ofLevels("upper_limit_seats", "The most seats of a level.", ({ upper }) => upper);
  ofLevels("current_limit_seats", "Seats of a level now.", ({ current }) => current);
  ofLevels("demand_seats_smoothed", "Smoothed demand of a level.", ({ smoothed }) => smoothed);
  ofLevels("demand_seats", "Seats that are in use or waited for.", ({ demand }) => demand);
  ofSchemas("current_executing_requests", "Requests at work.", ({ executing }) => executing);
  ofSchemas("current_executing_seats", "Seats in use.", ({ executingSeats }) => executingSeats);
  ofSchemas("current_inqueue_requests", "Requests that wait.", ({ inQueue }) => inQueue);
  ofSchemas("dispatched_requests_total", "Requests that got seats.", (one) => one.dispatched);
  families.gauge(
    {
      name: `${PREFIX}rejected_requests_total`,
      help: "Number of requests rejected by API Priority and Fairness.",
      labelNames: [...bySchema, "reason"],
    },
    (set) => {
      for (const { level, schema, counts } of flowControl.describeSchemas()) {
        for (const [reason, count] of Object.entries(counts.rejected)) {
          set(count, level, schema, reason);
        }
      }
    },
  );
  families.gauge(
    { name: `${PREFIX}seat_fair_frac`, help: "Fair share of the seats.", labelNames: [] },
    (set) => set(flowControl.fairShare),
  );
  families.gauge(
    { name: `${PREFIX}waiting_turns`, help: "Work that waits for the thread.", labelNames: [] },
    (set) => set(turns.waiting),
  );
}
