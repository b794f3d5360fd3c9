/** Wiring of what a control plane makes and keeps itself: its own objects, and its loops. */
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { ViewedDevices } from "../admission/quota/device-facts.js";
import type { Config } from "../config/config.js";
import { ensureApiServices } from "../controllers/api-service-loop.js";
import {
  type AuthenticationTrust,
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
import type { ObjectsApi } from "../controllers/objects-api.js";
import { createPublishedTypes } from "../controllers/published-types.js";
import { type ControllersOptions, runControllers } from "../controllers/run-controllers.js";
import { ensureSystemNamespaces, runSystemNamespaces } from "../controllers/system-namespaces.js";
import { ensureSystemPriorityClasses } from "../controllers/system-priority-classes.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Facts } from "../schema/model.js";
import type { Access } from "./access.js";
import type { ControlPlane } from "./control-plane.js";
import { servedGroupVersions } from "./served-group-versions.js";
import { createStorageMigrations } from "./storage-migrations.js";
import type { OpenedStore } from "./store.js";

export interface FilledParts
  extends Pick<ControlPlane, "aggregation" | "registry" | "testApi" | "simulation"> {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly facts: Facts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly storage: Pick<OpenedStore, "tokenKeys" | "stored">;
  readonly access: Pick<Access, "authentication">;
  readonly lifecycle: Lifecycle;
  /** "host:port" for other machines. */
  readonly serverAddress: () => string;
  /** PEM: the authorities by which pods verify this API. */
  rootAuthority(): string;
  /** Whom it believes, for API servers behind it. */
  trust(): AuthenticationTrust;
  /** Runs the loops when it is this process's turn; default: by a lease of the control plane's own. */
  readonly runLoops?: (options: ControllersOptions, signal: AbortSignal) => Promise<void>;
}

export interface Milestones {
  /** All resources in discovery can be requested, and each group-version has its APIService. */
  kindsServed(): void;
  /** The default roles and bindings exist. */
  rolesMade(): void;
  /** The default flow schemas and priority levels exist. */
  fairnessSet(): void;
}

/**
 * The view is loaded. Creates everything that this server makes itself, so that nothing of it comes between
 * the writes of those who waited for readiness; the loops continue in the background.
 * @returns starts the controllers
 */
export async function fillRegistry(
  parts: FilledParts,
  milestones: Milestones,
): Promise<() => void> {
  const { config, storage, registry, lifecycle, aggregation, rootAuthority, trust } = parts;
  const { naming } = config;
  const { signal } = lifecycle;
  const watched = (ofLoops: ObjectsApi) => parts.testApi?.watchLoops(ofLoops) ?? ofLoops;
  const objects = watched(createLocalObjects(registry));
  const loops = { objects, naming, clock: parts.clock, logger: parts.logger };
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
  aggregation.spawn(lifecycle, objects);
  lifecycle.spawn("flow control defaults", "restart", (until) =>
    runFlowControlDefaults(loops, until),
  );
  lifecycle.spawn("system namespaces", "restart", (until) => runSystemNamespaces(loops, until));
  await ensureAuthenticationTrust({ ...loops, trust }, signal);
  lifecycle.spawn("authentication trust", "restart", (until) =>
    runAuthenticationTrust({ ...loops, trust }, until),
  );
  if (!config.runControllers) return () => {};
  const { runLoops = runControllers } = parts;
  const serviceAccounts = { issuer: storage.tokenKeys.issuer, rootAuthority };
  const { controllers } = config;
  const published = createPublishedTypes(parts.facts, registry.catalog);
  const own = {
    // Who leads does not lose the lead by a jump.
    electionClock: systemClock,
    devices: new ViewedDevices(registry.view, naming),
    serviceAccounts,
    controllers,
    servedGroupVersions: served,
    published,
    remote: aggregation.content,
    storage: createStorageMigrations(registry, storage, parts.metrics),
  };
  const begin = (what: string) => parts.testApi?.begin(what) ?? (() => {});
  const simulated = { ...loops, registry, lifecycle, watched, begin };
  const spawnSimulation = await parts.simulation?.prepare(simulated, signal);
  return () => {
    lifecycle.spawn("controllers", "restart", (until) => runLoops({ ...loops, ...own }, until));
    spawnSimulation?.();
  };
}
