/**
 * Chaos scenarios as data, each with its promise: what may fail, what must not, how soon it recovers.
 * No scenario may lose an acknowledged write, answer a consistent read with a stale value, or leave a
 * gap in a watch; those are not limits but violations.
 */
import type { VerbName } from "./verbs.js";

export interface Step {
  /** Seconds after the begin. */
  readonly at: number;
  readonly verb: VerbName;
  readonly index?: number;
  /** Seconds until it is undone. */
  readonly lasts?: number;
}

export interface Scenario {
  readonly name: string;
  /** For people, and for the report. */
  readonly promise: string;
  readonly seconds: number;
  readonly steps: readonly Step[];
  /** Requests that may fail: none, those while a fault is on, or as many as a share. */
  readonly failuresMax: number;
  readonly relistsMax: number;
  /** From the end of the last fault until all requests succeed again. */
  readonly recoverySecondsMax: number;
}

const NONE = 0;
/** Each connection to the balancer may break once, and one is retried at most a few times. */
const CONNECTIONS = 200;
const ANY = Number.POSITIVE_INFINITY;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "rolling-restart",
    promise: "Replacing all replicas, one after the other, costs no list and no request",
    seconds: 30,
    steps: [{ at: 3, verb: "restart all replicas, one after the other" }],
    failuresMax: NONE,
    relistsMax: NONE,
    recoverySecondsMax: 1,
  },
  {
    name: "replica-killed",
    promise: "A replica that is killed breaks its connections, and nothing else",
    seconds: 15,
    steps: [{ at: 3, verb: "kill replica", index: 1, lasts: 4 }],
    failuresMax: CONNECTIONS,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "etcd-leader-killed",
    promise: "While etcd elects another leader writes wait or fail; then all goes on",
    seconds: 20,
    steps: [{ at: 3, verb: "kill etcd leader", lasts: 6 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "etcd-leader-moved",
    promise: "Moving etcd's leader, compacting and defragmenting costs nobody a watch",
    seconds: 15,
    steps: [
      { at: 2, verb: "move etcd leader" },
      { at: 5, verb: "compact etcd" },
      { at: 7, verb: "defragment etcd member", index: 1 },
    ],
    failuresMax: CONNECTIONS,
    relistsMax: NONE,
    recoverySecondsMax: 3,
  },
  {
    name: "replica-parted",
    promise: "A replica that is cut off from etcd answers 503 and is left alone by the balancer",
    seconds: 25,
    steps: [{ at: 3, verb: "part replica from etcd", index: 0, lasts: 10 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "replica-paused",
    promise: "A replica that stands still for half a minute answers nothing stale when it goes on",
    seconds: 50,
    steps: [{ at: 3, verb: "pause replica", index: 2, lasts: 30 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 10,
  },
  {
    name: "etcd-majority-lost",
    promise:
      "Without a majority nothing is acknowledged and nothing stale is read; all comes back with it",
    seconds: 40,
    steps: [{ at: 3, verb: "kill etcd majority", lasts: 10 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 15,
  },
  {
    name: "etcd-full",
    promise: "When etcd's space is used up writes are refused, and reads and watches go on",
    seconds: 20,
    steps: [{ at: 3, verb: "etcd has no space", lasts: 6 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 3,
  },
  {
    name: "redis-lost",
    promise: "Redis costs latency of decisions when it is away, never a request",
    seconds: 20,
    steps: [
      { at: 3, verb: "kill Redis", lasts: 5 },
      { at: 10, verb: "stall Redis", lasts: 5 },
    ],
    failuresMax: NONE,
    relistsMax: NONE,
    recoverySecondsMax: 1,
  },
  {
    name: "balancer-restarted",
    promise: "A balancer that dies breaks all connections once",
    seconds: 12,
    steps: [{ at: 3, verb: "restart balancer" }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 4,
  },
];

export function findScenario(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found !== undefined) return found;
  throw new RangeError(
    `no scenario is called ${name}: ${SCENARIOS.map((one) => one.name).join(", ")}`,
  );
}
