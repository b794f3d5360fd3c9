/**
 * A whole installation on this machine: etcd of three members, Redis, replicas and a balancer before
 * them, and Prometheus, all real programs in temporary places. What is not to be had is left out and
 * named. One `await using` and nothing of it is left.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { type Cluster, type Replica, startCluster } from "../consistency/cluster.js";
import { HttpsClient } from "../harness/https-client.js";
import { makeTempDir } from "../harness/temp-dir.js";
import type { EtcdAdmin } from "../tools/etcd-admin.js";
import { findTool } from "../tools/find-tool.js";
import { type RedisProcess, startRedis } from "../tools/redis.js";
import { type Balancer, NOTICED_SECONDS, startBalancer } from "./balancer.js";
import { type PrometheusProcess, startPrometheus } from "./prometheus.js";
import { RotatingFiles } from "./rotating-files.js";

export interface TopologyOptions {
  readonly replicas?: number;
  readonly etcdMembers?: number;
  readonly flags?: readonly string[];
  /** Default: where they are to be had. */
  readonly redis?: boolean;
  readonly prometheus?: boolean;
  /** Default: etcd members have rooms where this machine permits it (e2e/tools/lab.ts). */
  readonly rooms?: boolean;
}

export interface Topology extends AsyncDisposable {
  /** Where clients come: the balancer, or the first replica where there is no HAProxy. */
  readonly url: string;
  readonly cluster: Cluster;
  readonly replicas: readonly Replica[];
  readonly etcd: EtcdAdmin;
  readonly balancer: Balancer | undefined;
  readonly redis: RedisProcess | undefined;
  readonly prometheus: PrometheusProcess | undefined;
  /** Certificates and keys that all replicas read. */
  readonly files: RotatingFiles;
  /** Programs that are not to be had here. */
  readonly missing: readonly string[];
  /** The administrator's, through the balancer. */
  readonly kubeconfigPath: string;
  /** A client through the balancer, with connections of its own. */
  newClient(): HttpsClient;
}

/** Replicas serve on while the balancer notices. */
const FLAGS = [
  // Few seats, so that this machine can ask for more; administrators do not wait for one.
  "--max-requests-inflight=40",
  "--max-mutating-requests-inflight=20",
  `--shutdown-delay-duration=${NOTICED_SECONDS}s`,
  "--shutdown-watch-termination-grace-period=1s",
  // As often as is allowed, so that connections are spread after few requests.
  "--goaway-chance=0.02",
];

export async function startTopology(options: TopologyOptions = {}): Promise<Topology> {
  const opened = new AsyncDisposalStack();
  try {
    const missing: string[] = [];
    const has = async (tool: "haproxy" | "prometheus" | "redis-server") => {
      const isThere = (await findTool(tool)) !== undefined;
      if (!isThere) missing.push(tool);
      return isThere;
    };
    const folder = opened.use(await makeTempDir("cluster"));
    const wantsRedis = options.redis !== false && (await has("redis-server"));
    const redis = wantsRedis ? opened.use(await startRedis()) : undefined;
    const cache = redis === undefined ? [] : [`--authorization-webhook-cache-redis=${redis.url}`];
    const files = opened.use(await RotatingFiles.create());
    const cluster = opened.use(
      await startCluster({
        store: "etcd",
        replicas: options.replicas ?? 3,
        etcdMembers: options.etcdMembers ?? 3,
        flags: [...FLAGS, ...cache, ...files.flags, ...(options.flags ?? [])],
        inRooms: options.rooms !== false,
      }),
    );
    if (cluster.whyNoRooms !== undefined) missing.push(`rooms, as ${cluster.whyNoRooms}`);
    const { replicas, etcd, etcdAdmin } = cluster;
    const ports = replicas.map(({ client }) => Number(new URL(client.url).port));
    const balancer = (await has("haproxy")) ? opened.use(await startBalancer(ports)) : undefined;
    const [first] = replicas;
    if (first === undefined || etcd === undefined || etcdAdmin === undefined)
      throw new Error("a topology has a replica and etcd");
    const url = balancer?.url ?? first.client.url;
    const { credentials } = first.client;
    const wantsPrometheus = options.prometheus !== false && (await has("prometheus"));
    const prometheus = wantsPrometheus
      ? opened.use(await startPrometheus({ ports, metricsUrls: etcd.metricsUrls, credentials }))
      : undefined;
    const kubeconfigPath = join(folder.path, "kubeconfig");
    await writeFile(kubeconfigPath, await kubeconfigFor(first, url), { mode: 0o600 });
    return {
      url,
      cluster,
      replicas,
      etcd: etcdAdmin,
      balancer,
      redis,
      prometheus,
      files,
      missing,
      kubeconfigPath,
      newClient: () => new HttpsClient(url, credentials),
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

async function kubeconfigFor(replica: Replica, url: string): Promise<string> {
  const config = parse(await readFile(replica.kubeconfig, "utf8"));
  config.clusters[0].cluster.server = url;
  return stringify(config);
}

/** Closes what was opened, the last first. */
class AsyncDisposalStack implements AsyncDisposable {
  readonly #opened: AsyncDisposable[] = [];

  use<T extends AsyncDisposable>(thing: T): T {
    this.#opened.push(thing);
    return thing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const thing of this.#opened.splice(0).reverse()) await thing[Symbol.asyncDispose]();
  }
}
