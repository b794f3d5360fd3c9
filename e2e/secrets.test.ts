/**
 * Nothing secret shows: after good, bad and malformed uses of every kind of credential that one
 * server can have, logs at their most talkative, metrics and the answers to others hold none of it.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { jsonPatch, openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { openWebhookStub, withStatus } from "../server/client/testing/webhook-stub.js";
import { eventually } from "./harness/eventually.js";
import { type Answer, HttpsClient } from "./harness/https-client.js";
import { RawConnection } from "./harness/raw-http.js";
import { startServer } from "./harness/server-process.js";
import { makeTempDir } from "./harness/temp-dir.js";
import { startOtlpCollector } from "./tools/otlp-collector.js";

const STATIC_TOKEN = "static-5f1c7d20b9e34a6d";
const WRONG_TOKEN = "wrong-0d9c1e77aa5b42f3";
const BOOTSTRAP_SECRET = "q8w2e4r6t7y1u3i5";
const SECRET_TEXT = "content-of-a-secret-77c1";

const SECRETS = "/api/v1/namespaces/kube-system/secrets";
const PODS = "/api/v1/namespaces/default/pods";
const MAPS = "/api/v1/namespaces/default/configmaps";
const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";

test("no token, password or content of a Secret is in logs, metrics or errors", async () => {
  await using folder = await makeTempDir("secrets");
  const tokenFile = await folder.write(
    "tokens.csv",
    `${STATIC_TOKEN},jane,1,"system:masters"\n${STATIC_TOKEN},jane,1\n`,
  );
  await using server = await startServer({
    flags: [`--token-auth-file=${tokenFile}`, "--enable-bootstrap-token-auth", "-v=10"],
  });
  const { client } = server;
  const stringData = {
    "token-id": "abcdef",
    "token-secret": BOOTSTRAP_SECRET,
    "usage-bootstrap-authentication": "true",
    password: SECRET_TEXT,
  };
  const bootstrap = {
    metadata: { name: "bootstrap-token-abcdef" },
    type: "bootstrap.kubernetes.io/token",
    stringData,
  };
  (await client.post(SECRETS, bootstrap)).expect(201);
  (await client.post(ACCOUNTS, { metadata: { name: "bearer" } })).expect(201);
  const issued = (await client.post(`${ACCOUNTS}/bearer/token`, { spec: {} })).expect(201);
  const { token } = issued.object.status as { token: string };
  const [head = "", , signature = ""] = token.split(".");
  const forged = `${head}.${Buffer.from('{"iss":"x"}').toString("base64url")}.${signature}`;

  const others: Answer[] = [];
  const anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
  const credentials = [STATIC_TOKEN, WRONG_TOKEN, token, forged, `abcdef.${BOOTSTRAP_SECRET}`];
  const schemes = credentials.flatMap((credential) => [
    `Bearer ${credential}`,
    `Bearer ${credential} ${credential}`,
    `Basic ${Buffer.from(`user:${credential}`).toString("base64")}`,
    credential,
  ]);
  for (const authorization of schemes) {
    for (const path of ["/api/v1/namespaces/default/pods", "/metrics", "/nothing"]) {
      const headers = { authorization };
      others.push(await anonymous.request(path, { headers }));
      others.push(await anonymous.request(path, { method: "POST", headers, body: authorization }));
    }
  }
  // What is refused must not be repeated: a Secret whose fields are wrong.
  const invalid = { ...bootstrap, metadata: { name: "Bad Name" }, immutable: SECRET_TEXT };
  others.push(await client.post(SECRETS, invalid));
  const patch = { data: { password: `${SECRET_TEXT} is no base64` } };
  others.push(await client.patch(`${SECRETS}/bootstrap-token-abcdef`, patch));
  const metrics = (await client.get("/metrics")).expect(200).text;
  anonymous.close();

  const secrets = [STATIC_TOKEN, WRONG_TOKEN, BOOTSTRAP_SECRET, signature, SECRET_TEXT];
  const texts = { logs: server.logs, metrics, answers: others.map(({ text }) => text).join("\n") };
  for (const [where, text] of Object.entries(texts)) {
    for (const secret of secrets) {
      for (const form of [secret, Buffer.from(secret).toString("base64").replace(/=+$/, "")]) {
        assert.equal(text.includes(form), false, `${secret} is in the ${where}`);
      }
    }
  }
  assert.ok(server.logs.includes("duplicate token"), "the log was talkative");
});

/** A secret for a place that a request, or what is asked for it, has. */
const planted = (place: string) => `planted-${place}-4f1d9a7c`;

