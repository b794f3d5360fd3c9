/** Wiring of what a control plane makes and keeps itself: its own objects, and its loops. */
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle, TaskObserver } from "../../storage/base/lifecycle.js";
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
import { type ControllerName, isControllerEnabled } from "../controllers/controller-names.js";
import { type EnsureStep, ensureAll } from "../controllers/ensure-all.js";
import { ensureFlowControl, runFlowControlDefaults } from "../controllers/flow-control-defaults.js";
import { ifServed } from "../controllers/if-served.js";
import {
  ensureLegacyTokenTracking,
  runLegacyTokenTracking,
} from "../controllers/legacy-token-tracking.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { ensureNamespaceDefault } from "../controllers/namespace-default-controller.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import { createPublishedTypes } from "../controllers/published-types.js";
import { gatherRoles } from "../controllers/role-aggregation.js";
import { type ControllersOptions, runControllers } from "../controllers/run-controllers.js";
import {
  defaultServiceAccount,
  rootAuthorityMap,
} from "../controllers/service-account-defaults.js";
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
  readonly tasks?: TaskObserver;
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
  await ensureOwnObjects(parts, milestones);
  parts.aggregation.spawn(parts.lifecycle, loopParts(parts).objects);
  return await prepareLoops(parts);
}

/**
 * Creates what is missing, and mends what is not as it has to be.
 * @returns whether all is made; the rest goes on in the background
 */
export function ensureOwnObjects(parts: FilledParts, milestones: Milestones): Promise<boolean> {
  const { registry, trust, logger } = parts;
  const loops = loopParts(parts);
  const served = servedGroupVersions(registry.catalog, parts.facts);
  const step = (
    name: string,
    ensure: (signal: AbortSignal) => Promise<void>,
    over?: () => void,
  ): EnsureStep => ({
    name,
    ensure: (signal) => ifServed(logger, name, () => ensure(signal)),
    ...(over && { over }),
  });
  return ensureAll(
    [
      step("what all need", () => ensureNeededByAll(parts)),
      step(
        "default roles",
        (until) => reconcileBootstrapPolicy(loops, until),
        milestones.rolesMade,
      ),
      step(
        "flow control defaults",
        (until) => ensureFlowControl(loops, until),
        milestones.fairnessSet,
      ),
      step(
        "api-services",
        (until) => ensureApiServices({ ...loops, served }, until),
        milestones.kindsServed,
      ),
      step("own address", () => ensureOwnAddress(parts)),
      step("legacy token tracking", (until) => ensureLegacyTokenTracking(trackingOf(parts), until)),
      step("authentication trust", (until) =>
        ensureAuthenticationTrust({ ...loops, trust }, until),
      ),
    ],
    { ...loops, lifecycle: parts.lifecycle },
  );
}

/** What objects of clients need there to be: namespaces and priority classes. @throws {StatusError} */
export async function ensureNeededByAll(parts: FilledParts): Promise<void> {
  const { objects, naming } = loopParts(parts);
  const { signal } = parts.lifecycle;
  await ensureSystemNamespaces(objects, naming, signal);
  await ifServed(parts.logger, "system priority classes", () =>
    ensureSystemPriorityClasses(objects, naming, signal),
  );
}

/** Where clients reach it, for those that have only a bootstrap token. @throws {StatusError} */
export async function ensureOwnAddress(parts: FilledParts): Promise<void> {
  const { naming, enableBootstrapTokenAuth } = parts.config;
  if (!enableBootstrapTokenAuth) return;
  const server = `https://${parts.serverAddress()}`;
  const info = { server, authority: parts.rootAuthority() };
  await ifServed(parts.logger, "cluster-info", () =>
    ensureClusterInfo(loopParts(parts).objects, naming, info, parts.lifecycle.signal),
  );
}

/**
 * What the loops would make first, at once: the rules of aggregated roles, and what each namespace has.
 * @throws {StatusError}
 */
export async function ensureLoopsResults(parts: FilledParts): Promise<void> {
  const { lifecycle, logger, rootAuthority } = parts;
  const { signal } = lifecycle;
  const { objects, naming } = loopParts(parts);
  const ensure = async (name: ControllerName, once: () => Promise<void>) => {
    if (isControllerEnabled(name, parts.config.controllers)) await ifServed(logger, name, once);
  };
  await ensure("clusterrole-aggregation", () => gatherRoles({ objects, naming }, signal));
  await ensure("serviceaccount", () =>
    ensureNamespaceDefault(objects, defaultServiceAccount, signal),
  );
  await ensure("root-ca-cert-publisher", () =>
    ensureNamespaceDefault(objects, rootAuthorityMap(naming, rootAuthority), signal),
  );
}

/**
 * The server's own objects are there. Starts the loops that keep them.
 * @returns starts the controllers
 */
export async function prepareLoops(parts: FilledParts): Promise<() => void> {
  const { config, storage, registry, lifecycle, rootAuthority, trust } = parts;
  const { naming } = config;
  const loops = loopParts(parts);
  const spawn = (loop: string, run: (until: AbortSignal) => Promise<void>) =>
    lifecycle.spawn(loop, "restart", (until) => ifServed(loops.logger, loop, () => run(until)));
  spawn("legacy token tracking", (until) => runLegacyTokenTracking(trackingOf(parts), until));
  spawn("flow control defaults", (until) => runFlowControlDefaults(loops, until));
  spawn("system namespaces", (until) => runSystemNamespaces(loops, until));
  spawn("authentication trust", (until) => runAuthenticationTrust({ ...loops, trust }, until));
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
    servedGroupVersions: servedGroupVersions(registry.catalog, parts.facts),
    published,
    remote: parts.aggregation.content,
    storage: createStorageMigrations(registry, storage, parts.metrics),
  };
  const begin = (what: string) => parts.testApi?.begin(what) ?? (() => {});
  const watched = (ofLoops: ObjectsApi) => watchedBy(parts, ofLoops);
  const simulated = { ...loops, registry, lifecycle, watched, begin };
  const spawnSimulation = await parts.simulation?.prepare(simulated, lifecycle.signal);
  return () => {
    lifecycle.spawn("controllers", "restart", (until) => runLoops({ ...loops, ...own }, until));
    spawnSimulation?.();
  };
}

function loopParts(parts: FilledParts) {
  const { naming } = parts.config;
  const objects = watchedBy(parts, createLocalObjects(parts.registry));
  return { objects, naming, clock: parts.clock, logger: parts.logger };
}

function trackingOf(parts: FilledParts) {
  return { ...loopParts(parts), uses: parts.access.authentication.legacyTokenUses };
}

function watchedBy({ testApi }: FilledParts, objects: ObjectsApi): ObjectsApi {
  return testApi?.watchLoops(objects) ?? objects;
}
