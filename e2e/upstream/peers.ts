/**
 * Two servers that are asked the same: ours, and kube-apiserver for custom resources, built from its
 * own sources (main.go). Each stands on an etcd of its own.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openPeerClient } from "../compare/peer-client.js";
import { HttpsClient } from "../harness/https-client.js";
import { startServer } from "../harness/server-process.js";
import { makeTempDir } from "../harness/temp-dir.js";
import { Child } from "../tools/child.js";
import { startEtcd } from "../tools/etcd.js";
import { freePort } from "../tools/free-port.js";

export interface Peers extends AsyncDisposable {
  readonly ours: HttpsClient;
  readonly theirs: HttpsClient;
}

/** What needs kinds or webhooks that the peer alone does not have. */
const NO_ADMISSION = [
  "NamespaceLifecycle",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "MutatingAdmissionPolicy",
];

/** @param program the built main.go */
export async function openPeers(program: string): Promise<Peers> {
  const opened: (() => Promise<void> | void)[] = [];
  const close = async () => {
    for (const end of opened.reverse()) await end();
  };
  const use = <T extends AsyncDisposable>(it: T): T => {
    opened.push(async () => await it[Symbol.asyncDispose]());
    return it;
  };
  try {
    const folder = use(await makeTempDir("upstream"));
    const server = use(await startServer({ flags: ["--run-controllers"] }));
    const etcd = use(await startEtcd());
    const port = await freePort();
    const child = new Child(program, [
      `--etcd-servers=${etcd.endpoint}`,
      `--secure-port=${port}`,
      "--bind-address=127.0.0.1",
      `--cert-dir=${folder.path}`,
      `--kubeconfig=${server.kubeconfig}`,
      `--disable-admission-plugins=${NO_ADMISSION.join(",")}`,
      "--enable-priority-and-fairness=false",
    ]);
    opened.push(() => child.end("SIGKILL"));
    const theirs = await connect(child, port, join(folder.path, "apiserver.crt"));
    opened.push(() => theirs.close());
    return { ours: server.client, theirs, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The peer is a whole server, which the kubeconfig names, in its namespace "default". */
export async function openPeersOf(kubeconfig: string): Promise<Peers> {
  const server = await startServer({ flags: ["--run-controllers"] });
  const theirs = await openPeerClient(kubeconfig);
  return {
    ours: server.client,
    theirs,
    async [Symbol.asyncDispose]() {
      theirs.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function connect(child: Child, port: number, certificate: string): Promise<HttpsClient> {
  let client: HttpsClient | undefined;
  await child.waitUntilReady(async () => {
    const ca = await readFile(certificate, "utf8");
    client ??= new HttpsClient(`https://127.0.0.1:${port}`, { ca });
    return (await client.get("/readyz")).status === 200;
  });
  if (client === undefined) throw new Error("the peer has no certificate");
  return client;
}
