/**
 * What the read side's tests run against: one server on the embedded store, one replica over etcd,
 * and three replicas over one etcd behind a round-robin. A test asks `next()` for a client before
 * each request, so over three replicas no two requests in a row meet the same one.
 */
import type { HttpsClient } from "../harness/https-client.js";
import { type ServerProcess, startServer } from "../harness/server-process.js";
import { type EtcdProcess, startEtcd } from "../tools/etcd.js";

export type SubjectName = "embedded" | "one replica over etcd" | "three replicas over etcd";

export const SUBJECT_NAMES: readonly SubjectName[] = [
  "embedded",
  "one replica over etcd",
  "three replicas over etcd",
];

export interface Subject extends AsyncDisposable {
  readonly name: SubjectName;
  readonly servers: readonly ServerProcess[];
  readonly etcd: EtcdProcess | undefined;
  /** The client of the replica whose turn it is. */
  next(): HttpsClient;
}

/** Starts servers without control loops, so that nobody but the test writes. */
export async function openSubject(
  name: SubjectName,
  flags: readonly string[] = [],
): Promise<Subject> {
  const etcd = name === "embedded" ? undefined : await startEtcd();
  const count = name === "three replicas over etcd" ? 3 : 1;
  const options = {
    flags: ["--run-controllers=false", ...flags],
    ...(etcd === undefined ? {} : { etcdEndpoints: [etcd.endpoint] }),
  };
  const servers = await Promise.all(Array.from({ length: count }, () => startServer(options)));
  let turn = 0;
  return {
    name,
    servers,
    etcd,
    next() {
      const server = servers[turn++ % servers.length] as ServerProcess;
      return server.client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
      await etcd?.stop();
    },
  };
}
