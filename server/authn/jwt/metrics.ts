/** Metrics of JSON web tokens, under kube-apiserver's names. The wiring creates the families. */
import type { MetricFamilies } from "../../request/metric-families.js";
import type { JwtMetrics } from "./jwt-authenticator.js";

export interface AuthenticationMetrics extends JwtMetrics {
  /** A changed configuration file was accepted or refused. */
  reloaded(isGood: boolean, nowMs: number): void;
  /** The hash of the current file. */
  configured(hash: string): void;
}

const LATENCY_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const PREFIX = "apiserver_authentication";

/**
 * @param serverIdHash what kube-apiserver calls apiserver_id_hash: "sha256:..." of the replica's id
 * @param now the wall clock
 */
export function createAuthenticationMetrics(
  families: MetricFamilies,
  serverIdHash: string,
  now: () => number,
): AuthenticationMetrics {
  return {
    ...createTokenMetrics(families, serverIdHash, now),
    ...createReloadMetrics(families, serverIdHash),
  };
}

function createTokenMetrics(
  families: MetricFamilies,
  serverIdHash: string,
  now: () => number,
): JwtMetrics {
  const latency = families.histogram({
    name: `${PREFIX}_jwt_authenticator_latency_seconds`,
    help: "Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).",
    labelNames: ["result", "jwt_issuer_hash"],
    buckets: LATENCY_SECONDS,
  });
  const lastFetches = new Map<
    string,
    { readonly labels: readonly string[]; readonly ms: number }
  >();
  const keySets = new Map<string, string>();
  families.gauge(
    {
      name: `${PREFIX}_jwt_authenticator_jwks_fetch_last_timestamp_seconds`,
      help: "Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.",
      labelNames: ["result", "jwt_issuer_hash", "apiserver_id_hash"],
    },
    (set) => {
      for (const { labels, ms } of lastFetches.values()) set(ms / 1000, ...labels);
    },
  );
  families.gauge(
    {
      name: `${PREFIX}_jwt_authenticator_jwks_fetch_last_key_set_info`,
      help: "Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity and jwt issuer.",
      labelNames: ["jwt_issuer_hash", "apiserver_id_hash", "hash"],
    },
    (set) => {
      for (const [issuerHash, hash] of keySets) set(1, issuerHash, serverIdHash, hash);
    },
  );
  return {
    authenticated(issuerHash, result, durationMs) {
      latency.cell(result, issuerHash).observe(durationMs / 1000);
    },
    keysFetched(issuerHash, keySetHash) {
      const result = keySetHash === undefined ? "failure" : "success";
      const labels = [result, issuerHash, serverIdHash];
      lastFetches.set(labels.join(), { labels, ms: now() });
      if (keySetHash !== undefined) keySets.set(issuerHash, keySetHash);
    },
    forgotten(issuerHash) {
      keySets.delete(issuerHash);
      for (const [key, { labels }] of lastFetches) {
        if (labels[1] === issuerHash) lastFetches.delete(key);
      }
    },
  };
}

function createReloadMetrics(
  families: MetricFamilies,
  serverIdHash: string,
): Pick<AuthenticationMetrics, "reloaded" | "configured"> {
  const prefix = `${PREFIX}_config_controller`;
  const labelNames = ["status", "apiserver_id_hash"];
  const reloads = families.counter({
    name: `${prefix}_automatic_reloads_total`,
    help: "Total number of automatic reloads of authentication configuration split by status and apiserver identity.",
    labelNames,
  });
  const lastMs = new Map<string, number>();
  families.gauge(
    {
      name: `${prefix}_automatic_reload_last_timestamp_seconds`,
      help: "Timestamp of the last automatic reload of authentication configuration split by status and apiserver identity.",
      labelNames,
    },
    (set) => {
      for (const [status, ms] of lastMs) set(ms / 1000, status, serverIdHash);
    },
  );
  const inForce = { hash: "" };
  families.gauge(
    {
      name: `${prefix}_last_config_info`,
      help: "Information about the last applied authentication configuration with hash as label, split by apiserver identity.",
      labelNames: ["apiserver_id_hash", "hash"],
    },
    (set) => {
      if (inForce.hash !== "") set(1, serverIdHash, inForce.hash);
    },
  );
  return {
    reloaded(isGood, nowMs) {
      const status = isGood ? "success" : "failure";
      reloads.add(1, status, serverIdHash);
      lastMs.set(status, nowMs);
    },
    configured(hash) {
      inForce.hash = hash;
    },
  };
}
