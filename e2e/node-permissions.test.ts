/** Who may connect to nodes, and what admission sees of it and makes of it. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { jsonPatch, openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { eventually } from "./harness/eventually.js";
import { type NodeCluster, startNodeCluster } from "./harness/node-cluster.js";

describe("permission to connect", () => {
  let cluster: NodeCluster;
  before(async () => {
    cluster = await startNodeCluster();
  });
  after(() => cluster[Symbol.asyncDispose]());

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
});
