/** Wiring of the audit log: the policy file, the backends from flags, and their metrics. */
import { readFile } from "node:fs/promises";
import { type Cleanup, openAll } from "../../storage/base/cleanup.js";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import type { Naming } from "../api/naming.js";
import {
  type AuditBackend,
  AuditBatch,
  type AuditOutcome,
  type BatchSettings,
} from "../audit/audit-batch.js";
import type { AuditFormat } from "../audit/audit-event.js";
import { daysToMs, openAuditFile } from "../audit/audit-file.js";
import { type AuditOutlet, AuditRecorder } from "../audit/audit-recorder.js";
import { AuditWebhook } from "../audit/audit-webhook.js";
import { type AuditPolicy, parseAuditPolicy, RECORD_ALL } from "../audit/policy.js";
import { runFileWatch } from "../certificates/file-watch.js";
import type { ReloadObservers } from "../certificates/followed-files.js";
import type { Config } from "../config/config.js";
import type { Metrics } from "../metrics/metrics.js";
import type { ObserveReload } from "./count-reloads.js";
import { type FollowedWebhook, openFollowedWebhook } from "./followed-webhook.js";

export interface Audit extends AsyncDisposable {
  readonly recorder: AuditRecorder;
  /** Follows the policy's file, and the webhook's. */
  spawn(lifecycle: Lifecycle, onReload: ObserveReload): void;
}

/** For one call of the webhook. */
const WEBHOOK_TIMEOUT_MS = 30_000;
const MIB = 1024 * 1024;

