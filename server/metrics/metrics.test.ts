/** Metrics: kube-apiserver's names and labels, and bounds on labels from clients. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Registry } from "prom-client";
import { openFront } from "../chain/testing/test-front.js";
import { parseRequestInfo } from "../request/request-info.js";
import { CounterFamily } from "./fast-metrics.js";
import { Metrics } from "./metrics.js";

test("requests are counted and timed under kube-apiserver's names and labels", async () => {
  const metrics = new Metrics();
  const cells = metrics.requestCells(
    parseRequestInfo("GET", "/api/v1/namespaces/a/pods"),
    false,
    200,
    "kubectl/v1.36.0",
  );
  cells.total.value += 2;
  cells.duration.observe(0.03);
  cells.duration.observe(100);
  cells.responseSize?.observe(1500);
  metrics.watchEvents.cell("apps", "v1", "deployments").value++;
  metrics.observeObjects(() => [{ group: "apps", resource: "deployments", count: 3 }]);
  metrics.observeFeatures("kubernetes", [{ name: "A", stage: "BETA", isEnabled: true }]);
  const stop = metrics.startLongRunning(parseRequestInfo("GET", "/api/v1/pods?watch=1"));
  const text = await metrics.registry.metrics();
  const where =
    'group="",version="v1",resource="pods",subresource="",scope="namespace",component="apiserver"';
  for (const line of [
    `apiserver_request_total{verb="LIST",dry_run="",${where},code="200",system_client=""} 2`,
    `apiserver_request_duration_seconds_bucket{verb="LIST",dry_run="",${where},le="0.025"} 0`,
    `apiserver_request_duration_seconds_bucket{verb="LIST",dry_run="",${where},le="0.05"} 1`,
    `apiserver_request_duration_seconds_bucket{verb="LIST",dry_run="",${where},le="60"} 1`,
    `apiserver_request_duration_seconds_bucket{verb="LIST",dry_run="",${where},le="+Inf"} 2`,
    `apiserver_request_duration_seconds_sum{verb="LIST",dry_run="",${where}} 100.03`,
    `apiserver_request_duration_seconds_count{verb="LIST",dry_run="",${where}} 2`,
    `apiserver_response_sizes_bucket{verb="LIST",${where},le="10000"} 1`,
    'apiserver_watch_events_total{group="apps",version="v1",resource="deployments"} 1',
    'apiserver_resource_objects{group="apps",resource="deployments"} 3',
    'apiserver_storage_objects{resource="deployments.apps"} 3',
    'kubernetes_feature_enabled{name="A",stage="BETA"} 1',
    'apiserver_longrunning_requests{verb="WATCH",group="",version="v1",resource="pods",subresource="",scope="cluster",component="apiserver"} 1',
    "# TYPE apiserver_request_duration_seconds histogram",
  ]) {
    assert.ok(text.split("\n").includes(line), `${line}\nis missing in\n${text}`);
  }
  stop();
  assert.doesNotMatch(await metrics.registry.metrics(), /longrunning_requests\{/);
});

test("verbs are reported as kube-apiserver does: apply, connect, and nothing that a client invents", async () => {
  const metrics = new Metrics();
  const count = (method: string, url: string, isApply = false) =>
    metrics.requestCells(parseRequestInfo(method, url), isApply, 200, undefined).total.value++;
  count("PATCH", "/api/v1/namespaces/a/pods/b", true);
  count("GET", "/api/v1/namespaces/a/pods/b/log");
  count("BREW", "/coffee");
  count("DELETE", "/api/v1/namespaces/a/pods?dryRun=All");
  const text = await metrics.registry.metrics();
  for (const labels of [
    /verb="APPLY"/,
    /verb="CONNECT".*subresource="log"/,
    /verb="other"/,
    /verb="DELETE",dry_run="All".*scope="namespace"/,
  ]) {
    assert.match(text, labels);
  }
  assert.doesNotMatch(text, /BREW/i);
});

test("the cluster's own programs are told from other clients by what stands before the slash", async () => {
  const metrics = new Metrics();
  const info = parseRequestInfo("GET", "/api/v1/pods");
  const agents = ["kube-scheduler/v1.36.3 (linux/amd64)", "kube-scheduler", "kube-scheduler2/v1"];
  for (const agent of agents) metrics.requestCells(info, false, 200, agent).total.value++;
  const text = await metrics.registry.metrics();
  assert.match(text, /request_total\{verb="LIST".*system_client="kube-scheduler"\} 1\n/);
  assert.match(text, /request_total\{verb="LIST".*system_client=""\} 2\n/);
});

test("CVE-2020-8552: a family beyond its bound counts all further label sets as other", async () => {
  const registry = new Registry();
  const family = new CounterFamily(registry, {
    name: "x_total",
    help: "x",
    labelNames: ["a"],
    cellsMax: 2,
  });
  for (const name of ["1", "2", "3", "4", "1"]) family.add(1, name);
  const text = await registry.metrics();
  assert.deepEqual(
    text.split("\n").filter((line) => line.startsWith("x_total{")),
    ['x_total{a="1"} 2', 'x_total{a="2"} 1', 'x_total{a="other"} 2'],
  );
});

test("/metrics shows what went through the front, also streams and in-flight requests", async () => {
  await using front = await openFront();
  await front.ask("/api/v1/namespaces/a/pods/b");
  await front.ask("/nothing", { identity: null });
  const { status, headers, text } = await front.ask("/metrics");
  assert.equal(status, 200);
  assert.match(headers["content-type"] ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(
    text,
    /apiserver_request_total\{verb="GET",.*resource="pods",.*scope="resource",.*code="200",system_client=""\} 1/,
  );
  assert.match(
    text,
    /apiserver_request_total\{verb="GET",.*resource="",.*code="403",system_client=""\} 1/,
  );
  assert.match(text, /apiserver_current_inflight_requests\{request_kind="readOnly"\} 1/);
});

test("A23: attempts to authenticate and to authorize are counted by result, as in 1.36", async () => {
  await using front = await openFront();
  await front.ask("/version");
  await front.ask("/version", { identity: null });
  await front.ask("/metrics", { identity: null });
  await front.ask("/version", { identity: null, headers: { authorization: "Bearer nobody" } });
  await using closed = await openFront({ anonymous: false });
  await closed.ask("/version", { identity: null });
  const linesOf = async ({ metrics }: typeof front) =>
    (await metrics.registry.metrics())
      .split("\n")
      .filter((line) => /^auth.*(_requests|attempts|_total|_seconds_count)\{/.test(line));
  assert.deepEqual(await linesOf(front), [
    'authenticated_user_requests{username="other"} 3',
    'authentication_attempts{result="success"} 3',
    'authentication_attempts{result="error"} 1',
    'authentication_duration_seconds_count{result="success"} 3',
    'authentication_duration_seconds_count{result="error"} 1',
    'authorization_attempts_total{result="allowed"} 2',
    'authorization_attempts_total{result="no-opinion"} 1',
    'authorization_duration_seconds_count{result="allowed"} 2',
    'authorization_duration_seconds_count{result="no-opinion"} 1',
  ]);
  assert.deepEqual(await linesOf(closed), [
    'authentication_attempts{result="failure"} 1',
    'authentication_duration_seconds_count{result="failure"} 1',
  ]);
});
