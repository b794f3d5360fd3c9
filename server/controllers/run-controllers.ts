/** All control loops of this process; one process at a time runs them. */
import { randomUUID } from "node:crypto";
import { once, setMaxListeners } from "node:events";
import { hostname } from "node:os";
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { DeviceFacts } from "../admission/quota/device-facts.js";
import type { Naming } from "../api/naming.js";
import type { TokenIssuer } from "../authn/service-account/token-issuer.js";
import { type LocalGroupVersion, runApiServices } from "./api-service-loop.js";
import { runBootstrapSigner } from "./bootstrap-signer.js";
import { type ControllerName, isControllerEnabled } from "./controller-names.js";
import { runDefinitionController } from "./definition-controller.js";
import { GarbageCollector } from "./garbage-collector.js";
import { runJobTtlController } from "./job-ttl-controller.js";
import { LeaseLock } from "./lease-lock.js";
import type { LeasePulse } from "./lease-pulse.js";
import { type RemoteContent, runNamespaceController } from "./namespace-controller.js";
import { runNamespaceDefault } from "./namespace-default-controller.js";
import type { ObjectsApi } from "./objects-api.js";
import { runPolicyStatus } from "./policy-status.js";
import type { PublishedTypes } from "./published-types.js";
import { runResourceQuotas } from "./resource-quotas.js";
import { runRoleAggregation } from "./role-aggregation.js";
import { defaultServiceAccount, rootAuthorityMap } from "./service-account-defaults.js";
import { type MigrationMetrics, runStorageMigrator } from "./storage-migrator.js";
import type { StoredObjects } from "./stored-objects.js";
import { ensureSystemNamespaces } from "./system-namespaces.js";
import { runTokenCleaner } from "./token-cleaner.js";
import { runTokenSecretController } from "./token-secret-controller.js";

export interface ControllersOptions {
  readonly objects: ObjectsApi;
  /** For the quotas of devices. */
  readonly devices: DeviceFacts;
  readonly naming: Naming;
  readonly clock: Clock;
  /** Of the election; default: the same. */
  readonly electionClock?: Clock;
  readonly logger: Logger;
  /** Unique among all processes; default: host name and a random part. */
  readonly identity?: string;
  /** For health checks of the process; absent = it has others. */
  readonly pulse?: LeasePulse;
  /** The flag --controllers; default: all loops. */
  readonly controllers?: readonly string[];
  /** The group-versions that get APIServices; absent = none do. */
  readonly servedGroupVersions?: () => readonly LocalGroupVersion[];
  /** Types for checking policies; absent = no checks. */
  readonly published?: PublishedTypes;
  /** What other servers keep of namespaces; absent = there are none. */
  readonly remote?: RemoteContent;
  /** For storage migrations; absent = there are none. */
  readonly storage?: { readonly stored: StoredObjects; readonly migrations: MigrationMetrics };
  /** For the service account loops; absent = they do not run. */
  readonly serviceAccounts?: {
    readonly issuer: TokenIssuer;
    /** PEM certificates by which clients verify this API; "" = none known. */
    rootAuthority(): string;
  };
}

/** The name of the leader's lease in the system namespace. */
export const LEASE_NAME = "keelson-controllers";

/** Runs the loops until the signal aborts, without an election: for whoever leads already. */
export async function runLoops(options: ControllersOptions, signal: AbortSignal): Promise<void> {
  const logger = options.logger.child({ component: "controllers" });
  await lead({ ...options, logger }, signal);
}

/** Runs until the signal aborts; leads when it is this process's turn. */
export async function runControllers(
  options: ControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const { objects, naming, clock } = options;
  const logger = options.logger.child({ component: "controllers" });
  await ensureSystemNamespaces(objects, naming, signal);
  const lock = new LeaseLock({
    objects,
    clock: options.electionClock ?? clock,
    logger,
    namespace: naming.systemNamespace,
    name: LEASE_NAME,
    identity: options.identity ?? `${hostname()}_${randomUUID()}`,
    ...(options.pulse !== undefined && { pulse: options.pulse }),
  });
  await lock.run((leading) => lead({ ...options, logger }, leading), signal);
}

/** All loops that are on. */
async function lead(options: ControllersOptions, leading: AbortSignal): Promise<void> {
  const { objects, naming, clock, logger } = options;
  // Every loop listens for the end: many listeners are not a leak here.
  setMaxListeners(0, leading);
  const parts = { objects, naming, clock, logger };
  const named = (name: string) => {
    return { ...parts, objects: objects.because({ by: "control-loop", name }) };
  };
  const isOn = (name: ControllerName) => isControllerEnabled(name, options.controllers ?? ["*"]);
  await Promise.all([
    isOn("namespace") &&
      runNamespaceController({ ...named("namespace"), remote: options.remote }, leading),
    isOn("customresourcedefinition") &&
      runDefinitionController(named("customresourcedefinition"), leading),
    isOn("garbagecollector") && new GarbageCollector(parts).run(leading),
    isOn("resourcequota") &&
      runResourceQuotas({ ...named("resourcequota"), devices: options.devices }, leading),
    isOn("ttl-after-finished") && runJobTtlController(named("ttl-after-finished"), leading),
    isOn("clusterrole-aggregation") &&
      runRoleAggregation(named("clusterrole-aggregation"), leading),
    isOn("tokencleaner") && runTokenCleaner(named("tokencleaner"), leading),
    isOn("bootstrapsigner") && runBootstrapSigner(named("bootstrapsigner"), leading),
    options.published !== undefined &&
      isOn("validatingadmissionpolicy-status") &&
      runPolicyStatus(
        { ...named("validatingadmissionpolicy-status"), published: options.published },
        leading,
      ),
    options.servedGroupVersions !== undefined &&
      runApiServices({ ...parts, served: options.servedGroupVersions }, leading),
    options.storage !== undefined &&
      isOn("storage-version-migrator") &&
      runStorageMigrator(
        { ...parts, stored: options.storage.stored, metrics: options.storage.migrations },
        leading,
      ),
    runServiceAccounts({ ...named("serviceaccount"), isOn }, options.serviceAccounts, leading),
    // Without enabled loops it would release and retake the lock in a tight loop.
    untilAborted(leading),
  ]);
}

async function runServiceAccounts(
  {
    isOn,
    ...parts
  }: Pick<ControllersOptions, "objects" | "naming" | "clock" | "logger"> & {
    readonly isOn: (name: ControllerName) => boolean;
  },
  serviceAccounts: ControllersOptions["serviceAccounts"],
  signal: AbortSignal,
): Promise<void> {
  if (serviceAccounts === undefined) return;
  const { issuer } = serviceAccounts;
  const rootAuthority = () => serviceAccounts.rootAuthority();
  const authorityMap = rootAuthorityMap(parts.naming, rootAuthority);
  await Promise.all([
    isOn("serviceaccount") &&
      runNamespaceDefault({ ...parts, wanted: defaultServiceAccount }, signal),
    isOn("root-ca-cert-publisher") &&
      runNamespaceDefault({ ...parts, wanted: authorityMap }, signal),
    isOn("serviceaccount-token") &&
      runTokenSecretController({ ...parts, issuer, rootAuthority }, signal),
  ]);
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
