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
import { ifServed } from "./if-served.js";
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
  try {
    await ensureSystemNamespaces(objects, naming, signal);
  } catch (error) {
    // The replicas make them, too; only the Lease's is needed, and the election tries again without it.
    logger.warn({ err: error }, "a system namespace is not made");
  }
  const lock = new LeaseLock({
    objects,
    leases: objects.resource(`coordination.${naming.groupDomain}`, "leases"),
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
  const { objects, naming, clock, logger, devices, published, servedGroupVersions } = options;
  const { remote, storage, serviceAccounts } = options;
  // Every loop listens for the end: many listeners are not a leak here.
  setMaxListeners(0, leading);
  const parts = { objects, naming, clock, logger };
  type Named = typeof parts;
  const run = async (name: ControllerName, loop: (named: Named) => Promise<void>) => {
    if (!isControllerEnabled(name, options.controllers ?? ["*"])) return;
    const named = { ...parts, objects: objects.because({ by: "control-loop", name }) };
    await ifServed(logger, name, () => loop(named));
  };
  const running = [
    run("namespace", (named) => runNamespaceController({ ...named, remote }, leading)),
    run("customresourcedefinition", (named) => runDefinitionController(named, leading)),
    run("garbagecollector", () => new GarbageCollector(parts).run(leading)),
    run("resourcequota", (named) => runResourceQuotas({ ...named, devices }, leading)),
    run("ttl-after-finished", (named) => runJobTtlController(named, leading)),
    run("clusterrole-aggregation", (named) => runRoleAggregation(named, leading)),
    run("tokencleaner", (named) => runTokenCleaner(named, leading)),
    run("bootstrapsigner", (named) => runBootstrapSigner(named, leading)),
  ];
  if (published !== undefined) {
    running.push(
      run("validatingadmissionpolicy-status", (named) =>
        runPolicyStatus({ ...named, published }, leading),
      ),
    );
  }
  if (servedGroupVersions !== undefined) {
    const own = { ...parts, served: servedGroupVersions };
    running.push(ifServed(logger, "api-services", () => runApiServices(own, leading)));
  }
  if (storage !== undefined) {
    const own = { ...parts, stored: storage.stored, metrics: storage.migrations };
    running.push(run("storage-version-migrator", () => runStorageMigrator(own, leading)));
  }
  if (serviceAccounts !== undefined) {
    const { issuer } = serviceAccounts;
    const rootAuthority = () => serviceAccounts.rootAuthority();
    const authorityMap = rootAuthorityMap(naming, rootAuthority);
    running.push(
      run("serviceaccount", (named) =>
        runNamespaceDefault({ ...named, wanted: defaultServiceAccount }, leading),
      ),
      run("root-ca-cert-publisher", (named) =>
        runNamespaceDefault({ ...named, wanted: authorityMap }, leading),
      ),
      run("serviceaccount-token", (named) =>
        runTokenSecretController({ ...named, issuer, rootAuthority }, leading),
      ),
    );
  }
  // Without loops that have work it would release and retake the lock in a tight loop.
  await Promise.all([...running, untilAborted(leading)]);
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
