/**
 * The audit policies that the documentation of kube-apiserver shows, in words of our own, on a running
 * server: what is recorded of requests that matter to them, and that no secret is.
 */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";

interface AuditEvent {
  readonly auditID: string;
  readonly level: string;
  readonly stage: string;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly annotations?: Readonly<Record<string, string>>;
}

const HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";
const CORE = "/api/v1/namespaces/shop";
const SYSTEM = "/api/v1/namespaces/kube-system";
const SECRET_TEXT = "planted-in-a-secret";
const ENCODED = Buffer.from(SECRET_TEXT).toString("base64");

/** The tour of a policy's means. */
const TOUR = `${HEAD}omitStages: [RequestReceived]
rules:
  - {level: RequestResponse, resources: [{group: "", resources: [pods]}]}
  - {level: Metadata, resources: [{group: "", resources: [pods/log, pods/status]}]}
  - {level: None, resources: [{group: "", resources: [configmaps], resourceNames: [controller-leader]}]}
  - level: None
    users: ["system:kube-proxy"]
    verbs: [watch]
    resources: [{group: "", resources: [endpoints, services]}]
  - {level: None, userGroups: ["system:authenticated"], nonResourceURLs: ["/api*", /version]}
  - {level: Request, resources: [{group: "", resources: [configmaps]}], namespaces: [kube-system]}
  - {level: Metadata, resources: [{group: "", resources: [secrets, configmaps]}]}
  - {level: Request, resources: [{group: ""}, {group: extensions}]}
  - {level: Metadata, omitStages: [RequestReceived]}
`;

const SMALLEST = `${HEAD}rules: [{level: Metadata}]\n`;

/** What a large provider is known to run with. */
const PROVIDER = `${HEAD}rules:
  - {level: None, users: ["system:kube-proxy"], verbs: [watch], resources: [{group: "", resources: [endpoints, services, services/status]}]}
  - {level: None, users: ["system:unsecured"], namespaces: [kube-system], verbs: [get], resources: [{group: "", resources: [configmaps]}]}
  - {level: None, users: [kubelet], verbs: [get], resources: [{group: "", resources: [nodes, nodes/status]}]}
  - {level: None, userGroups: ["system:nodes"], verbs: [get], resources: [{group: "", resources: [nodes, nodes/status]}]}
  - level: None
    users: ["system:kube-controller-manager", "system:kube-scheduler", "system:serviceaccount:kube-system:endpoint-controller"]
    verbs: [get, update]
    namespaces: [kube-system]
    resources: [{group: "", resources: [endpoints]}]
  - {level: None, users: ["system:apiserver"], verbs: [get], resources: [{group: "", resources: [namespaces, namespaces/status, namespaces/finalize]}]}
  - {level: None, users: ["system:kube-controller-manager"], verbs: [get, list], resources: [{group: metrics.k8s.io}]}
  - {level: None, nonResourceURLs: ["/healthz*", /version, "/swagger*"]}
  - {level: None, resources: [{group: "", resources: [events]}]}
  - level: Request
    users: [kubelet, "system:node-problem-detector", "system:serviceaccount:kube-system:node-problem-detector"]
    verbs: [update, patch]
    resources: [{group: "", resources: [nodes/status, pods/status]}]
    omitStages: [RequestReceived]
  - {level: Request, userGroups: ["system:nodes"], verbs: [update, patch], resources: [{group: "", resources: [nodes/status, pods/status]}], omitStages: [RequestReceived]}
  - {level: Request, users: ["system:serviceaccount:kube-system:namespace-controller"], verbs: [deletecollection], omitStages: [RequestReceived]}
  - level: Metadata
    resources:
      - {group: "", resources: [secrets, configmaps, serviceaccounts/token]}
      - {group: authentication.k8s.io, resources: [tokenreviews]}
    omitStages: [RequestReceived]
  - {level: Request, verbs: [get, list, watch], resources: [{group: ""}, {group: apps}, {group: batch}], omitStages: [RequestReceived]}
  - {level: RequestResponse, resources: [{group: ""}, {group: apps}, {group: batch}], omitStages: [RequestReceived]}
  - {level: Metadata, omitStages: [RequestReceived]}
`;

/** Policies mean who really asks, so these do; they may do everything. */
const TOKENS = `proxy,system:kube-proxy,1,"system:masters"
node,system:node:a,2,"system:nodes,system:masters"
`;
const PROXY = { authorization: "Bearer proxy" };
const NODE = { authorization: "Bearer node" };
const MERGE = { "content-type": "application/merge-patch+json" };

/** "level stage+stage", with what of the objects is there: "q" the request's, "r" the response's; "" = nothing. */
type Recorded = string;
const BOTH = "RequestReceived+ResponseComplete";
const DONE = "ResponseComplete";

interface Example {
  readonly what: string;
  readonly ask: readonly [method: string, path: string, body?: object];
  readonly headers?: Readonly<Record<string, string>>;
  readonly tour: Recorded;
  readonly smallest: Recorded;
  readonly provider: Recorded;
}

