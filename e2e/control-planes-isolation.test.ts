/**
 * Nothing of one control plane shows in another one, nor in the root: names are planted in one in every way that a
 * tenant has, and looked for everywhere else. What the operator has of all - audit records, traces, logs - says of each
 * such name which control plane it is from.
 */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import {
  type AdmissionHook,
  openAdmissionHook,
} from "../server/admission/testing/admission-webhook.js";
import { definitionOf, versionOf } from "./fixtures/definitions.js";
import { eventually } from "./harness/eventually.js";
import { bindingOf } from "./harness/grant.js";
import { type Answer, HttpsClient, type RequestOptions } from "./harness/https-client.js";
import { type ServerProcess, startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { type OtlpCollector, startOtlpCollector } from "./tools/otlp-collector.js";

const KIND = "/apis/tenancy.k8s.io/v1alpha1/controlplanes";
const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const ADMISSION = "/apis/admissionregistration.k8s.io/v1";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";
const FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1";
const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

/** A name that is nowhere unless it was planted, and one of its length that nobody plants. */
const PLANTED = "zebrafish";
const ABSENT = "jellybean";
const GROUP = `${PLANTED}.example`;
/** Sent as traceparent of each request that plants. */
const TRACE_ID = "5eb2af1500000000000000000000beef";

const ONE = "/clusters/one";
const ELSEWHERE = ["/clusters/other", ""];

describe("names that are planted in one control plane", () => {
  const opened: AsyncDisposable[] = [];
  let server: ServerProcess;
  let collector: OtlpCollector;
  let hook: AdmissionHook;
  let auditLog: string;
  /** Of the control plane `one`: by its kubeconfig, and by a token of an account. */
  let tenant: HttpsClient;
  let accountToken: string;
  /** What watches of the others have sent. */
  const seen: string[] = [];

  const from = (client: HttpsClient, headers: Record<string, string> = {}) => {
    return (method: string, path: string, body?: unknown): Promise<Answer> => {
      const options: RequestOptions = { method, headers, ...(body === undefined ? {} : { body }) };
      return client.request(path, options);
    };
  };
  const admin = (method: string, path: string, body?: unknown) =>
    from(server.client)(method, path, body);

  before(async () => {
    const folder = await makeTempDir("isolation");
    opened.push(folder);
    collector = await startOtlpCollector();
    opened.push(collector);
    hook = await openAdmissionHook();
    opened.push(hook);
    auditLog = join(folder.path, "audit.log");
    const tracing = await folder.write(
      "tracing.json",
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "TracingConfiguration",
        endpoint: collector.httpUrl,
        samplingRatePerMillion: 1_000_000,
      }),
    );
    const tokens = await folder.write("tokens.csv", "bobs-token,bob,1\n");
    server = await startServer({
      flags: [
        ...["--enable-control-planes", "--run-controllers", "--record=memory", "--profiling=true"],
        ...[`--audit-log-path=${auditLog}`, `--tracing-config-file=${tracing}`],
        ...[`--token-auth-file=${tokens}`, "--v=3", "--enable-bootstrap-token-auth"],
      ],
    });
    opened.push(server);
    for (const name of ["one", "other"]) {
      const object = {
        apiVersion: "tenancy.k8s.io/v1alpha1",
        kind: "ControlPlane",
        metadata: { name },
      };
      (await admin("POST", KIND, object)).expect(201);
    }
    for (const base of ELSEWHERE) await follow(base);
    await plant();
  });

  after(async () => {
    tenant?.close();
    for (const one of opened.reverse()) await one[Symbol.asyncDispose]();
  });

  /** What a tenant plants. */
  const FOLLOWED =
    /\/(namespaces|secrets|serviceaccounts|configmaps|events|resourcequotas|clusterroles|clusterrolebindings|customresourcedefinitions|apiservices|flowschemas|prioritylevelconfigurations|.*webhookconfigurations|.*policies|.*policybindings)$/;

  /** Watches of it. */
  async function follow(base: string): Promise<void> {
    for (const path of await listPaths(base)) {
      if (!FOLLOWED.test(path)) continue;
      const ending = new AbortController();
      // Each of its own, as a client opens only so many connections.
      const client = new HttpsClient(server.url, server.credentials);
      const events = await client.watch(`${base}${path}?watch=1`, ending.signal);
      opened.push({
        async [Symbol.asyncDispose]() {
          ending.abort();
          client.close();
        },
      });
      void (async () => {
        try {
          for await (const event of events) seen.push(`${base}${path} ${JSON.stringify(event)}`);
        } catch {
          // Aborted at the end.
        }
      })();
    }
  }

  /** Of all resources that can be watched, from discovery. */
  async function listPaths(base: string): Promise<string[]> {
    const groups = (await admin("GET", `${base}/apis`)).expect(200).object as unknown as {
      groups: { preferredVersion: { groupVersion: string } }[];
    };
    const roots = [
      "/api/v1",
      ...groups.groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`),
    ];
    const paths: string[] = [];
    for (const root of roots) {
      const list = (await admin("GET", base + root)).expect(200).object as unknown as {
        resources: { name: string; verbs: string[] }[];
      };
      for (const { name, verbs } of list.resources) {
        if (verbs.includes("watch")) paths.push(`${root}/${name}`);
      }
    }
    return paths;
  }

  async function plant(): Promise<void> {
    const spec = { user: PLANTED };
    const answer = await admin("POST", `${KIND}/one/kubeconfig`, { spec });
    const { status } = answer.expect(201).object as unknown as { status: { kubeconfig: string } };
    const { users } = parse(status.kubeconfig) as { users: { user: { token: string } }[] };
    const { ca } = server.credentials;
    tenant = new HttpsClient(server.url, { ca });
    const token = users[0]?.user.token ?? "";
    const headers = {
      authorization: `Bearer ${token}`,
      "user-agent": PLANTED,
      traceparent: `00-${TRACE_ID}-0000000000000001-01`,
      "x-forwarded-for": "203.0.113.77",
    };
    const as = from(tenant, headers);
    const make = async (path: string, body: object) =>
      (await as("POST", ONE + path, body)).expect(201, path);

    await make("/api/v1/namespaces", { metadata: { name: PLANTED } });
    await make(`/api/v1/namespaces/${PLANTED}/secrets`, {
      metadata: {
        name: PLANTED,
        labels: { [PLANTED]: PLANTED },
        annotations: { [PLANTED]: PLANTED },
      },
      stringData: { [PLANTED]: PLANTED },
    });
    await make(ACCOUNTS, { metadata: { name: PLANTED } });
    const issued = await make(`${ACCOUNTS}/${PLANTED}/token`, { spec: {} });
    accountToken = (issued.object as unknown as { status: { token: string } }).status.token;
    await make(`${RBAC}/clusterroles`, {
      metadata: { name: PLANTED },
      rules: [
        { apiGroups: [""], resources: ["secrets", "users"], verbs: ["get", "impersonate"] },
        { nonResourceURLs: [`/${PLANTED}`], verbs: ["get"] },
      ],
    });
    const subjects = ["User bob", `ServiceAccount default/${PLANTED}`];
    const binding = bindingOf(PLANTED, `ClusterRole ${PLANTED}`, ...subjects);
    await make(`${RBAC}/clusterrolebindings`, binding);
    await make(DEFINITIONS, definition(PLANTED));
    await eventually("the kind is served", async () => {
      const object = { apiVersion: `${GROUP}/v1`, kind: "Zebrafish", metadata: { name: PLANTED } };
      const path = `${ONE}/apis/${GROUP}/v1/namespaces/${PLANTED}/zebrafishes`;
      return (await as("POST", path, object)).status === 201;
    });
    await make(API_SERVICES, {
      metadata: { name: `v1.more.${GROUP}` },
      spec: {
        ...{ group: `more.${GROUP}`, version: "v1", groupPriorityMinimum: 1, versionPriority: 1 },
        ...{ insecureSkipTLSVerify: true, service: { namespace: PLANTED, name: PLANTED } },
      },
    });
    await make(`${ADMISSION}/validatingwebhookconfigurations`, {
      metadata: { name: PLANTED },
      webhooks: [webhook(`hook.${GROUP}`, hook.clientConfig(), "Fail")],
    });
    await make(`${ADMISSION}/mutatingwebhookconfigurations`, {
      metadata: { name: PLANTED },
      webhooks: [webhook(`broken.${GROUP}`, { url: `https://127.0.0.1:1/${PLANTED}` }, "Ignore")],
    });
    await make(`${ADMISSION}/validatingadmissionpolicies`, {
      metadata: { name: PLANTED },
      spec: {
        matchConstraints: { resourceRules: [rule("configmaps")] },
        validations: [{ expression: `object.metadata.name != "${PLANTED}-no"`, message: PLANTED }],
      },
    });
    await make(`${ADMISSION}/validatingadmissionpolicybindings`, {
      metadata: { name: PLANTED },
      spec: { policyName: PLANTED, validationActions: ["Deny"] },
    });
    await make(`${FLOWS}/prioritylevelconfigurations`, {
      metadata: { name: PLANTED },
      spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
    });
    await make(`${FLOWS}/flowschemas`, {
      metadata: { name: PLANTED },
      spec: {
        priorityLevelConfiguration: { name: PLANTED },
        matchingPrecedence: 2,
        rules: [
          {
            subjects: [{ kind: "User", user: { name: "bob" } }],
            nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
            resourceRules: [
              {
                verbs: ["*"],
                apiGroups: ["*"],
                resources: ["*"],
                namespaces: ["*"],
                clusterScope: true,
              },
            ],
          },
        ],
      },
    });
    await make("/api/v1/namespaces/default/events", {
      metadata: { name: PLANTED },
      involvedObject: { kind: "Pod", namespace: "default", name: PLANTED },
      ...{ reason: PLANTED, message: PLANTED, source: { component: PLANTED } },
    });
    await make(`/api/v1/namespaces/${PLANTED}/resourcequotas`, {
      metadata: { name: PLANTED },
      spec: { hard: { [`count/zebrafishes.${GROUP}`]: "5" } },
    });
    await make(CONFIG_MAPS, { metadata: { name: PLANTED }, data: { [PLANTED]: PLANTED } });
    (await as("POST", ONE + CONFIG_MAPS, { metadata: { name: `${PLANTED}-no` } })).expect(422);
    const headersOfOther = { ...headers, "impersonate-user": `${PLANTED}-impersonated` };
    (await from(tenant, headersOfOther)("GET", ONE + CONFIG_MAPS)).expect(403);
    const bootstrap = {
      metadata: { namespace: "kube-system", name: "bootstrap-token-zebraf" },
      type: "bootstrap.kubernetes.io/token",
      stringData: {
        ...{ "token-id": "zebraf", "token-secret": "0123456789abcdef" },
        ...{ "usage-bootstrap-authentication": "true" },
      },
    };
    await make("/api/v1/namespaces/kube-system/secrets", bootstrap);
    // What cannot be answered, too: its errors are remembered and counted somewhere.
    await as("GET", `${ONE}/apis/more.${GROUP}/v1/${PLANTED}`);
    await as("GET", `${ONE}/api/v1/nodes/${PLANTED}/proxy/${PLANTED}`);
    await as("GET", `${ONE}/${PLANTED}`);
    // A decision about bob and one about the account are asked for, and remembered.
    (await bob("GET", `${ONE}/api/v1/namespaces/${PLANTED}/secrets/${PLANTED}`)).expect(200);
    (await account("GET", `${ONE}/api/v1/namespaces/${PLANTED}/secrets/${PLANTED}`)).expect(200);
  }

  const bearer = (token: string) => from(tenant, { authorization: `Bearer ${token}` });
  const bob: ReturnType<typeof from> = (...asked) => bearer("bobs-token")(...asked);
  const account: ReturnType<typeof from> = (...asked) => bearer(accountToken)(...asked);

  function definition(name: string): object {
    const schema = {
      type: "object",
      description: name,
      properties: {
        [name]: { type: "string", "x-kubernetes-validations": [{ rule: `self != "${name}"` }] },
      },
    };
    return definitionOf(`${name}es.${name}.example`, "Zebrafish", {
      names: { plural: `${name}es`, singular: name, kind: "Zebrafish", categories: [name] },
      versions: [versionOf(schema)],
    });
  }

  function rule(resource: string): object {
    return { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] };
  }

  function webhook(name: string, clientConfig: object, failurePolicy: string): object {
    const sent = { admissionReviewVersions: ["v1"], sideEffects: "None" };
    return {
      name,
      clientConfig,
      failurePolicy,
      rules: [rule("configmaps")],
      timeoutSeconds: 30,
      ...sent,
    };
  }

  const ZEBRA = /zebraf|5eb2af15|203\.0\.113\.77/i;

  test("planted names are in no list, no document, no metric and no page elsewhere", async () => {
    for (const base of ELSEWHERE) {
      const paths = (await listPaths(base)).map((path) => [path, "application/json"]);
      const v3 = (await admin("GET", `${base}/openapi/v3`)).expect(200).object as unknown as {
        paths: Record<string, { serverRelativeURL: string }>;
      };
      // Those of single groups are parts of OpenAPI v2 but for a few.
      const documents = Object.values(v3.paths).filter((_, index) => index % 8 === 0);
      for (const { serverRelativeURL } of documents) paths.push([serverRelativeURL, "*/*"]);
      const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
      for (const path of ["/api", "/apis"])
        paths.push([path, aggregated], [path, "application/json"]);
      for (const path of [
        ...["/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/readyz?verbose", "/livez"],
        ...["/", "/version", "/.well-known/openid-configuration", "/openid/v1/jwks"],
        ...["/debug/turns", "/debug/flags/v", "/debug/record", "/debug/record?limit=10000"],
        ...["priority_levels", "queues", "requests"].map(
          (page) => `/debug/api_priority_and_fairness/dump_${page}`,
        ),
      ]) {
        paths.push([path, "*/*"]);
      }
      assert.ok(paths.length > 80, String(paths.length));
      for (const [path = "", accept = ""] of paths) {
        const { text, headers } = await server.client.get(base + path, accept);
        assert.doesNotMatch(text + JSON.stringify(headers), ZEBRA, `${base}${path}`);
      }
    }
  });

  test("watches of the others have sent nothing of it", async () => {
    const marks = await Promise.all(
      ELSEWHERE.map(async (base) => {
        const made = await admin("POST", base + CONFIG_MAPS, { metadata: { name: "mark" } });
        return `${base}${CONFIG_MAPS.replace("/namespaces/default", "")} `.concat(
          made.expect(201).object.metadata.uid ?? "",
        );
      }),
    );
    await eventually("the mark", () =>
      marks.every((mark) => {
        const [path = "", uid = ""] = mark.split(" ");
        return seen.some((event) => event.startsWith(path) && event.includes(uid));
      }),
    );
    assert.deepEqual(
      seen.filter((event) => ZEBRA.test(event)),
      [],
    );
  });

  test("asking for planted names elsewhere is answered like asking for any other", async () => {
    const secret = `/api/v1/namespaces/${PLANTED}/secrets/${PLANTED}`;
    const paths = [
      ...[`/apis/${GROUP}`, `/apis/${GROUP}/v1`, `/apis/${GROUP}/v1/zebrafishes`],
      ...[secret, `${secret}?watch=1`, `${ACCOUNTS}/${PLANTED}`, `${RBAC}/clusterroles/${PLANTED}`],
      ...[`/apis/more.${GROUP}/v1`, `/${PLANTED}`, `/openapi/v3/apis/${GROUP}/v1`],
      ...[`/api/v1/namespaces/${PLANTED}/pods/${PLANTED}/log`, `/api/v1/nodes/${PLANTED}/proxy/`],
      ...[`/api/v1/namespaces/${PLANTED}/services/${PLANTED}/proxy/`, `${CONFIG_MAPS}/${PLANTED}`],
    ];
    const told = ({ status, headers, text }: Answer) => {
      const { date: _date, "audit-id": _id, "content-length": _length, ...others } = headers;
      return JSON.stringify([status, others, text]).replaceAll(ABSENT, PLANTED);
    };
    for (const base of ELSEWHERE) {
      for (const ask of [admin, bob, account]) {
        for (const path of paths) {
          const [planted, absent] = [
            await ask("GET", base + path),
            await ask("GET", (base + path).replaceAll(PLANTED, ABSENT)),
          ];
          assert.equal(told(planted), told(absent), `${base}${path}`);
        }
      }
    }
  });

  test("what is worth something in one is worth nothing elsewhere", async () => {
    const bootstrap = bearer("zebraf.0123456789abcdef");
    (await bootstrap("GET", `${ONE}/api`)).expect(200);
    // A review that may be remembered.
    const inside = await admin("POST", `${ONE}/apis/authentication.k8s.io/v1/tokenreviews`, {
      spec: { token: accountToken },
    });
    assert.match(inside.expect(201).text, /"authenticated":true/);
    for (const base of ELSEWHERE) {
      const path = `${base}/api/v1/namespaces/${PLANTED}/secrets/${PLANTED}`;
      // A token of an account, of a kubeconfig, and one to join with.
      for (const ask of [account, bootstrap]) (await ask("GET", base + CONFIG_MAPS)).expect(401);
      // A grant, and a decision that was remembered.
      (await bob("GET", path)).expect(403);
      // The right to act as somebody.
      const asUser = { authorization: "Bearer bobs-token", "impersonate-user": "kubernetes-admin" };
      (await from(tenant, asUser)("GET", base + CONFIG_MAPS)).expect(403);
      // Reviews.
      const review = await admin("POST", `${base}/apis/authentication.k8s.io/v1/tokenreviews`, {
        spec: { token: accountToken },
      });
      assert.doesNotMatch(review.expect(201).text, /"authenticated":true|zebrafish"/);
      const attributes = { verb: "get", resource: "secrets", namespace: PLANTED, name: PLANTED };
      for (const user of ["bob", `system:serviceaccount:default:${PLANTED}`]) {
        const spec = { user, resourceAttributes: attributes };
        const asked = await admin(
          "POST",
          `${base}/apis/authorization.k8s.io/v1/subjectaccessreviews`,
          { spec },
        );
        assert.match(asked.expect(201).text, /"allowed":false/);
      }
      // Kinds, policies and webhooks.
      const calls = hook.requests.length;
      (await admin("POST", base + CONFIG_MAPS, { metadata: { name: "not-told" } })).expect(201);
      const made = await admin("POST", base + CONFIG_MAPS, { metadata: { name: `${PLANTED}-no` } });
      made.expect(201);
      assert.equal(hook.requests.length, calls);
      (await admin("DELETE", `${base}${CONFIG_MAPS}/${PLANTED}-no`)).expect(200);
      // What is behind a name in one is not there in another, whoever asks.
      const proxied = `${base}/api/v1/namespaces/default/services/kubernetes:443/proxy${ONE}/api`;
      assert.notEqual((await account("GET", proxied)).status, 200);
    }
    // The bearer of one cannot lift themselves out of it by a path.
    for (const path of [
      "/../other/api",
      "/%2e%2e/other/api",
      "//clusters/other/api",
      "/clusters/other/api",
    ]) {
      const answer = await from(tenant, { authorization: `Bearer ${accountToken}` })(
        "GET",
        ONE + path,
      );
      // The client has resolved the dots of some itself.
      assert.ok([401, 403, 404].includes(answer.status), `${path} ${answer.status}`);
    }
  });

  test("each audit record, span and line of the log that has a planted name says which control plane it is of", async () => {
    // Asking for planted names elsewhere has put them there, rightly: those requests are named by their paths.
    const isElsewhere = /"(requestURI|url\.path|URI)":"(?!\/clusters\/one)/;
    const records = (await readFile(auditLog, "utf8"))
      .split("\n")
      .filter((line) => ZEBRA.test(line));
    assert.ok(records.length > 30, String(records.length));
    const planted = records.filter((line) => !isElsewhere.test(line));
    assert.ok(planted.length > 20, String(planted.length));
    for (const line of records) {
      const { requestURI, user } = JSON.parse(line) as {
        requestURI: string;
        user?: { username?: string };
      };
      const isOfOne = requestURI.startsWith(`${ONE}/`) || requestURI.startsWith(`${KIND}/one/`);
      // Others name what was asked for, and never a user of the control plane.
      if (!isOfOne) assert.doesNotMatch(user?.username ?? "", ZEBRA, line);
    }
    const spans = await eventually("spans", () => {
      const found = collector.spans.filter((span) => ZEBRA.test(JSON.stringify(span.attributes)));
      return found.length > 20 && found;
    });
    for (const span of spans) {
      // Calls to others are spans within that of a request, which has its path.
      const [whole] = collector.spans.filter(
        ({ traceId, attributes }) =>
          traceId === span.traceId && attributes["url.path"] !== undefined,
      );
      const path = String(whole?.attributes["url.path"]);
      if (!path.includes(PLANTED)) assert.match(path, /^\/clusters\/one\//, JSON.stringify(span));
    }
    const lines = server.logs.split("\n").filter((line) => ZEBRA.test(line));
    assert.ok(lines.length > 20, String(lines.length));
    for (const line of lines) {
      assert.match(line, / controlPlane=one | URI=\/clusters\/one\/| URI=\S*zebraf/, line);
    }
  });
});
