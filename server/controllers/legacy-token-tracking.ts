/**
 * Tracks tokens out of Secrets: since when uses are tracked is in a ConfigMap, and the day of the last use is a label of each
 * Secret, so that a cleaner can tell which are used by nobody. Runs in every replica. Source: kube-apiserver's
 * pkg/controlplane/controller/legacytokentracking.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { ApiObject } from "../api/meta.js";
import type { Naming } from "../api/naming.js";
import { StatusError } from "../api/status.js";
import type {
  LegacyTokenUse,
  LegacyTokenUses,
} from "../authn/service-account/legacy-token-uses.js";
import type { ObjectsApi } from "./objects-api.js";
import { runSyncLoop } from "./sync-loop.js";
import { WorkQueue } from "./work-queue.js";

export interface LegacyTokenTrackingOptions {
  readonly objects: ObjectsApi;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uses: LegacyTokenUses;
}

const SINCE = "since";
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INTERVAL_MS = 12 * 3_600_000;
/** Secrets that wait for their label; more are noted again by their next use. */
const WAITING_MAX = 1_000;

/** The ConfigMap exists and names a day. Safe with several replicas at once. @throws {StatusError} */
export async function ensureLegacyTokenTracking(
  { objects, naming, uses }: Pick<LegacyTokenTrackingOptions, "objects" | "naming" | "uses">,
  signal: AbortSignal,
): Promise<void> {
  const configMaps = objects.resource("", "configmaps");
  const place = placeOf(naming);
  if (objects.metadata(configMaps, place) === "unreadable") return;
  const current = objects.get(configMaps, place);
  const data = (current?.data ?? {}) as Readonly<Record<string, string>>;
  if (isDay(data[SINCE])) return;
  const object: ApiObject = {
    ...(current ?? { kind: "ConfigMap", apiVersion: "v1", metadata: place }),
    data: { ...data, [SINCE]: uses.today },
  };
  try {
    if (current === undefined) await objects.create(configMaps, object, signal);
    else await objects.update(configMaps, object, "", signal);
  } catch (error) {
    // Another replica was faster.
    if (!(error instanceof StatusError && (error.code === 409 || error.code === 404))) throw error;
  }
}

/** Runs until the signal aborts. */
export async function runLegacyTokenTracking(
  options: LegacyTokenTrackingOptions,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([keepMap(options, signal), labelSecrets(options, signal)]);
}

function keepMap(options: LegacyTokenTrackingOptions, signal: AbortSignal): Promise<void> {
  const { objects, naming } = options;
  const { namespace, name } = placeOf(naming);
  return runSyncLoop(
    {
      ...options,
      name: "legacy token tracking",
      watches: [
        {
          resource: objects.resource("", "configmaps"),
          concerns: (key) => key.name === name && key.namespace === namespace,
        },
      ],
      intervalMs: INTERVAL_MS,
      sync: async (until) => {
        await ensureLegacyTokenTracking(options, until);
        return undefined;
      },
    },
    signal,
  );
}

async function labelSecrets(
  options: LegacyTokenTrackingOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, uses } = options;
  const queue = new WorkQueue(clock);
  const waiting = new Map<string, LegacyTokenUse>();
  uses.listen((use) => {
    const key = `${use.namespace}/${use.secretName}`;
    if (waiting.has(key) || waiting.size >= WAITING_MAX) return;
    waiting.set(key, use);
    queue.add(key);
  });
  await queue.run(async (key) => {
    const use = waiting.get(key);
    try {
      if (use !== undefined) await label(options, use, signal);
    } catch (error) {
      if (signal.aborted) return;
      const isRace = error instanceof StatusError && (error.code === 409 || error.code === 404);
      if (!isRace)
        logger.warn({ secret: key, err: error }, "the day of a token's use is not noted");
    }
    // Whatever failed is noted again by the token's next use.
    waiting.delete(key);
    queue.forget(key);
  }, signal);
}

async function label(
  { objects, uses }: LegacyTokenTrackingOptions,
  { namespace, secretName: name, uid }: LegacyTokenUse,
  signal: AbortSignal,
): Promise<void> {
  const secrets = objects.resource("", "secrets");
  await objects.refresh();
  const secret = objects.get(secrets, { namespace, name });
  if (secret === undefined || secret.metadata.uid !== uid) return;
  const { labels = {} } = secret.metadata;
  if (uses.isTold(labels ?? {})) return;
  const metadata = { ...secret.metadata, labels: { ...labels, [uses.label]: uses.today } };
  await objects.update(secrets, { ...secret, metadata }, "", signal);
}

function placeOf({ systemNamespace: namespace, systemPrefix }: Naming) {
  return { namespace, name: `${systemPrefix}-apiserver-legacy-service-account-token-tracking` };
}

function isDay(text: string | undefined): boolean {
  return text !== undefined && DAY.test(text) && !Number.isNaN(Date.parse(text));
}
