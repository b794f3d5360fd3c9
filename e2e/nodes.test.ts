/**
 * Connecting to nodes with the real kubectl: logs, exec, cp, attach, port-forward and proxies, to an agent
 * of the tests' own that speaks the real protocols. One node's agent takes WebSockets, the other's does
 * not; kubectl speaks WebSocket, or SPDY as older ones do.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { WebSocket, WebSocketServer } from "ws";
import { jsonPatch, openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { eventually } from "./harness/eventually.js";
import type { ApiObject } from "./harness/https-client.js";
import { hasTerminals, Kubectl } from "./harness/kubectl.js";
import { NodeAgent } from "./harness/node-agent.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { TestAuthority } from "./harness/test-authority.js";

const PODS = "/api/v1/namespaces/default/pods";
const CLIENT = "apiserver-kubelet-client";
/** Pods are not reached at this machine's loopback addresses, here as upstream. */
const OWN_ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;

interface Cluster extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly agent: NodeAgent;
  readonly kubectl: Kubectl;
  /** What a pod serves: says what it was asked. */
  readonly backend: Server;
  readonly folder: string;
}

describe("connecting to nodes", () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test("logs are what the agent gives, at once while they are followed, and refusals are in its words", async () => {
    const { agent, kubectl, server } = cluster;
    const log = agent.log("default", "web-old", "main");
    log.lines.push("one", "two", "three");
    assert.equal(await kubectl.ok(["logs", "web-old", "-c", "main"]), "one\ntwo\nthree\n");
    assert.deepEqual([...agent.clients], [CLIENT]);
    await using follow = kubectl.start(["logs", "-f", "--tail=1", "web-old", "-c", "main"]);
    await follow.waitFor(/^three\n$/);
    log.append("four");
    await follow.waitFor(/^three\nfour\n$/);
    assert.ok(
      agent.requests.includes("GET /containerLogs/default/web-old/main?follow=true&tailLines=1"),
      agent.requests.join("\n"),
    );
    assert.match(
      await kubectl.fails(["logs", "web-new", "-c", "main"]),
      /\(BadRequest\): container "main" in pod "web-new" is waiting to start: ContainerCreating/,
    );
    const words = async (query: string, code: number, name = "web-old") =>
      (await server.client.get(`${PODS}/${name}/log?${query}`)).expect(code).object.message;
    assert.equal(
      await words("", 400),
      "a container name must be specified for pod web-old, choose one of: [main side] or one of the init containers: [setup]",
    );
    assert.equal(await words("container=x", 400), "container x is not valid for pod web-old");
    assert.equal(
      await words("container=main&tailLines=-1", 422),
      'PodLogOptions "web-old" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    );
    assert.equal(
      await words("container=main&limitBytes=x", 400),
      'strconv.ParseInt: parsing "x": invalid syntax',
    );
    assert.equal(await words("", 404, "none"), 'pods "none" not found');
    (await server.client.get(`${PODS}/waiting/log`)).expect(204);
    assert.match(String(await words("", 500, "lost")), /^Get "https:.*ECONNREFUSED/);
  });

  for (const node of ["old", "new"] as const) {
    // SPDY goes through to every agent in the same way.
    const protocols = node === "old" ? (["WebSocket", "SPDY"] as const) : (["WebSocket"] as const);
    for (const protocol of protocols) {
      test(`exec, cp, attach and port-forward work by ${protocol} on a node whose agent is ${node}`, async () => {
        const { agent, kubectl, backend, folder } = cluster;
        const isWebSocket = String(protocol === "WebSocket");
        kubectl.env.KUBECTL_REMOTE_COMMAND_WEBSOCKETS = isWebSocket;
        kubectl.env.KUBECTL_PORT_FORWARD_WEBSOCKETS = isWebSocket;
        const pod = ["-c", "main", `web-${node}`];
        agent.protocols.length = 0;

        const said = await kubectl.run([
          "exec",
          ...pod,
          "--",
          "sh",
          "-c",
          "echo out; echo err >&2; exit 3",
        ]);
        assert.equal(said.stdout, "out\n");
        assert.match(said.stderr, /^err\ncommand terminated with exit code 3\n$/);
        assert.equal(said.code, 3);
        const big = "0123456789abcdef".repeat(65_536);
        assert.equal(await kubectl.ok(["exec", "-i", ...pod, "--", "cat"], big), big);
        const expected =
          protocol === "WebSocket" && node === "new" ? "v5.channel.k8s.io" : "SPDY/3.1";
        assert.deepEqual(new Set(agent.protocols), new Set([expected]));

        const from = join(folder, `from-${node}-${protocol}`);
        const to = join(folder, `to-${node}-${protocol}`);
        await writeFile(from, big);
        await kubectl.ok(["cp", "-c", "main", from, `web-${node}:${to}`]);
        await kubectl.ok(["cp", "-c", "main", `web-${node}:${to}`, `${from}-back`]);
        assert.equal(
          (await kubectl.run(["exec", ...pod, "--", "cmp", from, `${from}-back`])).code,
          0,
        );

        const attached = await kubectl.ok(["attach", "-i", ...pod], "typed\n");
        assert.match(attached, /^attached\ntyped\n/);

        const port = (backend.address() as AddressInfo).port;
        await using forward = kubectl.start(["port-forward", `web-${node}`, `:${port}`]);
        await forward.waitFor(/127\.0\.0\.1:(\d+)/);
        const local = /127\.0\.0\.1:(\d+)/.exec(forward.output)?.[1];
        if (protocol === "WebSocket" && node === "new") {
          assert.ok(agent.protocols.includes("SPDY/3.1+portforward.k8s.io"), `${agent.protocols}`);
        }
        const answers = await Promise.all(
          ["a", "b", "c"].map(async (path) =>
            (await fetch(`http://127.0.0.1:${local}/${path}`)).text(),
          ),
        );
        assert.deepEqual(answers, ["GET /a", "GET /b", "GET /c"]);
        delete kubectl.env.KUBECTL_REMOTE_COMMAND_WEBSOCKETS;
        delete kubectl.env.KUBECTL_PORT_FORWARD_WEBSOCKETS;
      });
    }

    test(`a terminal is one, with a size and a single output, on a node whose agent is ${node}`, {
      skip: !hasTerminals() && "no program gives terminals here",
    }, async () => {
      const { kubectl } = cluster;
      const args = ["exec", "-it", "-c", "main", `web-${node}`, "--", "sh", "-c"];
      const { stdout } = await kubectl.atTerminal(
        [...args, "read x; echo got $x; echo err >&2"],
        "hello\n",
      );
      assert.match(stdout, /got hello/);
      assert.match(stdout, /err/);
      assert.match(stdout, /size \{"Width":\d+,"Height":\d+\}/);
    });
  }

  test("refusals say why, before and after the agent is asked", async () => {
    const { kubectl, server } = cluster;
    assert.match(
      await kubectl.fails(["exec", "web-old", "-c", "nope", "--", "true"]),
      /container (?:nope is not valid|not found in pod)/,
    );
    assert.match(
      await kubectl.fails(["exec", "odd-old", "-c", "gone", "--", "true"]),
      /unable to upgrade connection: container not found \("gone"\)/,
    );
    assert.match(
      await kubectl.fails(["exec", "odd-new", "-c", "gone", "--", "true"]),
      /container not found \("gone"\)/,
    );
    const asked = await server.client.post(`${PODS}/web-old/exec?container=main&command=true`, "");
    assert.equal(asked.expect(400).object.message, "Upgrade request required");
    const dry = await server.client.post(`${PODS}/web-old/exec?dryRun=All`, "");
    assert.equal(dry.expect(400).object.message, "dryRun is not supported");
    const unscheduled = await server.client.post(`${PODS}/waiting/exec?command=true`, "");
    assert.equal(
      unscheduled.expect(400).object.message,
      "pod waiting does not have a host assigned",
    );
    (await server.client.put(`${PODS}/web-old/exec`, {})).expect(405);
    (await server.client.post(`${PODS}/web-old/exec/more`, "")).expect(404);
  });

  test("who may only read may not connect by a WebSocket either, and admission sees CONNECT with the options", async () => {
    const { kubectl, server } = cluster;
    const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    const rules = [{ apiGroups: [""], resources: ["pods", "pods/exec"], verbs: ["get"] }];
    (await server.client.post(`${rbac}/roles`, { metadata: { name: "reader" }, rules })).expect(
      201,
    );
    const subject = { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" };
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" };
    const binding = { metadata: { name: "reader" }, roleRef, subjects: [subject] };
    (await server.client.post(`${rbac}/rolebindings`, binding)).expect(201);
    const exec = ["exec", "web-new", "-c", "main", "--"];
    assert.match(
      await kubectl.fails(["--as=reader", ...exec, "true"]),
      /User "reader" cannot create resource "pods\/exec"/,
    );

    const admission = "/apis/admissionregistration.k8s.io/v1";
    const resourceRules = [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["CONNECT"], resources: ["pods/exec"] },
    ];
    const policy = {
      metadata: { name: "no-rm" },
      spec: {
        matchConstraints: { resourceRules },
        validations: [
          {
            expression:
              "object.kind == 'PodExecOptions' && request.operation == 'CONNECT' && object.command[0] != 'rm'",
            message: "nobody removes things",
          },
        ],
      },
    };
    (await server.client.post(`${admission}/validatingadmissionpolicies`, policy)).expect(201);
    const bound = {
      metadata: { name: "no-rm" },
      spec: { policyName: "no-rm", validationActions: ["Deny"] },
    };
    (await server.client.post(`${admission}/validatingadmissionpolicybindings`, bound)).expect(201);
    await eventually("the policy is in force", async () =>
      /nobody removes things/.test((await kubectl.run([...exec, "rm"])).stderr),
    );
    assert.equal(await kubectl.ok([...exec, "echo", "fine"]), "fine\n");
    (await server.client.delete(`${admission}/validatingadmissionpolicybindings/no-rm`)).expect(
      200,
    );
  });

  test("a webhook sees the options of a connection as its object, and what it makes of them counts", async () => {
    const { kubectl, server } = cluster;
    await using hook = await openAdmissionHook(() =>
      jsonPatch({ op: "replace", path: "/command", value: ["echo", "changed"] }),
    );
    const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    const configuration = {
      metadata: { name: "echo" },
      webhooks: [
        {
          name: "echo.example.com",
          clientConfig: hook.clientConfig(),
          rules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CONNECT"],
              resources: ["pods/exec"],
            },
          ],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    };
    (await server.client.post(configurations, configuration)).expect(201);
    const exec = ["exec", "web-old", "-c", "main", "--", "true"];
    assert.equal(await kubectl.ok(exec), "changed\n");
    const [asked] = hook.requests;
    assert.ok(asked !== undefined);
    const { operation, name, subResource, object, oldObject, options } = asked;
    assert.deepEqual(
      { operation, name, subResource, object, oldObject, options },
      {
        operation: "CONNECT",
        name: "web-old",
        subResource: "exec",
        object: {
          kind: "PodExecOptions",
          apiVersion: "v1",
          stdout: true,
          stderr: true,
          container: "main",
          command: ["true"],
        },
        oldObject: null,
        options: null,
      },
    );
    (await server.client.delete(`${configurations}/echo`)).expect(200);
  });

  test("a proxy to a node leads to its agent, and its answers lead through the proxy again", async () => {
    const { server, kubectl } = cluster;
    const base = "/api/v1/nodes/old/proxy";
    const echoed = (await kubectl.ok(["get", "--raw", `${base}/stats/a%20b/?x=1`])).trim();
    const { url, headers } = JSON.parse(echoed) as { url: string; headers: Record<string, string> };
    assert.equal(url, "/stats/a%20b/?x=1");
    assert.equal(headers["x-forwarded-uri"], `${base}/stats/a%20b/`);
    assert.equal(headers.authorization, undefined);
    assert.equal((await server.client.get(base)).expect(301).headers.location, `${base}/`);
    assert.equal(
      (await server.client.get(`${base}/page`)).text,
      `<a href="${base}/logs/">logs</a>`,
    );
    const named = { headers: { host: "kubernetes.default.svc" } };
    (await server.client.request(`${base}/healthz`, named)).expect(200);
    const moved = (await server.client.get(`${base}/moved`)).expect(302);
    assert.equal(moved.headers.location, `${base}/page`);
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const headers = { "content-type": "text/plain" };
      const sent = await server.client.request(`${base}/x`, { method, body: "some", headers });
      const { method: seen, body } = sent.expect(200).object;
      assert.deepEqual([seen, body], [method, "some"]);
    }
    (await server.client.get("/api/v1/nodes/none/proxy/")).expect(404);
    (await server.client.get("/api/v1/nodes/ftp:old:1/proxy/")).expect(400);
    assert.match(
      await kubectl.ok(["get", "--raw", `/api/v1/nodes/https:old:/proxy/healthz`]),
      /healthz/,
    );
  });

  test("a proxy to a pod or service leads to where it listens, and nowhere else", {
    skip: OWN_ADDRESS === undefined && "this machine has loopback addresses only",
  }, async () => {
    const { server, kubectl, backend } = cluster;
    const { port } = backend.address() as AddressInfo;
    const get = (path: string) => server.client.get(`/api/v1/namespaces/default/${path}`);
    assert.equal((await get(`pods/web-old:${port}/proxy/a?b=1`)).expect(200).text, "GET /a?b=1");
    assert.equal((await get("pods/web-old/proxy/a")).expect(200).text, "GET /a");
    assert.equal(
      (await get("pods/web-new/proxy/a")).expect(400).object.message,
      "address not allowed",
    );
    for (const name of ["web", "web:80", "http:web:"]) {
      assert.equal((await get(`services/${name}/proxy/a/`)).expect(200, name).text, "GET /a/");
    }
    assert.equal(
      (await get("services/web:admin/proxy/")).expect(503).object.reason,
      "ServiceUnavailable",
    );
    assert.match(
      String((await get("services/web:81/proxy/")).expect(503).object.message),
      /no service port 81 found for service "web"/,
    );
    // Endpoints that are no pods of here would lead this server anywhere.
    assert.match(
      String((await get("services/astray/proxy/")).expect(503).object.message),
      /no endpoints available for service "astray"/,
    );
    const socket = openSocket(server, "/api/v1/namespaces/default/services/web/proxy/echo");
    await once(socket, "open");
    socket.send("both ways");
    assert.equal(String((await once(socket, "message"))[0]), "both ways");
    socket.close();
    await once(socket, "close");
    await using proxy = kubectl.start(["proxy", "--port=0"]);
    await proxy.waitFor(/127\.0\.0\.1:(\d+)/);
    const local = /127\.0\.0\.1:(\d+)/.exec(proxy.output)?.[1];
    const url = `http://127.0.0.1:${local}/api/v1/namespaces/default/services/web/proxy/through`;
    assert.equal(await (await fetch(url)).text(), "GET /through");
  });

  test("discovery tells what kubectl looks for, and metrics who is served how", async () => {
    const { server } = cluster;
    const { resources } = (await server.client.get("/api/v1")).object as unknown as {
      resources: { name: string; kind: string; verbs: string[] }[];
    };
    const found = resources
      .filter(({ name }) => /\/(?:exec|attach|log|portforward|proxy)$/.test(name))
      .map(({ name, kind, verbs }) => `${name} ${kind} ${verbs.join(",")}`);
    assert.deepEqual(found, [
      "nodes/proxy NodeProxyOptions create,delete,get,patch,update",
      "pods/attach PodAttachOptions create,get",
      "pods/exec PodExecOptions create,get",
      "pods/log Pod get",
      "pods/portforward PodPortForwardOptions create,get",
      "pods/proxy PodProxyOptions create,delete,get,patch,update",
      "services/proxy ServiceProxyOptions create,delete,get,patch,update",
    ]);
    const lines = (await server.client.get("/metrics")).text.split("\n");
    const text = lines
      .filter((line) => /websocket_streaming|_stream_t|_total.*"CONNECT"/.test(line))
      .join("\n");
    assert.match(
      text,
      /apiserver_websocket_streaming_requests_total\{subresource="exec",proxy_type="proxied_to_kubelet"\} [1-9]/,
    );
    assert.match(
      text,
      /apiserver_websocket_streaming_requests_total\{subresource="portforward",proxy_type="translated_at_apiserver"\} [1-9]/,
    );
    assert.match(text, /apiserver_stream_translator_requests_total\{code="200"\} [1-9]/);
    assert.match(text, /apiserver_stream_tunnel_requests_total\{code="101"\} [1-9]/);
    assert.match(
      text,
      /apiserver_request_total\{verb="CONNECT"[^}]*subresource="exec"|apiserver_request_total\{verb="CONNECT"/,
    );
  });

  test("logs come by WebSocket as well, and pages of other sites get neither logs nor processes", async () => {
    const { agent, server } = cluster;
    agent.log("default", "web-new", "main").lines.push("one", "two");
    const messages: string[] = [];
    const socket = openSocket(server, `${PODS}/web-new/log?container=main`);
    socket.on("message", (message) => messages.push(String(message)));
    const [code] = await once(socket, "close");
    assert.deepEqual([messages.join(""), code], ["one\ntwo\n", 1000]);
    const origin = "https://elsewhere.example";
    for (const path of ["log?container=main", "exec?container=main&command=true"]) {
      const foreign = openSocket(server, `${PODS}/web-new/${path}`, ["v5.channel.k8s.io"], {
        origin,
      });
      const [, response] = (await once(foreign, "unexpected-response")) as [
        unknown,
        IncomingMessage,
      ];
      assert.equal(response.statusCode, 403, path);
      foreign.terminate();
    }
  });

  test("whatever a client says on its WebSocket, the server and the agent go on", async () => {
    const { agent, server, kubectl } = cluster;
    const path = `${PODS}/web-old/exec?container=main&command=cat&stdin=1&stdout=1`;
    const message = fc.uint8Array({ maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 20 }), fc.boolean(), async (said, isText) => {
        const socket = openSocket(server, path, ["v5.channel.k8s.io"]);
        socket.on("error", () => {});
        await once(socket, "open");
        for (const one of said) socket.send(isText ? String(one) : one);
        socket.send(Buffer.from([255, 0]));
        const closed = once(socket, "close");
        if (said.length % 2 === 0) socket.terminate();
        await closed;
      }),
      { numRuns: 30 },
    );
    assert.equal(
      await kubectl.ok(["exec", "web-old", "-c", "main", "--", "echo", "fine"]),
      "fine\n",
    );
    await eventually("nothing is left", () => agent.processes === 0);
  });

  test("when clients go, so do their connections and processes on the other side", async () => {
    const { agent, kubectl, server } = cluster;
    const handles = async () => (await readdir(`/proc/${server.pid}/fd`)).length;
    await eventually("earlier ones are gone", () => agent.processes === 0);
    const before = { handles: await handles(), connections: agent.connections };
    {
      const sleeping = (node: string) =>
        kubectl.start([
          "exec",
          "-c",
          "main",
          `web-${node}`,
          "--",
          "sh",
          "-c",
          "echo up; exec sleep 600",
        ]);
      await using one = sleeping("old");
      await using two = sleeping("new");
      agent.log("default", "web-new", "side").append("first");
      await using three = kubectl.start(["logs", "-f", "web-new", "-c", "side"]);
      await Promise.all([one.waitFor(/up/), two.waitFor(/up/), three.waitFor(/first/)]);
      assert.equal(agent.processes, 2);
    }
    await eventually("processes are gone", () => agent.processes === 0);
    await eventually("connections are gone", () => agent.connections <= before.connections);
    await eventually("handles are given back", async () => (await handles()) <= before.handles + 1);
    await eventually("nothing is counted as open", async () => {
      const { text } = await server.client.get("/metrics");
      return !/apiserver_longrunning_requests\{[^}]*subresource="(?:exec|log)"[^}]*\} [1-9]/.test(
        text,
      );
    });
  });

  test("a server that ends does not wait for those who are connected", async () => {
    const { agent, kubectl, server } = cluster;
    const loop = ["sh", "-c", "echo up; exec sleep 600"];
    await using process = kubectl.start(["exec", "-c", "main", "web-new", "--", ...loop]);
    await using log = kubectl.start(["logs", "-f", "web-new", "-c", "side"]);
    await Promise.all([process.waitFor(/up/), log.waitFor(/first/)]);
    await server.stop();
    await eventually("processes are gone", () => agent.processes === 0);
  });
});

