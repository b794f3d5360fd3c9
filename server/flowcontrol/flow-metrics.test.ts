import assert from "node:assert/strict";
import { test } from "node:test";
import { createNaming, DEFAULT_VENDOR } from "../api/naming.js";
import type { FamilyOptions, KeptHistogram } from "../request/metric-families.js";
import { parseRequestInfo } from "../request/request-info.js";
import { createUser } from "../request/user-info.js";
import { mandatoryObjects } from "./default-objects.js";
import { FlowControl } from "./flow-control.js";
import { createFlowTimes, observeFlowControl } from "./flow-metrics.js";
import { LevelUse } from "./level-use.js";
import { type LevelSetting, toLevelSetting, toSchemaSetting } from "./settings.js";

const SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const REQUESTS = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1];
const SEATS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const LEVEL = ["priority_level"];
const SCHEMA = ["flow_schema", "priority_level"];

/** The metrics of release 1.36: labels in alphabetical order; buckets of histograms. */
const KUBE_APISERVER: Readonly<Record<string, readonly [type: string, string[], number[]?]>> = {
  current_executing_requests: ["gauge", SCHEMA],
  current_executing_seats: ["gauge", SCHEMA],
  current_inqueue_requests: ["gauge", SCHEMA],
  current_inqueue_seats: ["gauge", SCHEMA],
  current_limit_seats: ["gauge", LEVEL],
  current_r: ["gauge", LEVEL],
  demand_seats: ["histogram", LEVEL, [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6]],
  demand_seats_average: ["gauge", LEVEL],
  demand_seats_high_watermark: ["gauge", LEVEL],
  demand_seats_smoothed: ["gauge", LEVEL],
  demand_seats_stdev: ["gauge", LEVEL],
  dispatch_r: ["gauge", LEVEL],
  dispatched_requests_total: ["counter", SCHEMA],
  latest_s: ["gauge", LEVEL],
  lower_limit_seats: ["gauge", LEVEL],
  next_discounted_s_bounds: ["gauge", ["bound", ...LEVEL]],
  next_s_bounds: ["gauge", ["bound", ...LEVEL]],
  nominal_limit_seats: ["gauge", LEVEL],
  priority_level_request_utilization: ["histogram", ["phase", ...LEVEL], REQUESTS],
  priority_level_seat_utilization: ["histogram", ["phase", ...LEVEL], SEATS],
  rejected_requests_total: ["counter", [...SCHEMA, "reason"]],
  request_dispatch_no_accommodation_total: ["counter", SCHEMA],
  request_execution_seconds: ["histogram", [...SCHEMA, "type"], SECONDS],
  request_queue_length_after_enqueue: ["histogram", SCHEMA, [0, 10, 25, 50, 100, 250, 500, 1000]],
  request_wait_duration_seconds: ["histogram", ["execute", ...SCHEMA], SECONDS],
  seat_fair_frac: ["gauge", []],
  target_seats: ["gauge", LEVEL],
  upper_limit_seats: ["gauge", LEVEL],
  watch_count_samples: ["histogram", SCHEMA, [0, 1, 10, 100, 1000, 10000]],
  work_estimated_seats: ["histogram", SCHEMA, [1, 2, 4, 8, 16, 32, 64, 100]],
};
/** docs/run/operations.md says why. */
const WITHOUT_COUNTERPART = ["epoch_advance_total", "read_vs_write_current_requests"];
const OURS = ["waiting_turns", "paused_connections"];

test("the metrics have kube-apiserver's names, types, labels and buckets", () => {
  const { families, found } = record();
  const times = createFlowTimes(families);
  observeFlowControl(families, openControl(times), { waiting: 0, pausedConnections: 0 });

  const made = Object.fromEntries(
    [...found].map(([name, { type, labelNames = [], buckets }]) => [
      name,
      [type, [...labelNames].sort(), ...(buckets === undefined ? [] : [[...buckets]])],
    ]),
  );
  for (const name of OURS) delete made[name];
  assert.deepEqual(made, KUBE_APISERVER);
  assert.deepEqual(
    WITHOUT_COUNTERPART.filter((name) => found.has(name)),
    [],
  );
});

