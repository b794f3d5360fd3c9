/**
 * What goes wrong, when, and for how long: a plan drawn from the seed, one fault after the other with
 * calm in between. A fault is always undone before the next begins, so that at most one etcd member
 * and one replica are in trouble at a time, and what is checked is recovery as well.
 */

import { sleep } from "./client.js";
import type { Cluster, Replica } from "./cluster.js";
import type { Random } from "./random.js";

export const FAULTS = [
  "replica-kill",
  "replica-pause",
  "etcd-kill",
  "etcd-pause",
  "partition",
  "partition-compact",
  "lose-answers",
  "compact",
  "replica-restart",
  "silence",
  "slow-link",
  "lossy-link",
  "etcd-part",
  "etcd-disk-full",
  "etcd-replace",
  "etcd-move-leader",
  "etcd-no-space",
  "defragment",
] as const;

export type Fault = (typeof FAULTS)[number];

/** Those that make sense without etcd. */
const EMBEDDED_FAULTS: readonly Fault[] = ["replica-kill", "replica-pause", "replica-restart"];

/** Those that pull cables and fill disks. */
const ROOM_FAULTS: readonly Fault[] = ["etcd-part", "etcd-disk-full"];

/** Those after which there is nothing to wait for. */
const MOMENTARY: readonly Fault[] = ["compact", "etcd-move-leader", "defragment"];

/** A mobile phone in a train. */
const SLOW_LINK = { delayMs: 60, bytesPerSecond: 200_000 };
const LOSSY_LINK = { delayMs: 5, lossShare: 0.1 };

const CALM_MS = [200, 1_500] as const;
const TROUBLE_MS = [200, 2_500] as const;

/** @throws {TypeError} a name that is none */
export function parseFaults(text: string): readonly Fault[] {
  if (text === "all") return FAULTS;
  if (text === "none" || text === "") return [];
  return text.split(",").map((name) => {
    const fault = FAULTS.find((known) => known === name);
    if (fault === undefined)
      throw new TypeError(`no fault is called ${name}: ${FAULTS.join(", ")}`);
    return fault;
  });
}

export interface FaultRun {
  /** By name, how often. */
  readonly counts: Map<Fault, number>;
  /** One line each, as they begin. */
  onFault(text: string): void;
}

/** Injects faults until `signal` aborts, then undoes the last. */
export async function runFaults(
  cluster: Cluster,
  wanted: readonly Fault[],
  random: Random,
  run: FaultRun,
  signal: AbortSignal,
): Promise<void> {
  const hasRooms = cluster.etcd?.members.every(({ room }) => room !== undefined) === true;
  const faults = wanted
    .filter((fault) => cluster.etcd !== undefined || EMBEDDED_FAULTS.includes(fault))
    .filter((fault) => hasRooms || !ROOM_FAULTS.includes(fault));
  while (!signal.aborted) {
    await pause(random.between(...CALM_MS), signal);
    if (signal.aborted || faults.length === 0) continue;
    const fault = random.pick(faults);
    const replica = random.pick(cluster.replicas);
    const member = random.between(0, (cluster.etcd?.members.length ?? 1) - 1);
    const ms = random.between(...TROUBLE_MS);
    run.counts.set(fault, (run.counts.get(fault) ?? 0) + 1);
    const target = fault.startsWith("etcd") ? `member ${member}` : `replica ${replica.index}`;
    run.onFault(MOMENTARY.includes(fault) ? fault : `${fault} ${target} for ${ms} ms`);
    await inject(fault, { cluster, replica, member, ms, signal });
  }
}

interface Target {
  readonly cluster: Cluster;
  readonly replica: Replica;
  readonly member: number;
  readonly ms: number;
  readonly signal: AbortSignal;
}

async function inject(fault: Fault, target: Target): Promise<void> {
  const { cluster, replica, ms, signal } = target;
  const { etcdAdmin: admin } = cluster;
  const member = cluster.etcd?.members[target.member];
  switch (fault) {
    case "replica-kill":
      await replica.kill();
      await pause(ms / 2, signal);
      replica.start();
      return;
    case "replica-pause":
      replica.pause();
      await pause(ms, signal);
      replica.resume();
      return;
    case "etcd-kill":
      await member?.kill();
      await pause(ms, signal);
      await member?.start();
      return;
    case "etcd-pause":
      member?.pause();
      await pause(ms, signal);
      member?.resume();
      return;
    case "partition":
    case "partition-compact":
      replica.partition();
      await pause(ms, signal);
      // What the replica missed is gone when it comes back, so it must load its view anew.
      if (fault === "partition-compact") await compact(cluster);
      replica.reconnect();
      return;
    case "lose-answers":
      replica.loseAnswers();
      await pause(ms, signal);
      replica.reconnect();
      return;
    case "compact":
      await compact(cluster);
      return;
    case "replica-restart":
      await replica.stop();
      replica.start();
      return;
    case "silence":
      replica.silence();
      await pause(ms, signal);
      replica.unsilence();
      return;
    case "slow-link":
    case "lossy-link":
      replica.setLinkQuality(fault === "slow-link" ? SLOW_LINK : LOSSY_LINK);
      await pause(ms, signal);
      replica.setLinkQuality({});
      return;
    case "etcd-part":
      await member?.room?.unplug();
      await pause(ms, signal);
      await member?.room?.plug();
      return;
    case "etcd-disk-full":
      await member?.room?.fillDisk();
      await pause(ms, signal);
      await member?.room?.freeDisk();
      // It may have ended by that; then somebody starts it again.
      await member?.restart();
      return;
    case "etcd-replace":
      await admin?.replaceMember(target.member);
      return;
    case "etcd-move-leader":
      await admin?.moveLeader().catch(() => {});
      return;
    case "etcd-no-space":
      await admin?.raiseNoSpace();
      await pause(ms, signal);
      await admin?.clearNoSpace();
      return;
    case "defragment":
      await admin?.defragment(target.member).catch(() => {});
  }
}

/** A store in trouble cannot be compacted; then there is nothing to undo either. */
async function compact(cluster: Cluster): Promise<void> {
  await cluster.compact().catch(() => {});
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  signal.addEventListener("abort", stop, { once: true });
  await Promise.race([sleep(ms), stopped]);
  signal.removeEventListener("abort", stop);
}
