/** Wiring of the start: the preconditions of readiness, and the background work from then on. */
import { systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { ViewedDevices } from "../admission/quota/device-facts.js";
import type { Config } from "../config/config.js";
import { ensureApiServices } from "../controllers/api-service-loop.js";
import {
  ensureAuthenticationTrust,
  runAuthenticationTrust,
} from "../controllers/authentication-trust.js";
import { reconcileBootstrapPolicy } from "../controllers/bootstrap-policy.js";
import { ensureClusterInfo } from "../controllers/cluster-info.js";
import { ensureFlowControl, runFlowControlDefaults } from "../controllers/flow-control-defaults.js";
import {
  ensureLegacyTokenTracking,
  runLegacyTokenTracking,
} from "../controllers/legacy-token-tracking.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { createPublishedTypes } from "../controllers/published-types.js";
import { runControllers } from "../controllers/run-controllers.js";
import { ensureSystemNamespaces, runSystemNamespaces } from "../controllers/system-namespaces.js";
import { ensureSystemPriorityClasses } from "../controllers/system-priority-classes.js";
import type { Metrics } from "../http/metrics.js";
import type { Facts } from "../schema/model.js";
import type { Access } from "./access.js";
import { observeCertificateReloads } from "./certificate-reloads.js";
import { Presence } from "./presence.js";
import { warmCodecs } from "./registry.js";
import { followRootAuthority } from "./root-authority.js";
import type { Security } from "./security.js";
import { servedGroupVersions } from "./served-group-versions.js";
import type { Serving } from "./serving.js";
import { spawnCompactor } from "./storage.js";
import { createStorageMigrations } from "./storage-migrations.js";
import type { OpenedStore } from "./store.js";

/** What only looks back, and what only writes by itself, begins behind those who waited for readiness. */
const SETTLE_MS = 100;

export interface StartParts {
  readonly config: Config;
  readonly facts: Facts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly security: Security;
  readonly storage: OpenedStore;
  readonly access: Access;
  readonly serving: Serving;
  /** The replica's URL for this machine. */
  readonly url: string;
  /** "host:port" for other machines. */
  readonly serverAddress: () => string;
}

export interface Started {
  readonly kubeconfigPath: string;
  /** Resolves when the replica is ready; rejects when it can never be. */
  readonly ready: Promise<void>;
  /** Removes this replica from the API's endpoints, if it is there. Never rejects. */
  withdraw(): Promise<void>;
}

/**
 * The port is open. All background work from here on belongs to the lifecycle of `serving`.
 * @throws {Error} of the file system: the kubeconfig cannot be written
 */
export async function startReplica(parts: StartParts): Promise<Started> {
  const { security, serving } = parts;
  const rootAuthority = await spawnFollowers(parts);
  const kubeconfigPath = await security.writeKubeconfig(parts.url);
  const { health } = serving;
  const milestones = {
    kindsServed: health.addStartCheck("autoregister-completion"),
    viewLoaded: health.addStartCheck("poststarthook/load-view"),
    rolesMade: health.addStartCheck("poststarthook/rbac/bootstrap-roles"),
    fairnessSet: health.addStartCheck("poststarthook/priority-and-fairness-config-producer"),
  };
  const presence = new Presence(parts);
  const upToFiles = { ...parts, rootAuthority };
  const ready = becomeReady(upToFiles, { ...milestones, announce: () => presence.announce() });
  return { kubeconfigPath, ready, withdraw: () => presence.withdraw() };
}

/**
 * Starts the file watchers and the watches' ticker.
 * @returns the authorities by which pods verify this API
 */
async function spawnFollowers(parts: StartParts): Promise<() => string> {
  const { config, security, storage, access, metrics, logger } = parts;
  const { listener, lifecycle, ticker } = parts.serving;
  const { encryption, tokenKeys, readAuthorities } = storage;
  const onReload = observeCertificateReloads(metrics);
  security.spawnReload(listener, lifecycle, { metrics, onReload });
  access.authentication.spawn(lifecycle);
  access.authorization.spawn(lifecycle);
  const reopen = (signal: AbortSignal) =>
    Promise.all([tokenKeys.reopen(signal), readAuthorities(signal)]);
  encryption?.spawnReload({ view: access.views.view, reopen, lifecycle });
  lifecycle.spawn("watch ticker", "restart", (signal) => ticker.run(signal));
  const own = () => security.servingAuthority();
  return await followRootAuthority({ config, logger, lifecycle, onReload, own });
}

interface FollowedParts extends StartParts {
  /** PEM: the authorities by which pods verify this API. */
  rootAuthority(): string;
}

interface Milestones {
  /** All resources in discovery can be requested, and each group-version has its APIService. */
  kindsServed(): void;
  viewLoaded(): void;
  announce(): void;
  /** The default roles and bindings exist. */
  rolesMade(): void;
  /** The default flow schemas and priority levels exist. */
  fairnessSet(): void;
}

async function becomeReady(parts: FollowedParts, milestones: Milestones): Promise<void> {
  const { config, storage, logger } = parts;
  const { catalog, views } = parts.access;
  const { lifecycle } = parts.serving;
  await views.view.start(lifecycle, lifecycle.signal);
  const spawnControllers = await fillRegistry(parts, milestones);
  spawnCompactor(config, storage.store, lifecycle, logger);
  lifecycle.spawn("codec warm-up", "leave", (signal) => warmCodecs(catalog.current, signal));
  milestones.viewLoaded();
  milestones.announce();
  lifecycle.spawn("work after the start", "end", async (signal) => {
    await systemClock.sleep(SETTLE_MS, signal);
    views.view.recall(lifecycle);
    spawnControllers();
  });
}

/**
 * The view is loaded. Creates everything that this server makes itself, so that nothing of it comes between
 * the writes of those who waited for readiness; the loops continue in the background.
 * @returns starts the controllers
 */
async function fillRegistry(parts: FollowedParts, milestones: Milestones): Promise<() => void> {
  const { config, security, storage, serving, rootAuthority } = parts;
  const { naming } = config;
  const { registry, lifecycle } = serving;
  const { signal } = lifecycle;
  const ownObjects = createLocalObjects(registry);
  const objects = serving.testApi?.watchLoops(ownObjects) ?? ownObjects;
  const loops = { objects, naming, clock: systemClock, logger: parts.logger };
  await ensureSystemNamespaces(objects, naming, signal);
  await ensureSystemPriorityClasses(objects, naming, signal);
  await reconcileBootstrapPolicy(loops, signal);
  milestones.rolesMade();
  await ensureFlowControl(loops, signal);
  milestones.fairnessSet();
  const served = servedGroupVersions(registry.catalog, parts.facts);
  await ensureApiServices({ ...loops, served }, signal);
  milestones.kindsServed();
  if (config.enableBootstrapTokenAuth) {
    const info = { server: `https://${parts.serverAddress()}`, authority: rootAuthority() };
    await ensureClusterInfo(objects, naming, info, signal);
  }
  const tracking = { ...loops, uses: parts.access.authentication.legacyTokenUses };
  await ensureLegacyTokenTracking(tracking, signal);
  lifecycle.spawn("legacy token tracking", "restart", (until) =>
    runLegacyTokenTracking(tracking, until),
  );
  serving.aggregation.spawn(lifecycle, objects);
  lifecycle.spawn("flow control defaults", "restart", (until) =>
    runFlowControlDefaults(loops, until),
  );
  lifecycle.spawn("system namespaces", "restart", (until) => runSystemNamespaces(loops, until));
  const trust = () => security.trust();
  await ensureAuthenticationTrust({ ...loops, trust }, signal);
  lifecycle.spawn("authentication trust", "restart", (until) =>
    runAuthenticationTrust({ ...loops, trust }, until),
  );
  if (!config.runControllers) return () => {};
  const serviceAccounts = { issuer: storage.tokenKeys.issuer, rootAuthority };
  const { controllers } = config;
  const published = createPublishedTypes(parts.facts, registry.catalog);
  const own = {
    devices: new ViewedDevices(registry.view, naming),
    serviceAccounts,
    controllers,
    servedGroupVersions: served,
    published,
    remote: serving.aggregation.content,
    storage: createStorageMigrations(registry, storage, parts.metrics),
  };
  return () =>
    lifecycle.spawn("controllers", "restart", (until) =>
      runControllers({ ...loops, ...own }, until),
    );
}