test("what happens to requests shows in the metrics of their schema and level", async () => {
  const { families, read } = record();
  const control = openControl(createFlowTimes(families));
  observeFlowControl(families, control, { waiting: 0, pausedConnections: 0 });
  const user = createUser({ name: "jane", groups: ["system:authenticated"] });
  const enter = (method: string, path: string, nowMs: number) => {
    const info = parseRequestInfo(method, `/api/v1/namespaces/shop/${path}`);
    return control.enter({ user, info }, 1, nowMs);
  };
  const seatsOf = (entry: ReturnType<typeof enter>) => {
    assert.ok(entry.type === "seated", entry.type);
    return entry.seats;
  };
  const write = seatsOf(enter("POST", "pods", 0));
  const second = enter("GET", "pods?watch=1", 0);
  const wait = second.type === "waiting" ? second.wait(new AbortController().signal) : undefined;
  assert.ok(wait !== undefined);

  const of = (name: string, ...more: string[]) => read(name, "queued", "all", ...more);
  assert.deepEqual(
    [of("current_inqueue_requests"), of("current_inqueue_seats"), of("current_executing_seats")],
    [1, 1, 1],
  );
  assert.deepEqual(
    [
      read("next_s_bounds", "queued", "min"),
      read("next_discounted_s_bounds", "queued", "max"),
      read("current_r", "queued"),
    ],
    [0.003, 0, 0],
  );
  write.release(1000, 25);
  const watch = await wait;
  assert.ok("release" in watch);
  watch.release(3000);
  control.adjust(10_000);

  assert.equal(of("watch_count_samples"), "25");
  assert.equal(of("request_execution_seconds", "regular"), "1");
  assert.equal(String(of("request_execution_seconds", "watch")).split(",").length, 1);
  assert.equal(of("request_queue_length_after_enqueue"), "1,1");
  assert.equal(String(of("request_wait_duration_seconds", "true")).split(",").length, 2);
  assert.equal(of("dispatched_requests_total"), 2);
  assert.ok(Number(of("request_dispatch_no_accommodation_total")) >= 1);
  assert.equal(read("demand_seats_high_watermark", "queued"), 2);
  assert.ok(Number(read("demand_seats_average", "queued")) > 0);
  assert.ok(Number(read("target_seats", "queued")) >= 1);
});

test("use is weighted by time: each bucket has the nanoseconds for which the value was in it", () => {
  const use = new LevelUse(0);
  use.setCapacity(10, 100);
  use.note(15, 10, 5, 1, 1_000);
  use.note(5, 5, 1, 0, 1_250);

  const { demand, seats, executing, waiting } = use.read(2_000);

  const nonZero = ({ counts }: KeptHistogram) =>
    [...counts].flatMap((nanoseconds, bucket) => (nanoseconds > 0 ? [[bucket, nanoseconds]] : []));
  const [idle, full, half] = [1e9, 0.25e9, 0.75e9];
  assert.deepEqual(nonZero(demand), [
    [0, idle],
    [2, half],
    [7, full],
  ]);
  assert.equal(demand.sum, 1.5 * full + 0.5 * half);
  assert.deepEqual(nonZero(seats), [
    [0, idle],
    [5, half],
    [12, full],
  ]);
  assert.deepEqual(nonZero(executing), [
    [0, idle],
    [5, half],
    [7, full],
  ]);
  assert.deepEqual(nonZero(waiting), [
    [0, idle + half],
    [3, full],
  ]);
});

/** A level of one seat for everybody except administrators. */
function openControl(times: ReturnType<typeof createFlowTimes>): FlowControl {
  const { levels, schemas } = mandatoryObjects(createNaming(DEFAULT_VENDOR));
  const control = new FlowControl({
    seats: 2,
    patienceMs: 60_000,
    mandatory: { levels: levels.map(toLevelSetting), schemas: schemas.map(toSchemaSetting) },
    times,
    nowMs: 0,
  });
  const queued: LevelSetting = {
    name: "queued",
    uid: "",
    isExempt: false,
    shares: 1,
    lendablePercent: 0,
    borrowingLimitPercent: 0,
    queuing: { queues: 1, handSize: 1, queueLengthLimit: 10 },
  };
  const rule = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] };
  const all = toSchemaSetting({
    apiVersion: "",
    kind: "FlowSchema",
    metadata: { name: "all" },
    spec: {
      priorityLevelConfiguration: { name: "queued" },
      matchingPrecedence: 10,
      rules: [
        {
          subjects: [{ kind: "Group", group: { name: "system:authenticated" } }],
          resourceRules: [rule],
        },
      ],
    },
  });
  control.replace([queued], [all], 0);
  return control;
}

interface Found {
  readonly type: string;
  readonly labelNames?: readonly string[];
  readonly buckets?: readonly number[];
  /** By labels: the observed values, or those read by a scrape. */
  values(): Map<string, number | string>;
}

/** Families that record their observations, under names without the common prefix. */
function record() {
  const found = new Map<string, Found>();
  const put = ({ name }: FamilyOptions, one: Found) =>
    void found.set(name.replace("apiserver_flowcontrol_", ""), one);
  const families = {
    counter: (): never => assert.fail("counters are read from the state"),
    histogram(options: FamilyOptions & { readonly buckets: readonly number[] }) {
      const cells = new Map<string, number[]>();
      put(options, {
        ...options,
        type: "histogram",
        values: () => new Map([...cells].map(([key, values]) => [key, values.join()])),
      });
      return {
        cell(...labels: readonly string[]) {
          const values: number[] = [];
          cells.set(labels.join(), values);
          return { observe: (value: number) => void values.push(value) };
        },
      };
    },
    keptHistogram(options: FamilyOptions & { readonly buckets: readonly number[] }) {
      put(options, { ...options, type: "histogram", values: () => new Map() });
    },
    gauge(
      options: FamilyOptions,
      collect: (set: (value: number, ...labels: readonly string[]) => void) => void,
    ) {
      const type = options.name.endsWith("_total") ? "counter" : "gauge";
      put(options, {
        ...options,
        type,
        values() {
          const values = new Map<string, number>();
          collect((value, ...labels) => void values.set(labels.join(), value));
          return values;
        },
      });
    },
  };
  return {
    families,
    found,
    read: (name: string, ...labels: readonly string[]) =>
      found.get(name)?.values().get(labels.join()),
  };
}
