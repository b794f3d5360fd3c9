/**
 * Connecting to nodes with the real kubectl: logs, exec, cp, attach and port-forward, to an agent of the
 * tests' own that speaks the real protocols. One node's agent takes WebSockets, the other's does not;
 * kubectl speaks WebSocket, or SPDY as older ones do.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { eventually } from "./harness/eventually.js";
import { hasTerminals } from "./harness/kubectl.js";
import {
  KUBELET_CLIENT,
  type NodeCluster,
  openSocket,
  PODS,
  startNodeCluster,
} from "./harness/node-cluster.js";

describe("connecting to nodes", () => {
  let cluster: NodeCluster;
  before(async () => {
    cluster = await startNodeCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test("logs are what the agent gives, at once while they are followed, and refusals are in its words", async () => {
    const { agent, kubectl, server } = cluster;
    const log = agent.log("default", "web-old", "main");
    log.lines.push("one", "two", "three");
    assert.equal(await kubectl.ok(["logs", "web-old", "-c", "main"]), "one\ntwo\nthree\n");
    assert.deepEqual([...agent.clients], [KUBELET_CLIENT]);
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

  test("each option of kubectl logs says to the agent what is wanted", async () => {
    const { agent, kubectl } = cluster;
    for (const container of ["main", "side", "setup"]) {
      agent.log("default", "web-old", container).lines.push(`of ${container}`);
    }
    const log = "GET /containerLogs/default/web-old";
    for (const [options, parameters] of [
      [["--previous"], "previous=true"],
      [["--since=5m"], "sinceSeconds=300"],
      [["--since-time=2024-05-06T07:08:09Z"], "sinceTime=2024-05-06T07%3A08%3A09Z"],
      [["--limit-bytes=100", "--timestamps"], "limitBytes=100&timestamps=true"],
      [["--tail=2", "-p", "--since=1s"], "previous=true&sinceSeconds=1&tailLines=2"],
    ] as const) {
      assert.equal(await kubectl.ok(["logs", "web-old", "-c", "main", ...options]), "of main\n");
      assert.equal(agent.requests.at(-1), `${log}/main?${parameters}`);
    }
    // The first container is the default one; all of them are asked one by one.
    assert.equal(await kubectl.ok(["logs", "web-old"]), "of main\n");
    const all = ["logs", "-l", "app=web-old", "--all-containers", "--prefix", "--tail=1"];
    assert.deepEqual((await kubectl.ok(all)).trim().split("\n").sort(), [
      "[pod/web-old/main] of main",
      "[pod/web-old/setup] of setup",
      "[pod/web-old/side] of side",
    ]);
    for (const container of ["side", "setup"]) agent.logs.delete(`default/web-old/${container}`);
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
        await checkManyConnections(cluster, node);
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

      const started = 'echo started; read x; echo "got $x"';
      await using process = kubectl.startAtTerminal([...args, started]);
      await process.waitFor(/^started/m);
      // Told behind the start: a command that ends at once may not hear of it.
      await process.waitFor(/size \{"Width":\d+,"Height":\d+\}/);
      await process.resize(99, 33);
      await process.waitFor(/size \{"Width":99,"Height":33\}/);
      process.type("hello\n");
      await process.waitFor(/got hello/);
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

/** Ports of a service are those of one of its pods; connections come and go, side by side. */
async function checkManyConnections(
  { kubectl, server, backend }: NodeCluster,
  node: string,
): Promise<void> {
  const selected = { spec: { selector: { app: `web-${node}` } } };
  const headers = { "content-type": "application/merge-patch+json" };
  const patch = { method: "PATCH", headers, body: selected };
  (await server.client.request("/api/v1/namespaces/default/services/web", patch)).expect(200);
  await using forward = kubectl.start(["port-forward", "service/web", ":80"]);
  await forward.waitFor(/127\.0\.0\.1:(\d+)/);
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(forward.output)?.[1]);
  let connections = 0;
  const count = () => connections++;
  backend.on("connection", count);
  const paths = Array.from({ length: 40 }, (_, index) => `/${"x".repeat(index * 150)}`);
  const answers = await Promise.all(paths.map((path) => getAlone(port, path)));
  backend.off("connection", count);
  assert.deepEqual(
    answers,
    paths.map((path) => `GET ${path}`),
  );
  assert.equal(connections, paths.length);
}

/** By a connection of its own. */
async function getAlone(port: number, path: string): Promise<string> {
  const request = get({ host: "127.0.0.1", port, path, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return await text(response);
}
