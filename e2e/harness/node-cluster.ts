/**
 * A server with nodes and pods to connect to: one node's agent takes WebSockets, the other's does not, and
 * a third is lost. What a pod serves says what it was asked. Disposable: nothing stays behind.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { WebSocket, WebSocketServer } from "ws";
import type { ApiObject } from "./https-client.js";
import { Kubectl } from "./kubectl.js";
import { NodeAgent } from "./node-agent.js";
import { type ServerProcess, startServer } from "./server-process.js";
import { makeTempDir } from "./temp-dir.js";
import { TestAuthority } from "./test-authority.js";

export const PODS = "/api/v1/namespaces/default/pods";
/** By which the agents know the server. */
export const KUBELET_CLIENT = "apiserver-kubelet-client";
/** Pods are not reached at this machine's loopback addresses, here as in kube-apiserver. */
export const OWN_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;
/** Where agents are: proxies to nodes refuse loopback. */
export const NODE_ADDRESS = OWN_ADDRESS ?? "127.0.0.1";

export interface NodeCluster extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly agent: NodeAgent;
  /** PEM: by whom agents know the server. */
  readonly clientAuthority: string;
  readonly kubectl: Kubectl;
  /** What a pod serves: says what it was asked. */
  readonly backend: Server;
  readonly folder: string;
}

/** As the administrator. */
export function openSocket(
  { url, credentials }: ServerProcess,
  path: string,
  protocols: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): WebSocket {
  const socket = new WebSocket(`${url.replace("https", "wss")}${path}`, [...protocols], {
    ...credentials,
    headers,
  });
  socket.on("error", () => {});
  return socket;
}

export async function startNodeCluster(): Promise<NodeCluster> {
  const folder = await makeTempDir("nodes");
  const [agents, clients] = await Promise.all([
    TestAuthority.create("agents"),
    TestAuthority.create("clients"),
  ]);
  const identity = await clients.issue({ commonName: KUBELET_CLIENT });
  const agent = await NodeAgent.start({
    identity: await agents.issue({ usage: "server", hosts: [NODE_ADDRESS] }),
    clientAuthority: clients.certificate,
  });
  const backend = createServer((request, response) => {
    response.end(`${request.method} ${request.url}`);
  });
  new WebSocketServer({ server: backend }).on("connection", (socket) => {
    socket.on("message", (message) => socket.send(String(message)));
  });
  backend.listen(0, "0.0.0.0");
  const server = await startServer({
    flags: [
      `--kubelet-certificate-authority=${await folder.write("agents.pem", agents.certificate)}`,
      `--kubelet-client-certificate=${await folder.write("client.pem", identity.cert)}`,
      `--kubelet-client-key=${await folder.write("client.key", identity.key)}`,
    ],
  });
  const kubectl = await Kubectl.open(server);
  const cluster: NodeCluster = {
    server,
    agent,
    clientAuthority: clients.certificate,
    kubectl,
    backend,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await kubectl[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await agent[Symbol.asyncDispose]();
      backend.closeAllConnections();
      backend.close();
      await folder[Symbol.asyncDispose]();
    },
  };
  try {
    await furnish(cluster);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

async function furnish({ server, agent, backend }: NodeCluster): Promise<void> {
  const { client } = server;
  const node = async (name: string, port: number, declaredFeatures: string[]) => {
    (await client.post("/api/v1/nodes", { metadata: { name } })).expect(201);
    const status = {
      addresses: [{ type: "InternalIP", address: NODE_ADDRESS }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      declaredFeatures,
    };
    const patch = await client.patch(`/api/v1/nodes/${name}/status`, { status });
    patch.expect(200);
  };
  await node("old", agent.port, []);
  await node("new", agent.port, ["ExtendWebSocketsToKubelet"]);
  await node("lost", 1, []);
  const { port } = backend.address() as AddressInfo;
  const container = (name: string, containerPort?: number) => ({
    name,
    image: "x",
    ...(containerPort !== undefined && { ports: [{ containerPort }] }),
  });
  const pod = async (name: string, spec: object, podIP?: string) => {
    (await client.post(PODS, { metadata: { name, labels: { app: name } }, spec })).expect(201);
    if (podIP === undefined) return;
    const patch = await client.patch(`${PODS}/${name}/status`, {
      status: {
        phase: "Running",
        podIP,
        podIPs: [{ ip: podIP }],
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
    patch.expect(200);
  };
  const containers = [container("main", port), container("side")];
  const initContainers = [container("setup")];
  await pod("web-old", { nodeName: "old", containers, initContainers }, OWN_ADDRESS ?? "10.0.0.1");
  await pod("web-new", { nodeName: "new", containers }, "127.0.0.1");
  await pod("odd-old", { nodeName: "old", containers: [container("gone")] }, "10.0.0.2");
  await pod("odd-new", { nodeName: "new", containers: [container("gone")] }, "10.0.0.3");
  await pod("lost", { nodeName: "lost", containers: [container("main")] });
  await pod("waiting", { containers: [container("main")] });
  await service(client, "web", port, "web-old");
  await service(client, "astray", port, undefined);
}

async function service(
  client: ServerProcess["client"],
  name: string,
  port: number,
  pod: string | undefined,
): Promise<void> {
  const ports = [{ port: 80, targetPort: port }];
  const made: ApiObject = { metadata: { name }, spec: { ports, selector: { app: "web" } } };
  (await client.post("/api/v1/namespaces/default/services", made)).expect(201);
  const targetRef = pod !== undefined && {
    targetRef: { kind: "Pod", namespace: "default", name: pod },
  };
  const slice = {
    metadata: { name, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports: [{ port }],
    endpoints: [
      { addresses: [OWN_ADDRESS ?? "10.0.0.1"], conditions: { ready: true }, ...targetRef },
    ],
  };
  const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
  (await client.post(path, slice)).expect(201);
}
