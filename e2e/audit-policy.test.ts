/** The audit policy of a running server: levels, stages, bodies, two backends at once, and reload. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openWebhookStub } from "../server/client/testing/webhook-stub.js";
import { eventually } from "./harness/eventually.js";
import { HttpsClient } from "./harness/https-client.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

interface AuditEvent {
  readonly auditID: string;
  readonly level: string;
  readonly stage: string;
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly name?: string };
  readonly requestObject?: Record<string, unknown>;
  readonly responseObject?: Record<string, unknown>;
  readonly responseStatus?: Record<string, unknown>;
}

const CORE = "/api/v1/namespaces/default";

const POLICY = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - level: None
    nonResourceURLs: ["*"]
  - level: Metadata
    resources: [{group: "", resources: ["secrets"]}]
    omitStages: [RequestReceived]
  - level: RequestResponse
    resources: [{group: "", resources: ["configmaps"]}]
    omitStages: [RequestReceived]
    omitManagedFields: true
  - level: Request
    resources: [{group: "", resources: ["services"]}]
  - level: None
`;

test("S2-REQ-09: each request is recorded at the level and the stages that the policy says, in a file and by a webhook", async () => {
  await using folder = await makeTempDir("audit-policy");
  await using stub = await openWebhookStub();
  const file = join(folder.path, "audit.log");
  const policy = await folder.write("policy.yaml", POLICY);
  const webhook = await folder.write("webhook.kubeconfig", stub.kubeconfig);
  stub.answer = () => ({ status: 200 });
  const ids = new Map<string, string>();
  {
    await using server = await startServer({
      flags: [
        `--audit-log-path=${file}`,
        `--audit-policy-file=${policy}`,
        `--audit-webhook-config-file=${webhook}`,
        "--audit-webhook-batch-max-wait=50ms",
        "--run-controllers=false",
      ],
    });
    const { client } = server;
    const keep = (what: string, answer: { headers: NodeJS.Dict<string | string[]> }) =>
      ids.set(what, String(answer.headers["audit-id"]));
    const secret = { metadata: { name: "s" }, stringData: { password: "planted-1" } };
    keep("secret", (await client.post(`${CORE}/secrets`, secret)).expect(201));
    const broken = { metadata: { name: "t" }, data: { password: "planted-2!" } };
    keep("broken", (await client.post(`${CORE}/secrets`, broken)).expect(400));
    const patch = {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: '{"metadata":{"labels":"planted-3"}}',
    };
    keep("patched", (await client.request(`${CORE}/secrets/s`, patch)).expect(422));
    keep("read", (await client.get(`${CORE}/secrets/s`)).expect(200));
    const map = { metadata: { name: "m" }, data: { number: "one" } };
    keep("map", (await client.post(`${CORE}/configmaps`, map)).expect(201));
    keep("got", (await client.get(`${CORE}/configmaps/m`)).expect(200));
    keep("list", (await client.get(`${CORE}/configmaps`)).expect(200));
    keep(
      "table",
      await client.get(`${CORE}/configmaps/m`, "application/json;as=Table;g=meta.k8s.io;v=v1"),
    );
    const yaml = { method: "PUT", headers: { "content-type": "application/yaml" } };
    const text = "metadata: {name: m}\ndata: {number: two}\n";
    keep(
      "yaml",
      (await client.request(`${CORE}/configmaps/m`, { ...yaml, body: text })).expect(200),
    );
    keep("missing", (await client.get(`${CORE}/configmaps/none`)).expect(404));
    const service = { metadata: { name: "web" }, spec: { ports: [{ port: 80 }] } };
    keep("service", (await client.post(`${CORE}/services`, service)).expect(201));
    keep("health", (await client.get("/livez")).expect(200));
    keep("pods", (await client.get(`${CORE}/pods`)).expect(200));

    // A policy that is no good changes nothing; a good one is followed.
    await writeFile(policy, "kind: Nonsense");
    await writeFile(policy, POLICY.replace('resources: ["services"]', 'resources: ["pods"]'));
    await eventually("the changed policy is in force", async () => {
      keep("later", (await client.get(`${CORE}/pods`)).expect(200));
      const text = await readFile(file, "utf8");
      return text.includes(ids.get("later") ?? "");
    });
    await eventually("the webhook has them, too", () =>
      webhookEvents().some(({ auditID }) => auditID === ids.get("later")),
    );
    await server.stop();
  }

  const text = await readFile(file, "utf8");
  assert.doesNotMatch(text, /planted/);
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as AuditEvent);
  const of = (what: string) => events.filter(({ auditID }) => auditID === ids.get(what));
  const only = (what: string) => {
    const [event, ...others] = of(what);
    assert.ok(event !== undefined && others.length === 0, what);
    return event;
  };
  for (const what of ["secret", "broken", "patched", "read"]) {
    const { level, requestObject, responseObject } = only(what);
    assert.deepEqual([level, requestObject, responseObject], ["Metadata", undefined, undefined]);
  }
  const created = only("map");
  assert.equal(created.level, "RequestResponse");
  assert.deepEqual(created.requestObject, { metadata: { name: "m" }, data: { number: "one" } });
  assert.equal(nameOf(created.responseObject), "m");
  assert.doesNotMatch(JSON.stringify(created), /managedFields/);
  assert.equal(nameOf(only("got").responseObject), "m");
  assert.equal(only("table").responseObject?.kind, "ConfigMap");
  const { kind, items } = only("list").responseObject ?? {};
  assert.deepEqual([kind, (items as unknown[]).length > 0], ["ConfigMapList", true]);
  assert.deepEqual(only("yaml").requestObject?.data, { number: "two" });
  assert.equal(only("missing").responseObject?.reason, "NotFound");
  assert.match(String(only("missing").responseStatus?.message), /not found/);
  assert.deepEqual(
    of("service").map(({ stage, requestObject, responseObject }) => [
      stage,
      requestObject !== undefined,
      responseObject !== undefined,
    ]),
    [
      ["RequestReceived", false, false],
      ["ResponseComplete", true, false],
    ],
  );
  assert.deepEqual([of("health"), of("pods")], [[], []]);
  const recorded = webhookEvents();
  assert.deepEqual(
    recorded.map(({ auditID, stage }) => `${auditID}/${stage}`).sort(),
    events.map(({ auditID, stage }) => `${auditID}/${stage}`).sort(),
  );

  function webhookEvents(): AuditEvent[] {
    return stub.calls.flatMap(({ body }) => {
      assert.equal(body.kind, "EventList");
      return (body as unknown as { items: AuditEvent[] }).items;
    });
  }
});

test("S2-REQ-09: in strict mode a request whose record cannot be made is refused and does nothing, and another webhook takes over when its file says so", async () => {
  await using folder = await makeTempDir("audit-strict");
  await using stub = await openWebhookStub();
  const policy = await folder.write(
    "policy.yaml",
    `apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{group: "", resources: [configmaps]}]}]\n`,
  );
  const webhook = await folder.write("webhook.kubeconfig", stub.kubeconfig);
  stub.answer = () => ({ status: 200 });
  await using server = await startServer({
    flags: [
      `--audit-policy-file=${policy}`,
      `--audit-webhook-config-file=${webhook}`,
      "--audit-webhook-mode=blocking-strict",
      "--audit-webhook-batch-throttle-enable=false",
      "--run-controllers=false",
    ],
  });
  const { client } = server;
  const maps = `${CORE}/configmaps`;
  (await client.post(maps, { metadata: { name: "one" } })).expect(201);

  stub.answer = () => ({ status: 403 });
  const refused = await client.post(maps, { metadata: { name: "two" } });
  refused.expect(500);
  assert.match(refused.text, /failed to store audit event/);

  stub.answer = () => ({ status: 200 });
  (await client.get(`${maps}/two`)).expect(404);
  const outside = new HttpsClient(server.url, { ca: server.credentials.ca });
  (await outside.get(maps)).expect(403);
  outside.close();

  // The webhook's file is followed; one that is no good changes nothing.
  await using other = await openWebhookStub(() => ({ status: 200 }));
  await writeFile(webhook, "kind: Nonsense");
  await writeFile(webhook, other.kubeconfig);
  await eventually("records go to the other webhook", async () => {
    (await client.get(maps)).expect(200);
    return other.calls.length > 0;
  });
  const recorded = stub.calls.length;
  (await client.post(maps, { metadata: { name: "three" } })).expect(201);
  assert.equal(stub.calls.length, recorded);
});

test("a policy file that is no good ends the start with one line", async () => {
  await using folder = await makeTempDir("audit-bad-policy");
  const policy = await folder.write(
    "policy.yaml",
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n",
  );
  const { runServer } = await import("./harness/server-process.js");
  const { code, output } = await runServer([
    "serve",
    `--data-dir=${folder.path}/data`,
    "--secure-port=0",
    `--audit-log-path=${folder.path}/audit.log`,
    `--audit-policy-file=${policy}`,
  ]);

  assert.equal(code, 1, output);
  assert.match(output, /^keelson: --audit-policy-file: rules\[0\]\.level: "All" is none of .*\n$/);
});

function nameOf(object: Record<string, unknown> | undefined): string | undefined {
  return (object?.metadata as { name?: string } | undefined)?.name;
}