const pod = { metadata: { name: "web" }, spec: { containers: [{ name: "c", image: "i" }] } };
const secret = { metadata: { name: "s" }, stringData: { password: SECRET_TEXT } };
const map = (name: string) => ({ metadata: { name }, data: { a: "b" } });
const metadata = { smallest: `Metadata ${BOTH}`, provider: `Metadata ${DONE}` };

/** In this order; the later ones use what the earlier ones have made. */
const EXAMPLES: readonly Example[] = [
  {
    what: "a Secret is made",
    ask: ["POST", `${CORE}/secrets`, secret],
    tour: `Metadata ${DONE}`,
    ...metadata,
  },
  {
    what: "a Secret is read",
    ask: ["GET", `${CORE}/secrets/s`],
    tour: `Metadata ${DONE}`,
    ...metadata,
  },
  {
    what: "Secrets are listed",
    ask: ["GET", `${CORE}/secrets`],
    tour: `Metadata ${DONE}`,
    ...metadata,
  },
  {
    what: "a Secret is patched",
    ask: ["PATCH", `${CORE}/secrets/s`, { stringData: { password: `${SECRET_TEXT}-2` } }],
    headers: MERGE,
    tour: `Metadata ${DONE}`,
    ...metadata,
  },
  {
    what: "a token is issued",
    ask: ["POST", `${CORE}/serviceaccounts/default/token`, { spec: {} }],
    // The tour knows no subresource of accounts: what is sent is recorded, and the token is answered.
    tour: `Request ${DONE} q`,
    ...metadata,
  },
  {
    what: "a pod is made",
    ask: ["POST", `${CORE}/pods`, pod],
    tour: `RequestResponse ${DONE} qr`,
    smallest: `Metadata ${BOTH}`,
    provider: `RequestResponse ${DONE} qr`,
  },
  {
    what: "a pod is read",
    ask: ["GET", `${CORE}/pods/web`],
    tour: `RequestResponse ${DONE} r`,
    smallest: `Metadata ${BOTH}`,
    provider: `Request ${DONE}`,
  },
  {
    what: "a pod's status is written",
    ask: ["PATCH", `${CORE}/pods/web/status`, { status: { message: "m" } }],
    headers: MERGE,
    tour: `Metadata ${DONE}`,
    smallest: `Metadata ${BOTH}`,
    provider: `RequestResponse ${DONE} qr`,
  },
  {
    what: "a pod is deleted",
    ask: ["DELETE", `${CORE}/pods/web`, { gracePeriodSeconds: 0 }],
    tour: `RequestResponse ${DONE} qr`,
    smallest: `Metadata ${BOTH}`,
    provider: `RequestResponse ${DONE} qr`,
  },
  {
    what: "the leader's map is made",
    ask: ["POST", `${CORE}/configmaps`, map("controller-leader")],
    // Its name is not in the URL.
    tour: `Metadata ${DONE}`,
    ...metadata,
  },
  {
    what: "the leader's map is read",
    ask: ["GET", `${CORE}/configmaps/controller-leader`],
    tour: "",
    ...metadata,
  },
  {
    what: "a map of the system is made",
    ask: ["POST", `${SYSTEM}/configmaps`, map("m")],
    tour: `Request ${DONE} q`,
    ...metadata,
  },
  {
    what: "a service is watched by the proxy",
    ask: ["GET", "/api/v1/services?watch=1&timeoutSeconds=1"],
    headers: PROXY,
    tour: "",
    smallest: `Metadata RequestReceived+ResponseStarted+ResponseComplete`,
    provider: "",
  },
  {
    what: "a service is watched by another",
    ask: ["GET", "/api/v1/services?watch=1&timeoutSeconds=1"],
    tour: `Request ResponseStarted+ResponseComplete`,
    smallest: `Metadata RequestReceived+ResponseStarted+ResponseComplete`,
    provider: `Request ResponseStarted+ResponseComplete`,
  },
  {
    what: "the version is read",
    ask: ["GET", "/version"],
    tour: "",
    smallest: `Metadata ${BOTH}`,
    provider: "",
  },
  {
    what: "health is asked for",
    ask: ["GET", "/healthz"],
    tour: `Metadata ${DONE}`,
    smallest: `Metadata ${BOTH}`,
    provider: "",
  },
  {
    what: "discovery is read",
    ask: ["GET", "/apis"],
    tour: "",
    ...metadata,
  },
  {
    what: "events are listed",
    ask: ["GET", `${CORE}/events`],
    tour: `Request ${DONE}`,
    smallest: `Metadata ${BOTH}`,
    provider: "",
  },
  {
    what: "a node reads itself",
    ask: ["GET", "/api/v1/nodes/a"],
    headers: NODE,
    tour: `Request ${DONE}`,
    smallest: `Metadata ${BOTH}`,
    provider: "",
  },
  {
    what: "deployments are listed",
    ask: ["GET", "/apis/apps/v1/namespaces/shop/deployments"],
    tour: `Metadata ${DONE}`,
    smallest: `Metadata ${BOTH}`,
    provider: `Request ${DONE}`,
  },
  {
    what: "leases are listed",
    ask: ["GET", "/apis/coordination.k8s.io/v1/namespaces/shop/leases"],
    tour: `Metadata ${DONE}`,
    ...metadata,
  },
];

