import assert from "node:assert/strict";
import { test } from "node:test";
import { Metrics } from "../../metrics/metrics.js";
import { createAuthenticationMetrics } from "./metrics.js";

/** The lines of a scrape with this prefix, without the help. */
async function linesOf(metrics: Metrics, prefix: string): Promise<string[]> {
  const text = await metrics.registry.metrics();
  return text.split("\n").filter((line) => line.startsWith(prefix));
}

test("S2-AUTHC-22: reloads are counted, and the configuration in force is told by its hash", async () => {
  const metrics = new Metrics();
  const counted = createAuthenticationMetrics(metrics, "sha256:me", () => 0);
  const prefix = "apiserver_authentication_config_controller_";
  assert.deepEqual(await linesOf(metrics, prefix), []);
  counted.configured("sha256:old");
  counted.reloaded(true, 5_000);
  counted.reloaded(false, 6_000);
  counted.reloaded(false, 7_500);
  counted.configured("sha256:new");
  assert.deepEqual(await linesOf(metrics, prefix), [
    `${prefix}automatic_reloads_total{status="success",apiserver_id_hash="sha256:me"} 1`,
    `${prefix}automatic_reloads_total{status="failure",apiserver_id_hash="sha256:me"} 2`,
    `${prefix}automatic_reload_last_timestamp_seconds{status="success",apiserver_id_hash="sha256:me"} 5`,
    `${prefix}automatic_reload_last_timestamp_seconds{status="failure",apiserver_id_hash="sha256:me"} 7.5`,
    `${prefix}last_config_info{apiserver_id_hash="sha256:me",hash="sha256:new"} 1`,
  ]);
});

test("fetches of keys are told per issuer, and forgotten with it", async () => {
  const metrics = new Metrics();
  const counted = createAuthenticationMetrics(metrics, "me", () => 9_000);
  const prefix = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_";
  counted.keysFetched("a", "k1");
  counted.keysFetched("a", undefined);
  counted.keysFetched("a", "k2");
  counted.keysFetched("b", undefined);
  assert.deepEqual(await linesOf(metrics, prefix), [
    `${prefix}timestamp_seconds{result="success",jwt_issuer_hash="a",apiserver_id_hash="me"} 9`,
    `${prefix}timestamp_seconds{result="failure",jwt_issuer_hash="a",apiserver_id_hash="me"} 9`,
    `${prefix}timestamp_seconds{result="failure",jwt_issuer_hash="b",apiserver_id_hash="me"} 9`,
    `${prefix}key_set_info{jwt_issuer_hash="a",apiserver_id_hash="me",hash="k2"} 1`,
  ]);
  counted.forgotten("a");
  assert.deepEqual(await linesOf(metrics, prefix), [
    `${prefix}timestamp_seconds{result="failure",jwt_issuer_hash="b",apiserver_id_hash="me"} 9`,
  ]);
});

test("verifications are timed by result", async () => {
  const metrics = new Metrics();
  const counted = createAuthenticationMetrics(metrics, "me", () => 0);
  counted.authenticated("a", "success", 3);
  counted.authenticated("a", "failure", 2_000);
  const name = "apiserver_authentication_jwt_authenticator_latency_seconds";
  assert.deepEqual(await linesOf(metrics, `${name}_sum`), [
    `${name}_sum{result="success",jwt_issuer_hash="a"} 0.003`,
    `${name}_sum{result="failure",jwt_issuer_hash="a"} 2`,
  ]);
  const bounds = (await linesOf(metrics, `${name}_bucket`)).map(
    (line) => /le="([^"]+)"/.exec(line)?.[1],
  );
  assert.deepEqual(
    bounds.slice(0, bounds.length / 2),
    "0.001 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf".split(" "),
    "those of kube-apiserver 1.36",
  );
});
