/** Proxies to nodes, pods and services: requests go on to what listens there, and nowhere else. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import {
  type NodeCluster,
  OWN_ADDRESS,
  openSocket,
  startNodeCluster,
} from "./harness/node-cluster.js";

describe("proxies to nodes, pods and services", () => {
  let cluster: NodeCluster;
  before(async () => {
    cluster = await startNodeCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test("a proxy to a node leads to its agent, and its answers lead through the proxy again", {
    skip: OWN_ADDRESS === undefined && "this machine has loopback addresses only",
  }, async () => {
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

  test("CVE-2022-3294: no spelling of a node's address leads to this machine (A8)", async () => {
    const { client } = cluster.server;
    const { port } = cluster.backend.address() as AddressInfo;
    const cases = [
      ["127.0.0.1", "address not allowed"],
      ["localhost", "address not allowed"],
      ["::ffff:127.0.0.1", "address not allowed"],
      ["2130706433", "lookup 2130706433: no such host"],
      ["0177.0.0.1", "lookup 0177.0.0.1: no such host"],
      ["127.0.0.1.", "lookup 127.0.0.1.: no such host"],
    ] as const;
    for (const [at, [address, message]] of cases.entries()) {
      const name = `astray-${at}`;
      const status = { addresses: [{ type: "Hostname", address }] };
      (await client.post("/api/v1/nodes", { metadata: { name }, status })).expect(201);
      // The address is judged before the port, so that the agent's own is no way around.
      for (const asked of [`${name}:${port}`, `https:${name}:${port}`, name, `${name}:10250`]) {
        const answer = await client.get(`/api/v1/nodes/${asked}/proxy/x`);
        assert.equal(answer.expect(400, asked).object.message, message);
      }
    }
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
});