const POLICIES = { tour: TOUR, smallest: SMALLEST, provider: PROVIDER } as const;

describe("the documentation's policies", { concurrency: true }, () => {
  for (const [name, text] of Object.entries(POLICIES))
    runExamples(name as keyof typeof POLICIES, text);
});

function runExamples(policy: keyof typeof POLICIES, text: string): void {
  test(`S2-REQ-09: ${policy}: each request is recorded as the policy says, and no secret is`, async () => {
    await using folder = await makeTempDir("audit-examples");
    const log = join(folder.path, "audit.log");
    const secrets = [SECRET_TEXT, ENCODED];
    const ids = new Map<string, string>();
    let slowId = "";
    {
      await using server = await startRecording(folder.path, text, log);
      const { client } = server;
      (await client.post("/api/v1/namespaces", { metadata: { name: "shop" } })).expect(201);
      (await client.post(`${CORE}/serviceaccounts`, { metadata: { name: "default" } })).expect(201);
      const tokened = new HttpsClient(server.url, { ca: server.credentials.ca });
      for (const { what, ask, headers = {} } of EXAMPLES) {
        const [method, path, body] = ask;
        const sender = "authorization" in headers ? tokened : client;
        const answer = await sender.request(path, { method, headers, ...(body && { body }) });
        assert.ok(answer.status < 300 || path.endsWith("/nodes/a"), `${what}: ${answer.text}`);
        ids.set(what, String(answer.headers["audit-id"]));
        const { token } = tokenOf(answer);
        if (token !== undefined) secrets.push(token);
      }
      tokened.close();
      if (policy === "smallest") slowId = await askSlowly(server);
      await server.stop();
    }

    const written = await readFile(log, "utf8");
    const events = written
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as AuditEvent);
    const recorded = EXAMPLES.map(({ what }) => [
      what,
      summaryOf(events.filter(({ auditID }) => auditID === ids.get(what))),
    ]);
    assert.deepEqual(
      recorded,
      EXAMPLES.map((example) => [example.what, example[policy]]),
    );
    assert.equal(secrets.length, 3, "a token was issued");
    for (const one of secrets) assert.ok(!written.includes(one), around(written, one));
    const last = (id: string | undefined) => events.findLast(({ auditID }) => auditID === id);
    const issued = last(ids.get("a token is issued"))?.annotations ?? {};
    assert.match(issued["authentication.kubernetes.io/issued-credential-id"] ?? "", /^JTI=\S{36}$/);
    if (slowId === "") return;
    const slow = last(slowId)?.annotations ?? {};
    for (const key of ["total", "validating-webhook"]) {
      assert.match(
        slow[`apiserver.latency.k8s.io/${key}`] ?? "",
        /^(6|7|8|9)\d\d\.\d+ms$|^\d/,
        key,
      );
    }
  });
}

function startRecording(folder: string, policy: string, log: string): Promise<ServerProcess> {
  const [policyFile, tokens] = [join(folder, "policy.yaml"), join(folder, "tokens.csv")];
  return Promise.all([writeFile(policyFile, policy), writeFile(tokens, TOKENS)]).then(() =>
    startServer({
      flags: [
        `--audit-log-path=${log}`,
        `--audit-policy-file=${policyFile}`,
        `--token-auth-file=${tokens}`,
        "--run-controllers=false",
      ],
    }),
  );
}

/** A write that waits for a webhook for longer than a request should take. @returns its audit id */
async function askSlowly({ client }: ServerProcess): Promise<string> {
  await using hook = await openAdmissionHook();
  const { answer: answerAtOnce } = hook.stub;
  hook.stub.answer = async (call) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    return await answerAtOnce(call);
  };
  const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"] };
  const webhook = {
    name: "slow.example.com",
    clientConfig: hook.clientConfig(),
    rules: [{ ...rule, resources: ["secrets"] }],
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
  };
  const hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  (await client.post(hooks, { metadata: { name: "slow" }, webhooks: [webhook] })).expect(201);
  const answer = await client.post(`${CORE}/secrets`, { metadata: { name: "slow" } });
  return String(answer.expect(201).headers["audit-id"]);
}

function summaryOf(events: readonly AuditEvent[]): Recorded {
  const [first] = events;
  if (first === undefined) return "";
  const objects = [
    events.some(({ requestObject }) => requestObject !== undefined) ? "q" : "",
    events.some(({ responseObject }) => responseObject !== undefined) ? "r" : "",
  ].join("");
  const stages = events.map(({ stage }) => stage).join("+");
  return [first.level, stages, objects].filter((part) => part !== "").join(" ");
}

/** Of a TokenRequest. */
function tokenOf({ text }: Answer): { readonly token?: string } {
  if (!text.includes('"TokenRequest"')) return {};
  return (JSON.parse(text) as { status: { token: string } }).status;
}

function around(text: string, part: string): string {
  const at = text.indexOf(part);
  return text.slice(Math.max(0, at - 200), at + 100);
}