/** As the administrator. */
function openSocket(
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

async function startCluster(): Promise<Cluster> {
  const folder = await makeTempDir("nodes");
  const [agents, clients] = await Promise.all([
    TestAuthority.create("agents"),
    TestAuthority.create("clients"),
  ]);
  const identity = await clients.issue({ commonName: CLIENT });
  const file = async (name: string, text: string) => {
    await writeFile(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const agent = await NodeAgent.start({
    identity: await agents.issue({ usage: "server", hosts: ["127.0.0.1"] }),
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
      `--kubelet-certificate-authority=${await file("agents.pem", agents.certificate)}`,
      `--kubelet-client-certificate=${await file("client.pem", identity.cert)}`,
      `--kubelet-client-key=${await file("client.key", identity.key)}`,
    ],
  });
  const kubectl = await Kubectl.open(server);
  const cluster: Cluster = {
    server,
    agent,
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

async function furnish({ server, agent, backend }: Cluster): Promise<void> {
  const { client } = server;
  const node = async (name: string, port: number, declaredFeatures: string[]) => {
    (await client.post("/api/v1/nodes", { metadata: { name } })).expect(201);
    const status = {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
      declaredFeatures,
    };
    const patch = await client.request(`/api/v1/nodes/${name}/status`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: { status },
    });
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
    const patch = await client.request(`${PODS}/${name}/status`, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: {
        status: {
          phase: "Running",
          podIP,
          podIPs: [{ ip: podIP }],
          conditions: [{ type: "Ready", status: "True" }],
        },
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