test("S2-LOG-04: no secret of any place that a request has is in logs, records of level Metadata, metrics or traces", async () => {
  await using folder = await makeTempDir("planted");
  await using collector = await startOtlpCollector();
  await using judge = await openWebhookStub(
    ({ body }) => withStatus(body, { allowed: true }),
    true,
  );
  await using hook = await openAdmissionHook();
  const tracing = await folder.write(
    "tracing.json",
    JSON.stringify({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "TracingConfiguration",
      endpoint: collector.grpcTarget,
      samplingRatePerMillion: 1_000_000,
    }),
  );
  const tokens = await folder.write(
    "tokens.csv",
    `${planted("token-file")},jane,1\n${planted("master")},root,2,system:masters\n`,
  );
  const kubeconfig = (server: string, user: object) =>
    JSON.stringify({
      clusters: [
        {
          name: "c",
          cluster: {
            server,
            "certificate-authority-data": Buffer.from(judge.ca).toString("base64"),
          },
        },
      ],
      users: [{ name: "u", user }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    });
  const authorize = await folder.write(
    "authorize.json",
    kubeconfig(judge.url, { token: planted("webhook-token") }),
  );
  const audit = await folder.write(
    "audit.json",
    kubeconfig("https://127.0.0.1:1/none", {
      username: "u",
      password: planted("webhook-password"),
    }),
  );
  const auditLog = join(folder.path, "audit.log");
  await using server = await startServer({
    flags: [
      "-v=10",
      "--slow-request-threshold=1ms",
      `--tracing-config-file=${tracing}`,
      `--token-auth-file=${tokens}`,
      "--authorization-mode=RBAC,Webhook",
      `--authorization-webhook-config-file=${authorize}`,
      `--authorization-webhook-cache-redis=redis://user:${planted("redis-url")}@127.0.0.1:1`,
      `--audit-log-path=${auditLog}`,
      `--audit-webhook-config-file=${audit}`,
      "--audit-webhook-initial-backoff=10ms",
      "--audit-webhook-batch-max-wait=10ms",
    ],
  });
  const { client } = server;
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const anonymous = new HttpsClient(server.url, { ca: server.credentials.ca });
  const webSocket = Buffer.from(planted("web-socket")).toString("base64url");
  const config = (name: string, url: string) => ({
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig: { ...hook.clientConfig(), url },
        rules: [
          { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["secrets"] },
        ],
        admissionReviewVersions: ["v1"],
        sideEffects: "None",
        failurePolicy: "Ignore",
        timeoutSeconds: 30,
      },
    ],
  });
  const hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const reachable = String(hook.clientConfig().url);
  (await client.post(hooks, config("good", `${reachable}?key=${planted("hook-query")}`))).status;
  (await client.post(hooks, config("good", reachable))).expect(201);
  const mutating = hooks.replace("validating", "mutating");
  const injected = Buffer.from(planted("injected")).toString("base64");
  await using injector = await openAdmissionHook(() =>
    jsonPatch({ op: "add", path: "/data/injected", value: injected }),
  );
  const url = String(injector.clientConfig().url);
  const injecting = config("injector", url);
  const [rule] = injecting.webhooks;
  const clientConfig = { ...injector.clientConfig(), url };
  const mutatingHook = { ...rule, clientConfig, failurePolicy: "Fail" };
  (await client.post(mutating, { ...injecting, webhooks: [mutatingHook] })).expect(201);
  (await client.post(hooks, config("gone", "https://127.0.0.1:1/none"))).expect(201);
  (await client.post(hooks, config("user", `https://u:${planted("hook-url")}@127.0.0.1:1/`)))
    .status;

  const kubeconfigMap = (name: string) => ({
    metadata: { name },
    data: {
      kubeconfig: `users: [{name: u, user: {token: ${planted("client-token")}, password: ${planted("client-password")}}}]`,
    },
  });
  const requests: readonly [path: string, options: Parameters<HttpsClient["request"]>[1]][] = [
    [PODS, { headers: bearer(planted("bearer")) }],
    [PODS, { headers: bearer(planted("token-file")) }],
    [
      PODS,
      {
        headers: {
          authorization: `Basic ${Buffer.from(`u:${planted("basic")}`).toString("base64")}`,
        },
      },
    ],
    [
      PODS,
      { headers: { ...bearer(planted("token-file")), cookie: `session=${planted("cookie")}` } },
    ],
    [
      PODS,
      {
        headers: {
          "sec-websocket-protocol": `base64url.bearer.authorization.k8s.io.${webSocket}, v5.channel.k8s.io`,
        },
      },
    ],
    [
      `${PODS}?token=${planted("query")}&access_token=${planted("query")}`,
      { headers: bearer(planted("token-file")) },
    ],
    [`${PODS}?labelSelector=(${planted("selector")}`, {}],
    [`/proxy/x?api-key=${planted("query")}&password=${planted("query")}`, {}],
    [PODS, { headers: { "x-remote-user": "x", "x-remote-extra-key": planted("front-proxy") } }],
    [
      PODS,
      {
        headers: { "proxy-authorization": planted("proxy-header"), "x-api-key": planted("header") },
      },
    ],
    [
      PODS,
      {
        headers: {
          traceparent: planted("traceparent"),
          tracestate: `a=${planted("tracestate")}`,
          baggage: `a=${planted("baggage")}`,
        },
      },
    ],
    [
      PODS,
      {
        headers: {
          ...bearer(planted("master")),
          "impersonate-user": "jane",
          "impersonate-extra-key": planted("extra"),
        },
      },
    ],
    [
      PODS,
      {
        headers: {
          referer: `https://u:${planted("referer")}@example.com/?t=${planted("referer")}`,
          origin: `https://${planted("origin")}.example.com`,
          "x-forwarded-for": planted("forwarded"),
          accept: `application/json;x=${planted("accept")}`,
          "if-none-match": planted("if-none-match"),
        },
      },
    ],
    [
      MAPS,
      {
        method: "POST",
        headers: { "content-type": `application/x-${planted("content-type")}` },
        body: "{}",
      },
    ],
    // What looks like the configuration of a client, whole, with a field too many, and broken.
    [MAPS, { method: "POST", body: kubeconfigMap("kept") }],
    [
      `${MAPS}?fieldValidation=Strict`,
      { method: "POST", body: { ...kubeconfigMap("strict"), password: planted("strict") } },
    ],
    [
      MAPS,
      {
        method: "POST",
        headers: { "content-type": "application/yaml" },
        body: `users:\n- user: {token: ${planted("broken")}\n  password: ]`,
      },
    ],
    [
      `${MAPS}/kept`,
      {
        method: "PATCH",
        headers: { "content-type": "application/json-patch+json" },
        body: [{ op: "test", path: "/data/password", value: planted("patch") }],
      },
    ],
    [
      "/debug/flags/v",
      { method: "PUT", headers: bearer(planted("master")), body: planted("flag") },
    ],
  ];
  for (const [path, options] of requests) {
    await anonymous.request(path, options);
    if (options?.headers?.authorization === undefined) {
      await anonymous.request(path, {
        ...options,
        headers: { ...options?.headers, ...bearer(planted("master")) },
      });
    }
  }
  anonymous.close();
  // A request line may name the server, with a user before it; upgrades end their connection.
  const upgrade = "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";
  for (const [line, headers] of [
    [`GET https://u:${planted("user-info")}@127.0.0.1:${server.port}${PODS}`, ""],
    [`POST ${PODS}/web/exec?command=mysql&command=-p${planted("command")}&stdin=true`, upgrade],
    [`GET ${PODS}/web/attach?token=${planted("attach")}`, upgrade],
  ]) {
    const raw = await RawConnection.open(server.port, server.credentials);
    await raw.send(`${line} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
    raw.destroy();
  }
  const secret = (name: string, text: string) => ({
    metadata: { name, annotations: { note: planted("annotation") } },
    stringData: { password: text },
  });
  const path = "/api/v1/namespaces/default/secrets";
  (await client.post(path, secret("one", planted("content")))).expect(201);
  (await client.post(path, secret("Bad Name", planted("content")))).expect(422);
  await client.post(path, `{"data": ${planted("content")}`);
  const patch = { stringData: { password: planted("content") } };
  (await client.patch(`${path}/one`, patch)).expect(200);
  (await client.get(`${path}/one`)).expect(200);
  (await client.post(ACCOUNTS, { metadata: { name: "planted" } })).expect(201);
  const issued = (await client.post(`${ACCOUNTS}/planted/token`, { spec: {} })).expect(201);
  const { token } = issued.object.status as { token: string };
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } };
  (await client.post("/apis/authentication.k8s.io/v1/tokenreviews", review)).expect(201);
  const openMetrics = { headers: { accept: "application/openmetrics-text" } };
  const metrics = [
    (await client.get("/metrics")).expect(200).text,
    (await client.request("/metrics", openMetrics)).expect(200).text,
  ].join("\n");
  assert.match(metrics, /# \{trace_id="[0-9a-f]{32}"\}/, "S2-TRACE-07: latencies have exemplars");
  await eventually("the traces are collected", () =>
    collector.spans.some(({ name }) => name.includes("tokenreviews")) ? true : undefined,
  );
  await server.stop();

  const texts = {
    logs: server.logs,
    metrics,
    traces: Buffer.concat(collector.bytes).toString("latin1"),
    records: await readFile(auditLog, "utf8"),
  };
  assert.match(texts.logs, /slow request/);
  assert.match(texts.logs, / HTTP /);
  assert.match(texts.traces, /Call SubjectAccessReview webhook/);
  assert.ok(texts.records.includes("tokenreviews"));
  assert.match(texts.records, /mutation\.webhook\.admission\.k8s\.io\/round_0_index_0/);
  const keyLine = server.credentials.key?.split("\n")[1] ?? "";
  const signature = token.split(".")[2] ?? "";
  assert.ok(keyLine.length > 20 && signature.length > 20);
  const plain = Array.from(
    JSON.stringify([requests, patch]).matchAll(/planted-[a-z-]+-4f1d9a7c/g),
    ([one]) => one,
  );
  const own = [
    "webhook-token",
    "webhook-password",
    "redis-url",
    "hook-url",
    "hook-query",
    "web-socket",
    "basic",
    "content",
    "annotation",
    "injected",
    "user-info",
    "command",
    "attach",
  ].map(planted);
  const recordedPlaces = ["extra", "selector", "command"].map(planted);
  for (const [where, text] of Object.entries(texts)) {
    for (const one of new Set([...plain, ...own, keyLine, signature])) {
      // Whom somebody acts as is what a record is for, and so is the whole question but for credentials.
      if (where === "records" && recordedPlaces.includes(one)) continue;
      // A selector is the API's own word, and shown.
      if (where === "logs" && one === planted("selector")) continue;
      const base64 = Buffer.from(one).toString("base64").replace(/=+$/, "").slice(0, -1);
      for (const form of [one, base64]) {
        assert.ok(!text.includes(form), `${one} is in the ${where}: ${around(text, form)}`);
      }
    }
  }
});

function around(text: string, form: string): string {
  const at = text.indexOf(form);
  return text.slice(Math.max(0, at - 200), at + 100);
}
