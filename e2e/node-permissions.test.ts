/** Who may connect to nodes, and what admission sees of it and makes of it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { jsonPatch, openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { eventually } from "./harness/eventually.js";
import { bindingOf, grant } from "./harness/grant.js";
import type { HttpsClient } from "./harness/https-client.js";
import { NodeAgent } from "./harness/node-agent.js";
import { NODE_ADDRESS, type NodeCluster, PODS, startNodeCluster } from "./harness/node-cluster.js";
import { TestAuthority } from "./harness/test-authority.js";

describe("permission to connect", () => {
  let cluster: NodeCluster;
  before(async () => {
    cluster = await startNodeCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());

  test("who may only read may not connect by a WebSocket either, and admission sees CONNECT with the options", async () => {
    const { kubectl, server } = cluster;
    const rules = [{ apiGroups: [""], resources: ["pods", "pods/exec"], verbs: ["get"] }];
    const reader = { name: "reader", to: "User reader", rules, namespace: "default" };
    await grant(server.client, reader);
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

  test("an agent with a certificate that nobody knows is not believed, but for logs where the client says so", async () => {
    const { server, kubectl, clientAuthority } = cluster;
    const { client } = server;
    const others = await TestAuthority.create("others");
    const identity = await others.issue({ usage: "server", hosts: [NODE_ADDRESS] });
    await using stranger = await NodeAgent.start({ identity, clientAuthority });
    (await client.post("/api/v1/nodes", { metadata: { name: "stranger" } })).expect(201);
    const status = {
      addresses: [{ type: "InternalIP", address: NODE_ADDRESS }],
      daemonEndpoints: { kubeletEndpoint: { Port: stranger.port } },
    };
    const headers = { "content-type": "application/merge-patch+json" };
    const patch = { method: "PATCH", headers, body: { status } };
    (await client.request("/api/v1/nodes/stranger/status", patch)).expect(200);
    const spec = { nodeName: "stranger", containers: [{ name: "main", image: "x" }] };
    (await client.post(PODS, { metadata: { name: "strange" }, spec })).expect(201);
    stranger.log("default", "strange", "main").lines.push("hello");
    const reason = /x509: certificate signed by unknown authority/;
    assert.match(await kubectl.fails(["logs", "strange"]), reason);
    assert.match(await kubectl.fails(["exec", "strange", "--", "true"]), reason);
    // Not by kubectl, which asks ten times more, as it is told to come back after a second.
    const proxied = (await client.get("/api/v1/nodes/stranger/proxy/x")).expect(503);
    assert.match(String(proxied.object.message), reason);
    assert.deepEqual(stranger.requests, []);
    const logs = ["logs", "strange", "--insecure-skip-tls-verify-backend"];
    assert.equal(await kubectl.ok(logs), "hello\n");
  });

  test("each way to a node, pod or service is a permission of its own, by the request's verb", async () => {
    const { server } = cluster;
    const { client } = server;
    await allow(client, "viewer", ["nodes/proxy", "nodes/log"], ["get"]);
    await allow(client, "forwarder", ["services/proxy", "pods/log"], ["get", "create"]);
    const pods = "/api/v1/namespaces/default/pods";
    const services = "/api/v1/namespaces/default/services";
    const log = `${pods}/web-old/log?container=main`;
    cluster.agent.log("default", "web-old", "main");
    for (const [user, method, path, expected] of [
      ["viewer", "GET", "/api/v1/nodes/old/proxy/healthz", 200],
      ["viewer", "POST", "/api/v1/nodes/old/proxy/run", /cannot create resource "nodes\/proxy"/],
      ["viewer", "DELETE", "/api/v1/nodes/old/proxy/x", /cannot delete resource "nodes\/proxy"/],
      ["viewer", "GET", log, /cannot get resource "pods\/log"/],
      ["forwarder", "GET", log, 200],
      ["forwarder", "GET", "/api/v1/nodes/old/proxy/x", /cannot get resource "nodes\/proxy"/],
      ["forwarder", "GET", `${services}/none/proxy/x`, 404],
      ["forwarder", "PUT", `${services}/none/proxy/x`, /cannot update resource "services\/proxy"/],
      ["forwarder", "GET", `${pods}/web-old/proxy/x`, /cannot get resource "pods\/proxy"/],
      ["forwarder", "POST", `${pods}/web-old/attach`, /cannot create resource "pods\/attach"/],
      ["forwarder", "POST", `${pods}/web-old/portforward`, /cannot create resource "pods\/portf/],
    ] as const) {
      const headers = { "impersonate-user": user };
      const answer = await client.request(path, { method, headers });
      if (typeof expected === "number") answer.expect(expected, `${user} ${method} ${path}`);
      else assert.match(String(answer.expect(403, path).object.message), expected);
    }

    // What agents of nodes ask, of those who come to them without us.
    const isAllowed = async (user: string, subresource: string) => {
      const attributes = { resource: "nodes", subresource, verb: "get", name: "old" };
      const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
      const review = { spec: { user, resourceAttributes: attributes } };
      const { status } = (await client.post(path, review)).expect(201).object;
      return (status as { allowed: boolean }).allowed;
    };
    const asked = ["log", "proxy", "metrics", "stats"];
    const answers = await Promise.all(asked.map((one) => isAllowed("viewer", one)));
    assert.deepEqual(answers, [true, true, false, false]);
    const binding = bindingOf("agents", "ClusterRole system:kubelet-api-admin", "User front");
    const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    (await client.post(bindings, binding)).expect(201);
    for (const one of asked) assert.equal(await isAllowed("front", one), true, one);
  });
});

async function allow(
  client: HttpsClient,
  user: string,
  resources: readonly string[],
  verbs: readonly string[],
): Promise<void> {
  const rules = [{ apiGroups: [""], resources, verbs }];
  await grant(client, { name: `connects-${user}`, to: `User ${user}`, rules });
}
