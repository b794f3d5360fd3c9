/**
 * Chaos scenarios as data, each with its promise: what may fail, what must not, how soon it recovers.
 * No scenario may lose an acknowledged write, answer a consistent read with a stale value, or leave a
 * gap in a watch; those are not limits but violations.
 */
import type { VerbName } from "./verbs.js";

export interface Step {
  /** Seconds after the begin, or when the one before is undone. */
  readonly at: number;
  readonly verb: VerbName;
  readonly index?: number;
  /** Seconds until it is undone, once it is done. */
  readonly lasts?: number;
}

export interface Scenario {
  readonly name: string;
  /** For people, and for the report. */
  readonly promise: string;
  readonly seconds: number;
  /** What a machine may not have. */
  readonly needs?: "rooms";
  readonly steps: readonly Step[];
  /** Requests that may fail without being told when to come again: none, or as many as break with what breaks. */
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
    name: "replica-silenced",
    promise:
      "A replica whose packets to etcd are lost answers 503 in time, and serves again when they arrive",
    seconds: 25,
    steps: [{ at: 3, verb: "silence replica's way to etcd", index: 1, lasts: 10 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "slow-way-to-etcd",
    promise: "A replica far from etcd is slow, and nothing else",
    seconds: 18,
    steps: [{ at: 3, verb: "slow way to etcd", index: 0, lasts: 8 }],
    failuresMax: NONE,
    relistsMax: NONE,
    recoverySecondsMax: 3,
  },
  {
    name: "lossy-way-to-etcd",
    promise: "A replica that loses one packet in ten on its way to etcd is slow, and nothing else",
    seconds: 18,
    steps: [{ at: 3, verb: "lossy way to etcd", index: 2, lasts: 8 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "etcd-member-parted",
    promise:
      "A minority of etcd that nobody reaches costs the requests that were on their way to it",
    seconds: 25,
    needs: "rooms",
    steps: [{ at: 3, verb: "part etcd member from everybody", index: 2, lasts: 10 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "etcd-leader-parted",
    promise: "When nobody reaches etcd's leader the others elect one, and all goes on",
    seconds: 25,
    needs: "rooms",
    steps: [{ at: 3, verb: "part etcd leader from everybody", lasts: 10 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "etcd-majority-parted",
    promise: "A minority of etcd acknowledges nothing and reads nothing stale, however long",
    seconds: 35,
    needs: "rooms",
    steps: [{ at: 3, verb: "part etcd majority from everybody", lasts: 10 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 15,
  },
  {
    name: "etcd-member-replaced",
    promise: "A member of etcd that is lost with its data is replaced while all goes on",
    seconds: 25,
    steps: [{ at: 3, verb: "replace etcd member", index: 0 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 5,
  },
  {
    name: "disk-full",
    promise: "A full disk of one etcd member costs the requests that were on their way to it",
    seconds: 25,
    needs: "rooms",
    steps: [{ at: 3, verb: "fill disk of etcd member", index: 1, lasts: 8 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 10,
  },
  {
    name: "all-disks-full",
    promise: "When all disks are full nothing is acknowledged that is not kept",
    seconds: 30,
    needs: "rooms",
    steps: [{ at: 3, verb: "fill disks of all etcd members", lasts: 8 }],
    failuresMax: ANY,
    relistsMax: NONE,
    recoverySecondsMax: 15,
  },
  {
    name: "rotation",
    promise:
      "Certificates and keys of all kinds are replaced without a restart, and nobody notices",
    seconds: 50,
    steps: [
      { at: 2, verb: "rotate serving certificate" },
      { at: 2, verb: "rotate authority of clients" },
      { at: 2, verb: "rotate keys of service accounts" },
      { at: 2, verb: "rotate keys of encryption" },
      { at: 2, verb: "restart all replicas, one after the other" },
    ],
    failuresMax: NONE,
    relistsMax: NONE,
    recoverySecondsMax: 1,
  },
  {
    name: "rolling-upgrade",
    promise:
      "Replicas of two releases serve side by side, and the change costs no list and no request",
    seconds: 60,
    steps: [{ at: 3, verb: "replace all replicas by an older release", lasts: 5 }],
    failuresMax: NONE,
    relistsMax: NONE,
    recoverySecondsMax: 1,
  },
  {
    name: "flooded",
    promise:
      "Load beyond what a replica can do is shed with 429 and Retry-After; probes, watches and administrators are served",
    seconds: 40,
    // Who waits for memory or a seat is told to come again after 15 s.
    steps: [{ at: 3, verb: "flood replica", index: 0, lasts: 24 }],
    failuresMax: NONE,
    relistsMax: NONE,
    recoverySecondsMax: 2,
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
