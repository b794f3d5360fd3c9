/** Wiring of the start: the preconditions of readiness, and the background work from then on. */
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Config } from "../config/config.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Facts } from "../schema/model.js";
import type { Access } from "./access.js";
import type { Alike } from "./alike-parts.js";
import { countReloads } from "./count-reloads.js";
import {
  ensureLoopsResults,
  ensureNeededByAll,
  fillRegistry,
  type Milestones,
} from "./fill-registry.js";
import { Presence } from "./presence.js";
import { warmCodecs } from "./registry.js";
import { followRootAuthority } from "./root-authority.js";
import type { Security } from "./security.js";
import type { Serving } from "./serving.js";
import { spawnCompactor } from "./storage.js";
import type { OpenedStore } from "./store.js";
import { TemporaryBeginning } from "./temporary-beginning.js";

/** What only looks back, and what only writes by itself, begins behind those who waited for readiness. */
const SETTLE_MS = 100;

export interface StartParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly alike: Alike;
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
  const { listener, lifecycle, root } = parts.serving;
  const { encryption, tokenKeys, readAuthorities } = storage;
  const onReload = countReloads(metrics);
  security.spawnReload(listener, lifecycle, { metrics, onReload });
  storage.spawn(lifecycle, { logger, onReload });
  parts.serving.outgoingFiles.spawn(lifecycle, { logger, onReload });
  access.authentication.spawn(lifecycle, onReload);
  access.authorization.spawn(lifecycle, onReload);
  parts.serving.audit?.spawn(lifecycle, onReload);
  const reopen = (signal: AbortSignal) =>
    Promise.all([tokenKeys.reopen(signal), readAuthorities(signal)]);
  encryption?.spawnReload({ view: access.views.view, reopen, lifecycle });
  lifecycle.spawn("watch ticker", "restart", (signal) => root.ticker.run(signal));
  const own = () => security.servingAuthority();
  return await followRootAuthority({ config, logger, lifecycle, onReload, own });
}

interface FollowedParts extends StartParts {
  /** PEM: the authorities by which pods verify this API. */
  rootAuthority(): string;
}

interface StartMilestones extends Milestones {
  viewLoaded(): void;
  announce(): void;
}

async function becomeReady(parts: FollowedParts, milestones: StartMilestones): Promise<void> {
  const { config, storage, logger } = parts;
  const { catalog, views } = parts.access;
  const { lifecycle } = parts.serving;
  const beginning = TemporaryBeginning.of(parts);
  await beginning?.put(lifecycle.signal);
  await views.view.start(lifecycle, lifecycle.signal);
  const { security, serving } = parts;
  const trust = () => security.trust();
  const { aggregation, registry, testApi, simulation } = serving.root;
  const own = { ...parts, aggregation, registry, testApi, simulation, lifecycle, trust };
  if (config.isBrief === true) return await ensureNeededByAll(own);
  const spawnControllers = await fillRegistry(own, milestones);
  if (beginning?.isWanted === true) {
    await ensureLoopsResults(own);
    await beginning.keep(views.view.revision, lifecycle.signal);
  }
  serving.root.record?.keep(lifecycle);
  const { rootAuthority } = parts;
  const objects = createLocalObjects(registry);
  await serving.planes?.start({ rootAuthority, trust, objects, lifecycle });
  spawnCompactor(config, storage.store, lifecycle, logger);
  lifecycle.spawn("codec warm-up", "leave", (signal) => warmCodecs(catalog.current, signal));
  milestones.viewLoaded();
  milestones.announce();
  lifecycle.spawn("work after the start", "end", async (signal) => {
    await systemClock.sleep(SETTLE_MS, signal);
    views.view.recall.start(lifecycle);
    spawnControllers();
  });
}
