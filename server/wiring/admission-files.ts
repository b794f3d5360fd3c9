/**
 * Wiring of admission's files: the configuration of its plugins, rules in force on this replica
 * regardless of the API, and its credentials for webhooks.
 */
import { readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import {
  NO_CONFIGURATION,
  parseAdmissionConfiguration,
  type RulePlugin,
} from "../admission/static/admission-configuration.js";
import type { ImagePolicyFile, PluginSettings } from "../admission/static/plugin-settings.js";
import { readClientConfig } from "../client/client-config.js";
import { openClient } from "../client/open-client.js";
import { ReviewClient } from "../client/review-client.js";
import { type CredentialsByHost, readWebhookUsers } from "../client/webhook-users.js";
import type { Config } from "../config/config.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import {
  type ManifestMetrics,
  StaticRules,
} from "../registry/admissionregistration/static-rules.js";
import type { MetricFamilies } from "../request/metric-families.js";
import { serverIdHash } from "./authentication.js";

export interface AdmissionFiles {
  /** undefined = no rules from files. */
  readonly manifests: StaticRules | undefined;
  /** By the plugin that calls webhooks. */
  readonly credentials: ReadonlyMap<RulePlugin, CredentialsByHost>;
  /** What other plugins are told. */
  readonly settings: Readonly<PluginSettings>;
  /** The webhook about images; undefined = none is configured. */
  readonly images: ReviewClient | undefined;
  spawn(lifecycle: Lifecycle): void;
}

export interface AdmissionFilesParts {
  readonly config: Config;
  readonly catalog: CatalogSource;
  readonly metrics: MetricFamilies;
  readonly logger: Logger;
}

/** @throws {Error} with one line: an unusable file */
export async function openAdmissionFiles(parts: AdmissionFilesParts): Promise<AdmissionFiles> {
  const { config, catalog, metrics, logger } = parts;
  const { naming, features, admissionControlConfigFile: path } = config;
  const { rules, settings } =
    path === ""
      ? NO_CONFIGURATION
      : parseAdmissionConfiguration(path, {
          naming,
          readText: (file) => readFileSync(file, "utf8"),
          allowsManifests: features.ManifestBasedAdmissionControlConfig,
        });
  const clock = systemClock;
  const credentials = new Map<RulePlugin, CredentialsByHost>();
  const directories = new Map<RulePlugin, string>();
  for (const [plugin, { kubeConfigFile, staticManifestsDir }] of rules) {
    if (kubeConfigFile !== "") {
      credentials.set(plugin, await readWebhookUsers(kubeConfigFile, { naming, clock }));
    }
    if (staticManifestsDir === "") continue;
    await requireDirectory(staticManifestsDir);
    directories.set(plugin, staticManifestsDir);
  }
  const common = { naming, catalog, clock, logger };
  const manifests =
    directories.size === 0
      ? undefined
      : await StaticRules.open({ ...common, directories, metrics: createManifestMetrics(metrics) });
  return {
    manifests,
    credentials,
    settings,
    images: await openImagePolicy(settings.ImagePolicyWebhook, config),
    spawn(lifecycle) {
      if (manifests === undefined) return;
      lifecycle.spawn("admission manifests", "restart", (signal) => manifests.run(signal));
    },
  };
}

/** kube-apiserver's time limit of one call of a webhook. */
const IMAGE_REVIEW_TIMEOUT_MS = 30_000;
/** kube-apiserver's, but for the first delay. */
const BACKOFF = { factor: 1.5, jitter: 0.2, steps: 5 };

async function openImagePolicy(
  settings: ImagePolicyFile | undefined,
  { naming }: Config,
): Promise<ReviewClient | undefined> {
  if (settings === undefined) return undefined;
  const clock = systemClock;
  const config = await readClientConfig(settings.kubeConfigFile, { naming });
  const client = openClient(config, { clock, timeoutMs: IMAGE_REVIEW_TIMEOUT_MS });
  const backoff = { ...BACKOFF, initialMs: settings.retryBackoffMs };
  return new ReviewClient({ client, clock, backoff });
}

async function requireDirectory(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`staticManifestsDir ${path}: unable to read: ${error.code}`);
  });
  if (!found.isDirectory()) throw new Error(`staticManifestsDir ${path}: must be a directory`);
}

/** With kube-apiserver's names. */
function createManifestMetrics(metrics: MetricFamilies): ManifestMetrics {
  const id = serverIdHash();
  const controller = "apiserver_manifest_admission_config_controller";
  const labelNames = ["status", "plugin", "apiserver_id_hash"];
  const reloads = metrics.counter({
    name: `${controller}_automatic_reloads_total`,
    help: "Loads of admission manifests, by status, plugin and replica.",
    labelNames,
  });
  const lastMs = new Map<string, readonly [number, string, RulePlugin]>();
  metrics.gauge(
    {
      name: `${controller}_automatic_reload_last_timestamp_seconds`,
      help: "Time of the last load of admission manifests, by status, plugin and replica.",
      labelNames,
    },
    (set) => {
      for (const [ms, status, plugin] of lastMs.values()) set(ms / 1000, status, plugin, id);
    },
  );
  const hashes = new Map<RulePlugin, string>();
  metrics.gauge(
    {
      name: `${controller}_last_config_info`,
      help: "The admission manifests in force, by plugin, replica and hash.",
      labelNames: ["plugin", "apiserver_id_hash", "hash"],
    },
    (set) => {
      for (const [plugin, hash] of hashes) set(1, plugin, id, hash);
    },
  );
  return {
    reloaded(plugin, isGood) {
      const status = isGood ? "success" : "failure";
      reloads.add(1, status, plugin, id);
      lastMs.set(`${status}/${plugin}`, [systemClock.now(), status, plugin]);
    },
    configured: (plugin, hash) => hashes.set(plugin, hash),
  };
}
