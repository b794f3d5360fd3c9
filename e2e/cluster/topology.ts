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
import { findTool } from "../tools/find-tool.js";
import { type RedisProcess, startRedis } from "../tools/redis.js";
import { type Balancer, startBalancer } from "./balancer.js";
import { type EtcdAdmin, etcdAdmin } from "./etcd-admin.js";
import { type PrometheusProcess, startPrometheus } from "./prometheus.js";

export interface TopologyOptions {
  readonly replicas?: number;
  readonly etcdMembers?: number;
  readonly flags?: readonly string[];
  /** Default: where they are to be had. */
  readonly redis?: boolean;
  readonly prometheus?: boolean;
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
  /** Programs that are not to be had here. */
  readonly missing: readonly string[];
  /** The administrator's, through the balancer. */
  readonly kubeconfigPath: string;
  /** A client through the balancer, with connections of its own. */
  newClient(): HttpsClient;
}

/** Replicas serve on while the balancer notices; short, as its checks are. */
const FLAGS = [
  "--shutdown-delay-duration=1s",
  "--shutdown-watch-termination-grace-period=1s",
  "--goaway-chance=0.002",
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
    const cluster = opened.use(
      await startCluster({
        store: "etcd",
        replicas: options.replicas ?? 3,
        etcdMembers: options.etcdMembers ?? 3,
        flags: [...FLAGS, ...cache, ...(options.flags ?? [])],
      }),
    );
    const { replicas, etcd } = cluster;
    const ports = replicas.map(({ client }) => Number(new URL(client.url).port));
    const balancer = (await has("haproxy")) ? opened.use(await startBalancer(ports)) : undefined;
    const [first] = replicas;
    if (first === undefined || etcd === undefined)
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
      etcd: etcdAdmin(etcd.endpoints),
      balancer,
      redis,
      prometheus,
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
