/**
 * Faults, and what operators do, as verbs: each begins something and gives what undoes it.
 *
 * The ways between replicas and etcd are programs (e2e/tools/tcp-proxy.ts), so they can be cut, silent,
 * slow or lossy on any machine. The cables and disks of etcd's members are real ones of the kernel
 * (e2e/tools/lab.ts), where it permits that.
 */
import type { Release } from "../consistency/cluster.js";
import { FLOODER, Flood } from "./flood.js";
import type { Topology } from "./topology.js";

export interface VerbTarget {
  readonly topology: Topology;
  /** Which replica or member, by its place. */
  readonly index: number;
}

/** Undoes the fault, and may say what was seen; what has nothing to undo gives nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: most have nothing to say
type Undo = () => Promise<string | void> | string | void;

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

const room = (target: VerbTarget) => {
  const found = member(target).room;
  if (found === undefined) throw new Error("members have no rooms on this machine");
  return found;
};

/** Members 1 and up: of three, a majority. */
const majority = ({ topology }: VerbTarget) =>
  [...(topology.cluster.etcd?.members.keys() ?? [])].slice(1);

const unplug = async (target: VerbTarget): Promise<Undo> => {
  await room(target).unplug();
  return () => room(target).plug();
};

/** Each in turn ends in good order and comes back as this release; the next follows when it gets connections. */
const replaceAll = async ({ topology }: VerbTarget, release: Release): Promise<void> => {
  for (const [index, one] of topology.replicas.entries()) {
    await one.stop();
    one.become(release);
    one.start();
    await one.waitUntilReady();
    await topology.balancer?.noticed(index);
  }
};

/** So slow that every alert on latency is for it; leases of 15 s are kept alive over it all the same. */
const CRAWLING_LINK = { delayMs: 1_100 };
/** A far region behind a thin line, and a wire of which one packet in ten is lost. */
const SLOW_LINK = { delayMs: 60, bytesPerSecond: 250_000 };
const LOSSY_LINK = { delayMs: 5, lossShare: 0.1 };

/** A replica that the machine gives no time again and again, and for how long at a time. */
const STARVED_MS = 400;
const RUNNING_MS = 200;

/** An older build where the environment names its main.js; else this one as it emulates the one before. */
const OLDER: Release =
  process.env.KEELSON_OLDER_MAIN === undefined
    ? { flags: ["--emulated-version=1.35"] }
    : { main: process.env.KEELSON_OLDER_MAIN };

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export const VERBS = {
  "kill replica": async (target) => {
    await replica(target).kill();
    return async () => {
      replica(target).start();
      await replica(target).waitUntilReady();
    };
  },
  "kill all replicas": async ({ topology }) => {
    await Promise.all(topology.replicas.map((one) => one.kill()));
    return async () => {
      for (const one of topology.replicas) one.start();
      await Promise.all(topology.replicas.map((one) => one.waitUntilReady()));
    };
  },
  "starve replica": async (target) => {
    const { pid } = replica(target);
    const ending = new AbortController();
    const starving = (async () => {
      while (!ending.signal.aborted) {
        process.kill(pid, "SIGSTOP");
        await pause(STARVED_MS);
        process.kill(pid, "SIGCONT");
        await pause(RUNNING_MS);
      }
    })();
    return async () => {
      ending.abort();
      await starving;
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
  "part replica from etcd for longer than its history": async (target) => {
    const { cluster } = target.topology;
    replica(target).partition();
    const other = target.topology.replicas[(target.index + 1) % target.topology.replicas.length];
    const name = `missed-${Date.now()}`;
    await other?.client.post("/api/v1/namespaces/default/configmaps", { metadata: { name } });
    await cluster.compact();
    replica(target).reconnect();
    return undefined;
  },
  "lose etcd's answers to replica": async (target) => {
    replica(target).loseAnswers();
    return () => replica(target).reconnect();
  },
  "silence replica's way to etcd": async (target) => {
    replica(target).silence();
    return () => replica(target).unsilence();
  },
  "slow way to etcd": async (target) => {
    replica(target).setLinkQuality(SLOW_LINK);
    return () => replica(target).setLinkQuality({});
  },
  "crawling way to etcd": async (target) => {
    replica(target).setLinkQuality(CRAWLING_LINK);
    return () => replica(target).setLinkQuality({});
  },
  "lossy way to etcd": async (target) => {
    replica(target).setLinkQuality(LOSSY_LINK);
    return () => replica(target).setLinkQuality({});
  },
  "restart replica": async (target) => {
    await replica(target).stop();
    replica(target).start();
    await replica(target).waitUntilReady();
    return undefined;
  },
  "restart all replicas, one after the other": async (target) => {
    await replaceAll(target, {});
    return undefined;
  },
  "replace all replicas by an older release": async (target) => {
    await replaceAll(target, OLDER);
    return () => replaceAll(target, {});
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
  "kill etcd majority": async (target) => {
    const { topology } = target;
    const indexes = majority(target);
    await Promise.all(indexes.map((index) => member({ topology, index }).kill()));
    return async () => {
      await Promise.all(indexes.map((index) => member({ topology, index }).start()));
    };
  },
  "part etcd member from everybody": unplug,
  "part etcd leader from everybody": async ({ topology }) =>
    await unplug({ topology, index: await topology.etcd.leader() }),
  "part etcd majority from everybody": async (target) => {
    const { topology } = target;
    const undo = await Promise.all(majority(target).map((index) => unplug({ topology, index })));
    return async () => {
      await Promise.all(undo.map((one) => one()));
    };
  },
  "fill disk of etcd member": async (target) => {
    await room(target).fillDisk();
    return async () => {
      await room(target).freeDisk();
      // It may have ended by that; whatever keeps processes alive starts it again.
      await member(target).restart();
    };
  },
  "fill disks of all etcd members": async ({ topology }) => {
    const all = topology.cluster.etcd?.members.map((_, index) => ({ topology, index })) ?? [];
    await Promise.all(all.map((one) => room(one).fillDisk()));
    return async () => {
      await Promise.all(all.map((one) => room(one).freeDisk()));
      await Promise.all(all.map((one) => member(one).restart()));
    };
  },
  "replace etcd member": async ({ topology, index }) => {
    await topology.etcd.replaceMember(index);
    return undefined;
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
  "rotate serving certificate": async ({ topology }) => {
    await topology.files.rotateServingCertificate(topology.replicas);
    return undefined;
  },
  "rotate authority of clients": async ({ topology }) => {
    await topology.files.rotateClientAuthority(topology.replicas);
    return undefined;
  },
  "rotate keys of service accounts": async ({ topology }) => {
    await topology.files.rotateServiceAccountKeys(topology.replicas);
    return undefined;
  },
  "rotate keys of encryption": async ({ topology }) => {
    await topology.files.rotateEncryptionKeys(topology.replicas);
    return undefined;
  },
  "flood replica": async (target) => {
    const identity = await target.topology.files.issueClient(FLOODER);
    const flood = await Flood.start(replica(target), identity);
    return async () => {
      const { served, shed, probes, slowestProbeMs, grownMegabytes, problems } = await flood.stop();
      if (problems.length > 0) throw new Error(problems.join(", "));
      return `${served} lists served, ${shed} shed with 429, ${probes} probes, the slowest ${Math.round(slowestProbeMs)} ms, memory grew by ${grownMegabytes} MB`;
    };
  },
  "restart balancer": async ({ topology }) => {
    await topology.balancer?.restart();
    return undefined;
  },
} as const satisfies Record<string, Verb>;

export type VerbName = keyof typeof VERBS;
