/** docs/run/operations.md says what a running server says about itself. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { openAdmissionHook } from "../server/admission/testing/admission-webhook.js";
import { startServer } from "./harness/server-process.js";
import { startEtcd } from "./tools/etcd.js";

/** Present only with flags that this server was not given, or when something is counted. */
const CONDITIONAL = new Set([
  "aggregator_unavailable_apiservice_total",
  "apiserver_audit_error_total",
  "apiserver_audit_event_total",
  "apiserver_audit_level_total",
  "apiserver_audit_recorded_total",
  "apiserver_audit_requests_rejected_total",
  "apiserver_audit_waiting",
  "apiserver_encryption_config_controller_automatic_reloads_total",
  "apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds",
  "apiserver_manifest_admission_config_controller_automatic_reloads_total",
  "apiserver_manifest_admission_config_controller_last_config_info",
  "apiserver_storage_transformation_operations_total",
  "apiserver_tracing_spans_dropped_total",
  "leader_election_master_status",
  "apiserver_record_bytes",
  "apiserver_record_directory_bytes",
  "apiserver_record_directory_failures_total",
  "apiserver_record_dropped_total",
  "apiserver_record_forgotten_total",
  "apiserver_tracing_spans_exported_total",
  "apiserver_tracing_spans_waiting",
]);

function firstColumn(document: string, heading: string): string[] {
  const section = document.split(`## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1] ?? "");
}

test("CARD-08, S2-HEALTH-09: the documented metrics and health checks are those that there are", async () => {
  await using server = await startServer({ flags: ["--enable-control-planes"] });
  // From dist/e2e to the repository.
  const document = await readFile(new URL("../../docs/run/operations.md", import.meta.url), "utf8");

  const scraped = await server.client.get("/metrics");
  const names = [...scraped.text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] ?? "");
  const isAlways = (name: string) => !CONDITIONAL.has(name);
  const ours = names.filter((name) => !/^(process|nodejs)_/.test(name)).filter(isAlways);
  const documented = firstColumn(document, "Metrics").filter(isAlways);
  assert.deepEqual(documented.toSorted(), ours.toSorted());

  const verbose = await server.client.get("/readyz?verbose");
  const checks = [...verbose.text.matchAll(/^\[\+\](\S+) ok$/gm)].map((match) => match[1] ?? "");
  assert.deepEqual(firstColumn(document, "Health").toSorted(), checks.toSorted());
});

/** What dashboards and alerts that are made for kube-apiserver look for, with some of the labels. */
const WELL_KNOWN: readonly [name: string, labels: readonly string[]][] = [
  ["apiserver_request_total", ["verb", "group", "version", "resource", "scope", "code"]],
  ["apiserver_request_duration_seconds_bucket", ["verb", "resource", "subresource", "le"]],
  ["apiserver_response_sizes_bucket", ["verb", "resource", "le"]],
  ["apiserver_current_inflight_requests", ["request_kind"]],
  ["apiserver_longrunning_requests", ["verb", "resource"]],
  ["apiserver_watch_events_total", ["group", "version"]],
  ["apiserver_watch_cache_resource_version", ["group", "resource"]],
  ["apiserver_storage_objects", ["resource"]],
  ["apiserver_resource_objects", ["group", "resource"]],
  ["etcd_request_duration_seconds_bucket", ["operation", "le"]],
  ["kubernetes_feature_enabled", ["name", "stage"]],
  ["process_start_time_seconds", []],
];

test("CARD-08: metrics have the names and labels that people already look for", async () => {
  await using etcd = await startEtcd();
  await using server = await startServer({ etcdEndpoints: [etcd.endpoint] });
  const path = "/api/v1/namespaces/default/configmaps";
  const ending = new AbortController();
  const events = await server.client.watch(`${path}?watch=1`, ending.signal);
  (await server.client.post(path, { metadata: { name: "a" } })).expect(201);
  (await server.client.get(path)).expect(200);
  await events.next();
  const { text } = await server.client.get("/metrics");
  ending.abort();
  const lines = text.split("\n");
  for (const [name, labels] of WELL_KNOWN) {
    const line = lines.find((each) => each.startsWith(`${name}{`) || each.startsWith(`${name} `));
    assert.ok(line !== undefined, name);
    for (const label of labels) assert.match(line, new RegExp(`[{,]${label}="`), name);
  }
});

test("A23: the server's own time leaves out waits for webhooks; certificates and impersonation are counted", async () => {
  await using server = await startServer();
  await using hook = await openAdmissionHook(() => ({ isSilent: true }));
  const { client } = server;
  const rule = {
    ...{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["*"] },
  };
  const silent = {
    ...{ name: "silent.example.com", clientConfig: hook.clientConfig(), rules: [rule] },
    ...{ timeoutSeconds: 1, failurePolicy: "Ignore" },
    ...{ sideEffects: "None", admissionReviewVersions: ["v1"] },
  };
  for (const kind of ["Mutating", "Validating"]) {
    const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`;
    (await client.post(path, { metadata: { name: "silent" }, webhooks: [silent] })).expect(201);
  }
  const path = "/api/v1/namespaces/default/configmaps";
  (await client.post(`${path}?dryRun=All`, { metadata: { name: "a" } })).expect(201);
  (await client.post(path, { metadata: { name: "a" } })).expect(201);
  (await client.request(path, { headers: { "impersonate-user": "jane" } })).expect(403);

  const { text } = await client.get("/metrics");
  const numberOf = (name: string, ...labels: string[]) => {
    const line = text
      .split("\n")
      .find((each) => each.startsWith(name) && labels.every((label) => each.includes(label)));
    return Number(line?.split(" ").at(-1));
  };
  const created = ['verb="POST"', 'resource="configmaps"'];
  const all = numberOf("apiserver_request_duration_seconds_sum", 'dry_run=""', ...created);
  const own = numberOf("apiserver_request_sli_duration_seconds_sum", ...created);
  assert.ok(all - own >= 1.9 && own > 0, `${all} in all, ${own} of them its own`);
  assert.equal(numberOf("apiserver_request_sli_duration_seconds_count", ...created), 1);
  assert.ok(numberOf("apiserver_client_certificate_expiration_seconds_count") > 3);
  const allowed = ['mode="user-info"', 'decision="allowed"'];
  assert.equal(numberOf("apiserver_impersonation_attempts_total", ...allowed), 1);
});

test("S2-HEALTH-04: every check has a path below every endpoint, whether it counts there or not", async () => {
  await using server = await startServer();
  for (const endpoint of ["livez", "readyz", "healthz"]) {
    for (const name of ["ping", "etcd", "poststarthook/load-view"]) {
      const answer = (await server.client.get(`/${endpoint}/${name}`)).expect(200, name);
      assert.equal(answer.text, "ok");
    }
    (await server.client.get(`/${endpoint}/nope`)).expect(404);
    const verbose = (await server.client.get(`/${endpoint}?verbose`)).expect(200).text;
    for (const name of ["etcd", "autoregister-completion"]) {
      assert.ok(verbose.includes(`[+]${name} ok\n`), `${endpoint}: ${verbose}`);
    }
  }
});
