/**
 * Wiring of priority and fairness: the stored configuration is followed in the turn of the feed;
 * request widths come from the view, which knows a list's size in advance.
 */
import { runAtIntervals, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { PartitionObserver } from "../../storage/cache/partition-observer.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { partitionId } from "../../storage/objects/keys.js";
import type { StoredObject } from "../../storage/objects/stored-object.js";
import type { ApiObject } from "../api/meta.js";
import { withFlowControl } from "../chain/flow-control.js";
import type { Config } from "../config/config.js";
import { mandatoryObjects } from "../flowcontrol/default-objects.js";
import { dumpDocuments } from "../flowcontrol/dump.js";
import { ADJUST_INTERVAL_MS, FlowControl } from "../flowcontrol/flow-control.js";
import { createFlowTimes, observeFlowControl } from "../flowcontrol/flow-metrics.js";
import {
  type LevelSetting,
  type SchemaSetting,
  toLevelSetting,
  toSchemaSetting,
} from "../flowcontrol/settings.js";
import type { Turns } from "../flowcontrol/turns.js";
import { listWidth } from "../flowcontrol/width.js";
import type { DocumentHandler } from "../http/routes.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import type { Metrics } from "../metrics/metrics.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestStep } from "../request/step.js";
import type { UserInfo } from "../request/user-info.js";
import { partitionOf, sizesOf } from "./listed-sizes.js";

export interface FlowControlStep {
  readonly step: RequestStep;
  /** Whether the request belongs to a level that never refuses. */
  readonly isExempt: (user: UserInfo, info: RequestInfo) => boolean;
  /** Whether the thread is kept idle at times for the sake of flows without a backlog. */
  readonly isHoldingBack: () => boolean;
  /** Debug pages by path. */
  readonly documents: Readonly<Record<string, DocumentHandler>>;
  /** Adjusts limits to the demand. */
  spawn(lifecycle: Lifecycle): void;
}

/** How long a request may wait for seats, as a share of its deadline (as kube-apiserver). */
const PATIENCE_PART = 1 / 4;

/**
 * Undefined if the flags use the two in-flight limits. Must be called before the view has started.
 */
export function createFlowControl(options: {
  readonly config: Config;
  readonly view: RegistryView;
  readonly catalog: CatalogSource;
  readonly metrics: Metrics;
  /** Of the process. */
  readonly turns: Turns;
  readonly turnLevel?: string | undefined;
}): FlowControlStep | undefined {
  const { config, view, metrics, turns, turnLevel } = options;
  const { maxRequestsInflight, maxMutatingRequestsInflight, naming } = config;
  const seats = maxRequestsInflight + maxMutatingRequestsInflight;
  if (!config.enablePriorityAndFairness || seats === 0) return undefined;
  const mandatory = mandatoryObjects(naming);
  const flowControl = new FlowControl({
    seats,
    patienceMs: config.requestTimeoutMs * PATIENCE_PART,
    mandatory: {
      levels: mandatory.levels.map(toLevelSetting),
      schemas: mandatory.schemas.map(toSchemaSetting),
    },
    times: createFlowTimes(metrics),
    nowMs: performance.now(),
    turnLevel,
  });
  observeFlowControl(metrics, flowControl, turns);
  const group = `flowcontrol.apiserver.${naming.groupDomain}`;
  const levels = new Map<string, LevelSetting>();
  const schemas = new Map<string, SchemaSetting>();
  const apply = () =>
    flowControl.replace([...levels.values()], [...schemas.values()], performance.now());
  const partition = (resource: string) => view.partition(partitionId(group, resource));
  partition("prioritylevelconfigurations").observe(keep(levels, toLevelSetting, apply));
  partition("flowschemas").observe(keep(schemas, toSchemaSetting, apply));
  const sizeOf = sizesOf(options);
  return {
    isExempt: (user, info) => flowControl.isExempt(user, info),
    isHoldingBack: () => turns.isHoldingBack(performance.now()),
    step: withFlowControl({
      flowControl,
      turns,
      widthOf: (info) => listWidth(info, (namespace) => sizeOf(info, namespace)),
      watchersOf: (info) => partitionOf(options, info)?.watchers ?? 0,
      metrics,
    }),
    documents: dumpDocuments(flowControl),
    spawn(lifecycle) {
      const intervals = { clock: systemClock, intervalMs: ADJUST_INTERVAL_MS };
      lifecycle.spawn("flow-control", "restart", (signal) =>
        runAtIntervals(intervals, () => flowControl.adjust(performance.now()), signal),
      );
    },
  };
}

/** Keeps parsed values of a partition's objects, by path. */
function keep<T>(
  settings: Map<string, T>,
  read: (object: ApiObject) => T,
  changed: () => void,
): PartitionObserver {
  const put = (object: StoredObject): undefined => {
    if (object.corruption !== undefined) settings.delete(object.path);
    else settings.set(object.path, read(JSON.parse(object.bytes.toString("utf8")) as ApiObject));
  };
  return {
    replaced(objects) {
      settings.clear();
      objects.visit("", "", put);
      changed();
    },
    put(object) {
      put(object);
      changed();
    },
    deleted(previous) {
      settings.delete(previous.path);
      changed();
    },
  };
}
