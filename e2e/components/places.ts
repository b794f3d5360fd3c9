/** The API that the programs of a cluster run against: one server, or replicas over etcd behind a balancer. */
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { startTopology } from "../cluster/topology.js";
import type { HttpsClient } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";

export interface Place extends AsyncDisposable {
  /** The administrator's. */
  readonly client: HttpsClient;
  readonly kubeconfig: string;
  /** File by which pods verify the API. */
  readonly rootAuthority: string;
  /** Starts all replicas again, one after the other, as an upgrade does; undefined where there is one. */
  readonly restartAll: (() => Promise<void>) | undefined;
}

/** The loops are those of the programs, and what they do is recorded. */
const FLAGS = ["--run-controllers=false", "--record=memory"];

export async function openPlace(replicas: number, flags: readonly string[]): Promise<Place> {
  const all = [...FLAGS, ...flags];
  return replicas === 1 ? await openServer(all) : await openReplicas(replicas, all);
}

async function openServer(flags: readonly string[]): Promise<Place> {
  const server = await startServer({ flags });
  return {
    client: server.client,
    kubeconfig: server.kubeconfig,
    rootAuthority: join(server.dataDir, "pki", "serving-ca.crt"),
    restartAll: undefined,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function openReplicas(count: number, flags: readonly string[]): Promise<Place> {
  const options = { replicas: count, flags, rooms: false, prometheus: false };
  const topology = await startTopology(options);
  const { replicas, kubeconfigPath } = topology;
  const folder = dirname(kubeconfigPath);
  const rootAuthority = join(folder, "serving.crt");
  const client = topology.newClient();
  await writeFile(rootAuthority, client.credentials.ca);
  return {
    client,
    kubeconfig: kubeconfigPath,
    rootAuthority,
    async restartAll() {
      for (const replica of replicas) {
        await replica.stop();
        replica.start();
        await replica.waitUntilReady();
      }
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await topology[Symbol.asyncDispose]();
    },
  };
}