/** Undefined when auditing is off. @throws {Error} with one line: an unusable file */
export async function openAudit(
  config: Config,
  metrics: Metrics,
  logger: Logger,
): Promise<Audit | undefined> {
  const { auditLogPath, auditWebhookConfigFile, auditPolicyFile, naming } = config;
  if (auditLogPath === "" && auditWebhookConfigFile === "") return undefined;
  checkVersions(config);
  return await openAll(async (opened) => {
    const { text: policyText, policy } =
      auditPolicyFile === ""
        ? { text: "", policy: RECORD_ALL }
        : await named("audit-policy-file", async () => {
            const text = await readFile(auditPolicyFile, "utf8");
            return { text, policy: readPolicy(text, naming, logger) };
          });
    const { outlets, webhook } = await openOutlets(config, opened, { metrics, logger });
    const events = metrics.counter({
      name: "apiserver_audit_event_total",
      help: "Audit records that were made.",
    });
    const levels = metrics.counter({
      name: "apiserver_audit_level_total",
      help: "Requests by the level at which they are recorded.",
      labelNames: ["level"],
    });
    const rejected = metrics.counter({
      name: "apiserver_audit_requests_rejected_total",
      help: "Requests that were refused as they could not be recorded.",
    });
    // There from the start, so that the first one shows as a change.
    rejected.add(0);
    const recorder = opened.use(
      new AuditRecorder({
        naming,
        policy,
        outlets,
        onRequest: (level) => levels.add(1, level),
        onEvent: () => events.add(1),
        onRejected: () => rejected.add(1),
      }),
    );
    return {
      recorder,
      spawn(lifecycle, onReload) {
        const following = { inForce: policyText, logger, lifecycle, onReload };
        if (auditPolicyFile !== "") followPolicy(config, recorder, following);
        webhook?.spawn(lifecycle, onReload);
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}

interface Observers {
  readonly metrics: Metrics;
  readonly logger: Logger;
}

const LOSSES = ["full", "failed", "large"] as const satisfies readonly AuditOutcome[];

async function openOutlets(
  config: Config,
  opened: Cleanup,
  { metrics, logger }: Observers,
): Promise<{ outlets: AuditOutlet[]; webhook: FollowedWebhook | undefined }> {
  const errors = metrics.counter({
    name: "apiserver_audit_error_total",
    help: "Audit records that were dropped, by backend and why.",
    labelNames: ["plugin", "reason"],
  });
  const recorded = metrics.counter({
    name: "apiserver_audit_recorded_total",
    help: "Audit records that a backend has taken.",
    labelNames: ["plugin"],
  });
  const batches: AuditBatch[] = [];
  const open = (backend: AuditBackend, settings: BatchSettings) => {
    const batch = opened.use(
      new AuditBatch({
        backend,
        settings,
        clock: systemClock,
        onOutcome(outcome, events) {
          if (outcome === "recorded") recorded.add(events, backend.name);
          else errors.add(events, backend.name, outcome);
        },
        onFailure: (error) =>
          logger.error(
            { backend: backend.name, err: oneLine(error) },
            "the audit log cannot be written",
          ),
      }),
    );
    // Otherwise the first loss is no increase to Prometheus, and raises no alert.
    for (const outcome of LOSSES) errors.add(0, backend.name, outcome);
    batches.push(batch);
    return batch;
  };
  const outlets: AuditOutlet[] = [];
  let webhook: FollowedWebhook | undefined;
  if (config.auditLogPath !== "") {
    const backend = await named("audit-log-path", () =>
      openAuditFile({
        path: config.auditLogPath,
        bytesMax: config.auditLogMaxsize * MIB,
        backupsMax: config.auditLogMaxbackup,
        ageMsMax: daysToMs(config.auditLogMaxage),
        compresses: config.auditLogCompress,
        now: () => Date.now(),
      }),
    );
    outlets.push({
      batch: open(backend, settingsOf(config, "Log")),
      format: config.auditLogFormat as AuditFormat,
      eventBytesMax: truncation(config, "Log"),
    });
  }
  if (config.auditWebhookConfigFile !== "") {
    const { naming, auditWebhookConfigFile: file } = config;
    webhook = await named("audit-webhook-config-file", () =>
      openFollowedWebhook({ file, naming, timeoutMs: WEBHOOK_TIMEOUT_MS, logger }),
    );
    const backend = new AuditWebhook({
      client: webhook.client,
      naming,
      clock: systemClock,
      initialBackoffMs: config.auditWebhookInitialBackoffMs,
    });
    outlets.push({
      batch: open(backend, settingsOf(config, "Webhook")),
      format: "json",
      eventBytesMax: truncation(config, "Webhook"),
    });
  }
  metrics.gauge(
    {
      name: "apiserver_audit_waiting",
      help: "Audit records that wait for their backends.",
    },
    (set) => set(batches.reduce((sum, { waiting }) => sum + waiting, 0)),
  );
  return { outlets, webhook };
}

type Backend = "Log" | "Webhook";

/** The two backends have the same flags, under names that begin with theirs. */
function settingsOf(config: Config, backend: Backend): BatchSettings {
  const batch = `audit${backend}Batch` as const;
  return {
    mode: config[`audit${backend}Mode`] as BatchSettings["mode"],
    bufferSize: config[`${batch}BufferSize`],
    batchSizeMax: config[`${batch}MaxSize`],
    batchBytesMax: config[`audit${backend}TruncateEnabled`]
      ? config[`audit${backend}TruncateMaxBatchSize`]
      : 0,
    waitMsMax: config[`${batch}MaxWaitMs`],
    throttleQps: config[`${batch}ThrottleEnable`] ? config[`${batch}ThrottleQps`] : 0,
    throttleBurst: config[`${batch}ThrottleBurst`],
  };
}

/** The bound on a record. @throws {Error} one that no call has room for */
function truncation(config: Config, backend: Backend): number {
  if (!config[`audit${backend}TruncateEnabled`]) return 0;
  const eventBytes = config[`audit${backend}TruncateMaxEventSize`];
  if (eventBytes > config[`audit${backend}TruncateMaxBatchSize`]) {
    const flag = `--audit-${backend.toLowerCase()}-truncate-max-`;
    throw new Error(`${flag}event-size: must not be larger than ${flag}batch-size`);
  }
  return eventBytes;
}

/** @throws {Error} another version than the one that there is */
function checkVersions({ auditLogVersion, auditWebhookVersion, naming }: Config): void {
  const only = `audit.${naming.groupDomain}/v1`;
  for (const [backend, version] of [
    ["log", auditLogVersion],
    ["webhook", auditWebhookVersion],
  ]) {
    if (version !== "" && version !== only) {
      throw new Error(`--audit-${backend}-version: ${JSON.stringify(version)} is not ${only}`);
    }
  }
}

function followPolicy(
  { auditPolicyFile, naming }: Config,
  recorder: AuditRecorder,
  following: ReloadObservers & { readonly inForce: string; readonly lifecycle: Lifecycle },
): void {
  const { inForce, logger, lifecycle, onReload } = following;
  lifecycle.spawn("audit policy", "restart", (signal) =>
    runFileWatch(
      {
        files: [auditPolicyFile],
        inForce: [inForce],
        apply: ([text = ""]) => {
          recorder.replacePolicy(readPolicy(text, naming, logger));
        },
        onReload,
        clock: systemClock,
        logger,
      },
      signal,
    ),
  );
}

/** Logs what does not count. @throws {AuditPolicyError} */
function readPolicy(text: string, naming: Naming, logger: Logger): AuditPolicy {
  const policy = parseAuditPolicy(text, naming);
  const { remarks = [] } = policy;
  if (remarks.length > 0) {
    logger.warn({ remarks }, "the audit policy has fields that are unknown or given twice");
  }
  return policy;
}

/** @throws {Error} one line that begins with the flag */
async function named<T>(flag: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (cause) {
    throw new Error(`--${flag}: ${(cause as Error).message}`, { cause });
  }
}
