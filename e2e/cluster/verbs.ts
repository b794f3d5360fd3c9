/** Faults as verbs: each begins something that goes wrong and gives what undoes it. */
import type { Topology } from "./topology.js";

export interface VerbTarget {
  readonly topology: Topology;
  /** Which replica or member, by its place. */
  readonly index: number;
}

/** Undoes the fault; what has nothing to undo gives nothing. */
type Undo = () => Promise<void> | void;

type Verb = (target: VerbTarget) => Promise<Undo | undefined>;

const replica = ({ topology, index }: VerbTarget) => {
  const found = topology.replicas[index];
  if (found === undefined) throw new RangeError(`there is no replica ${index}`);
  return found;
};

const member = ({ topology, index }: VerbTarget) => {
  const found = topology.cluster.etcd?.members[index];
  if (found === undefined) throw new RangeError(`there is no etcd member ${index}`);
  return found;
};

export const VERBS = {
  "kill replica": async (target) => {
    await replica(target).kill();
    return async () => {
      replica(target).start();
      await replica(target).waitUntilReady();
    };
  },
  "pause replica": async (target) => {
    replica(target).pause();
    return () => replica(target).resume();
  },
  "part replica from etcd": async (target) => {
    replica(target).partition();
    return () => replica(target).reconnect();
  },
  "lose etcd's answers to replica": async (target) => {
    replica(target).loseAnswers();
    return () => replica(target).reconnect();
  },
  "restart replica": async (target) => {
    await replica(target).stop();
    replica(target).start();
    await replica(target).waitUntilReady();
    return undefined;
  },
  "restart all replicas, one after the other": async (target) => {
    for (const index of target.topology.replicas.keys()) {
      await VERBS["restart replica"]({ ...target, index });
    }
    return undefined;
  },
  "kill etcd member": async (target) => {
    await member(target).kill();
    return () => member(target).start();
  },
  "kill etcd leader": async ({ topology }) => {
    const index = await topology.etcd.leader();
    await member({ topology, index }).kill();
    return () => member({ topology, index }).start();
  },
  "pause etcd member": async (target) => {
    member(target).pause();
    return () => member(target).resume();
  },
  "kill etcd majority": async ({ topology }) => {
    const indexes = [...(topology.cluster.etcd?.members.keys() ?? [])].slice(1);
    await Promise.all(indexes.map((index) => member({ topology, index }).kill()));
    return async () => {
      await Promise.all(indexes.map((index) => member({ topology, index }).start()));
    };
  },
  "move etcd leader": async ({ topology }) => {
    await topology.etcd.moveLeader();
    return undefined;
  },
  "compact etcd": async ({ topology }) => {
    await topology.cluster.compact();
    return undefined;
  },
  "defragment etcd member": async ({ topology, index }) => {
    await topology.etcd.defragment(index);
    return undefined;
  },
  "etcd has no space": async ({ topology }) => {
    await topology.etcd.raiseNoSpace();
    return () => topology.etcd.clearNoSpace();
  },
  "kill Redis": async ({ topology }) => {
    await topology.redis?.kill();
    return () => topology.redis?.restart();
  },
  "stall Redis": async ({ topology }) => {
    topology.redis?.pause();
    return () => topology.redis?.resume();
  },
  "restart balancer": async ({ topology }) => {
    await topology.balancer?.restart();
    return undefined;
  },
} as const satisfies Record<string, Verb>;

export type VerbName = keyof typeof VERBS;
