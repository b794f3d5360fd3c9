/**
 * Connections through a control plane that last as long as their ends like: to a pod, and to a server that an APIService names.
 * They end with what they lead through.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { eventually, within } from "./harness/eventually.js";
import { Kubectl } from "./harness/kubectl.js";
import { NodeAgent } from "./harness/node-agent.js";
import { NODE_ADDRESS, OWN_ADDRESS } from "./harness/node-cluster.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { TestAuthority } from "./harness/test-authority.js";

const TENANCY = "tenancy.k8s.io/v1alpha1";
const KIND = `/apis/${TENANCY}/controlplanes`;
const NAMESPACE = "/api/v1/namespaces/default";
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";
const NOTES = "/apis/notes.example.com/v1";

describe("connections through a control plane", {
  skip: OWN_ADDRESS === undefined && "this machine has loopback addresses only",
}, () => {
  let server: ServerProcess;
  let backend: Server;
  /** Paths of connections that have ended at the other side. */
  const ended: string[] = [];

  before(async () => {
    const flags = ["--enable-control-planes", "--run-controllers", "--enable-aggregator-routing"];
    server = await startServer({ flags });
    const authority = await TestAuthority.create("backends");
    const identity = await authority.issue({ usage: "server", hosts: [OWN_ADDRESS ?? ""] });
    const list = { kind: "APIResourceList", groupVersion: "notes.example.com/v1", resources: [] };
    backend = createServer(identity, (_request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ apiVersion: "v1", ...list }));
    });
    new WebSocketServer({ server: backend }).on("connection", (socket, { url = "" }) => {
      socket.on("close", () => ended.push(url));
      socket.send("begun");
    });
    backend.listen(0, "0.0.0.0");
    await once(backend, "listening");
  });

  after(async () => {
    await server[Symbol.asyncDispose]();
    backend.closeAllConnections();
    backend.close();
  });

  const portOf = () => (backend.address() as AddressInfo).port;

  /** @returns where the backend is reached as a pod */
  async function makePod(plane: string, more: object = {}): Promise<string> {
    const pods = `${plane}${NAMESPACE}/pods`;
    const container = { name: "web", image: "web" };
    const spec = { containers: [container], automountServiceAccountToken: false, ...more };
    const pod = await eventually("a pod can be made", async () => {
      const answer = await server.client.post(pods, { metadata: { name: "web" }, spec });
      return answer.status === 201 ? answer.object : undefined;
    });
    const status = { podIP: OWN_ADDRESS, podIPs: [{ ip: OWN_ADDRESS }] };
    (await server.client.put(`${pods}/web/status`, { ...pod, status })).expect(200);
    return `${pods}/https:web:${portOf()}/proxy`;
  }

  /** @returns where the backend is reached as the server behind an APIService */
  async function makeService(plane: string): Promise<string> {
    const { client } = server;
    const spec = { ports: [{ port: 443, targetPort: portOf() }] };
    (
      await client.post(`${plane}${NAMESPACE}/services`, { metadata: { name: "notes" }, spec })
    ).expect(201);
    const slice = {
      metadata: { name: "notes", labels: { "kubernetes.io/service-name": "notes" } },
      ...{ addressType: "IPv4", ports: [{ port: portOf() }] },
      endpoints: [{ addresses: [OWN_ADDRESS], conditions: { ready: true } }],
    };
    (await client.post(`${plane}${SLICES}`, slice)).expect(201);
    const published = {
      metadata: { name: "v1.notes.example.com" },
      spec: {
        ...{ group: "notes.example.com", version: "v1", insecureSkipTLSVerify: true },
        ...{ groupPriorityMinimum: 100, versionPriority: 100 },
        service: { namespace: "default", name: "notes", port: 443 },
      },
    };
    (await client.post(`${plane}${SERVICES}`, published)).expect(201);
    await eventually("it is available", async () => {
      return (await client.get(`${plane}${NOTES}/anything`)).status === 200;
    });
    return `${plane}${NOTES}`;
  }

  const suspend = (path: string) => server.client.patch(path, '{"spec":{"suspended":true}}');
  const remove = (path: string) => server.client.delete(path);

  for (const [to, reach] of [
    ["a pod", makePod],
    ["a server behind an APIService", makeService],
  ] as const) {
    for (const [what, end] of [
      ["suspended", suspend],
      ["deleted", remove],
    ] as const) {
      test(`44: a connection to ${to} ends when its control plane is ${what}, on both sides`, async () => {
        const name = `${what}-${reach.name.toLowerCase()}`;
        const metadata = { name };
        const object = { apiVersion: TENANCY, kind: "ControlPlane", metadata };
        (await server.client.post(KIND, object)).expect(201);
        const path = `${await reach(`/clusters/${name}`)}/${name}`;
        const url = `${server.url.replace("https", "wss")}${path}`;
        const socket = new WebSocket(url, server.credentials);
        socket.on("error", () => {});
        await once(socket, "message");
        const over = once(socket, "close");
        (await end(`${KIND}/${name}`)).expect(200);
        await within("the client's end", over);
        await eventually("the other side's end", async () => {
          return ended.some((one) => one.endsWith(name));
        });
      });
    }
  }

  for (const [agent, declaredFeatures] of [
    ["takes SPDY", []],
    ["takes WebSockets", ["ExtendWebSocketsToKubelet"]],
  ] as const) {
    test(`44: kubectl exec ends, and fails, when its control plane is suspended, on a node whose agent ${agent}`, async () => {
      const { client } = server;
      const name = `exec-${declaredFeatures.length}`;
      const plane = `/clusters/${name}`;
      const object = { apiVersion: TENANCY, kind: "ControlPlane", metadata: { name } };
      (await client.post(KIND, object)).expect(201);
      const authority = await TestAuthority.create("agents");
      const identity = await authority.issue({ usage: "server", hosts: [NODE_ADDRESS] });
      await using node = await NodeAgent.start({ identity });
      (await client.post(`${plane}/api/v1/nodes`, { metadata: { name: "one" } })).expect(201);
      const status = {
        addresses: [{ type: "InternalIP", address: NODE_ADDRESS }],
        daemonEndpoints: { kubeletEndpoint: { Port: node.port } },
        declaredFeatures,
      };
      (await client.patch(`${plane}/api/v1/nodes/one/status`, { status })).expect(200);
      await makePod(plane, { nodeName: "one" });
      await using kubectl = await Kubectl.open(server);
      const failed = kubectl.fails([
        `--server=${server.url}${plane}`,
        "exec",
        "web",
        "--",
        "sleep",
        "600",
      ]);
      await eventually("the process runs", () => node.processes === 1);
      (await suspend(`${KIND}/${name}`)).expect(200);
      // An agent that takes WebSockets has the client's: nothing can be said within it.
      const isOurs = declaredFeatures.length === 0;
      assert.match(await failed, isOurs ? /^error: the control plane is suspended$/m : /^error: /m);
      await eventually("the process has ended", () => node.processes === 0);
    });
  }
});
