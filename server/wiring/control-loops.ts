/**
 * Wiring of the control loops, for a process that runs nothing else. It writes to the store and has no admission: that
 * would be the plugins, webhooks and policies with an authorizer, its files and its caches, all of `serve` but the listener. So
 * nothing that admission decides holds here, unlike in `serve --run-controllers` (docs/use/admission.md says so).
 */
import { systemClock } from "../../storage/base/clock.js";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { ViewedDevices } from "../admission/quota/device-facts.js";
import type { Config } from "../config/config.js";
import { parseHostPort } from "../config/host-port.js";
import { enabledResources } from "../config/runtime-config.js";
import { LeasePulse } from "../controllers/lease-pulse.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { createPublishedTypes } from "../controllers/published-types.js";
import { LEASE_NAME, runControllers } from "../controllers/run-controllers.js";
import { createCustomCodecs } from "../definitions/custom-codec.js";
import type { CustomKinds } from "../definitions/custom-kinds.js";
import { Health } from "../http/health.js";
import { PlainListener } from "../http/plain-listener.js";
import { createFactsCodecs } from "../kinds/facts-codecs.js";
import { LiveCatalog } from "../kinds/live-catalog.js";
import { Metrics } from "../metrics/metrics.js";
import { NO_IDENTITY } from "../outbound/tls-connections.js";
import { createBuiltInCatalog } from "../registry/built-in-catalog.js";
import { createOwnership } from "../registry/generic/ownership.js";
import { LastingAnswers } from "../request/lasting-answers.js";
import { loadFacts } from "../types/load-facts.js";
import { createAggregation } from "./aggregation.js";
import { certificateFilesOf, spawnCertificateEnds } from "./certificate-ends.js";
import { countReloads } from "./count-reloads.js";
import { followDefinitions } from "./custom-kinds.js";
import { addChecks } from "./health-checks.js";
import { OutgoingPlaces } from "./outgoing-places.js";
import { followRootAuthority } from "./root-authority.js";
import { servedGroupVersions } from "./served-group-versions.js";
import { createViews } from "./storage.js";
import { createStorageMigrations } from "./storage-migrations.js";
import { openStore, storeDeadline } from "./store.js";
import { startWatchdog, type WatchdogOptions } from "./watchdog.js";

/**
 * Runs only the control loops, on the etcd from the flags, until `signal` aborts.
 * @throws {Error} with one clear message: store unreachable
 */
export async function runControlLoops(
  config: Config,
  logger: Logger,
  env: WatchdogOptions["env"],
  signal: AbortSignal,
): Promise<void> {
  const { naming } = config;
  const facts = loadFacts(naming);
  const codecs = createFactsCodecs(facts);
  const customCodecs = createCustomCodecs(facts);
  let customKinds: CustomKinds | undefined;
  const builtIn = createBuiltInCatalog({
    naming,
    facts,
    codecs,
    definitions: { holders: () => customKinds?.holders() ?? [] },
    isEnabled: enabledResources(config.runtimeConfig, facts, true),
    release: config.releases.emulated,
  });
  const catalog = new LiveCatalog(builtIn);
  const deadline = AbortSignal.any([signal, storeDeadline()]);
  const metrics = new Metrics();
  const observed = await openObserved(config, metrics, logger);
  await using _listener = observed.listener;
  using _watchdog = startWatchdog({ env, isWell: () => observed.isWell(), logger });
  await using storage = await openStore(
    { clock: systemClock, config, facts, metrics, logger },
    deadline,
  );
  const { store, encryption, tokenKeys } = storage;
  await using lifecycle = new Lifecycle(logger);
  const { view, freshness } = createViews(config, store, catalog, logger);
  const outgoing = new OutgoingPlaces(metrics);
  customKinds = followDefinitions({ config, codecs, customCodecs, catalog, outgoing }, view);
  addChecks(observed.health, { view, freshness }, () => signal.aborted);
  const clock = systemClock;
  // Its loops run in the replicas; here only namespaces are emptied through it.
  const aggregation = createAggregation({
    ...{ config, view, catalog, facts, freshness, outgoing, logger },
    lasting: new LastingAnswers(),
    identity: () => NO_IDENTITY,
  });
  const lifetimes = { eventTtlSeconds: Math.ceil(config.eventTtlMs / 1000) };
  const ownership = createOwnership({ naming, clock, catalog });
  const registry = {
    catalog,
    store,
    view,
    freshness,
    clock,
    naming,
    lifetimes,
    ownership,
    ...(encryption !== undefined && { storedForm: encryption.store }),
  };
  const objects = createLocalObjects(registry);
  // A process that serves nothing has no certificate of its own: the replicas' authorities count.
  const shared = await storage.readAuthorities(deadline);
  const onReload = countReloads(metrics);
  storage.spawn(lifecycle, { logger, onReload });
  const rootAuthority = await followRootAuthority({
    ...{ config, logger, lifecycle, onReload },
    own: () => shared?.serving.cert ?? "",
  });
  const serviceAccounts = { issuer: tokenKeys.issuer, rootAuthority };
  await view.start(lifecycle, signal);
  observed.started();
  spawnCertificateEnds(lifecycle, metrics, () => certificateFilesOf(config));
  encryption?.spawnReload({ view, reopen: (until) => tokenKeys.reopen(until), lifecycle });
  try {
    const { controllers } = config;
    await runControllers(
      {
        objects,
        devices: new ViewedDevices(view, naming),
        naming,
        clock,
        logger,
        serviceAccounts,
        controllers,
        pulse: observed.pulse,
        servedGroupVersions: servedGroupVersions(catalog, facts),
        remote: aggregation.content,
        published: createPublishedTypes(facts, catalog),
        storage: createStorageMigrations(registry, storage, metrics),
      },
      signal,
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    aggregation.close();
  }
}

/**
 * Health and metrics of this process, from before the store is asked. It lives as long as its thread answers and
 * the election goes on: whatever hangs is restarted by who asks /livez, or by systemd.
 */
async function openObserved(config: Config, metrics: Metrics, logger: Logger) {
  const health = new Health({ logger, clock: systemClock, livezGracePeriodMs: 0 });
  const started = health.addStartCheck("start", ["readyz"]);
  const pulse = new LeasePulse(systemClock);
  let isStarted = false;
  const isWell = () => !isStarted || pulse.isBeating;
  const check = () => {
    if (isStarted) pulse.check();
  };
  health.add({ name: "leader-election", check });
  metrics.collectProcessMetrics();
  metrics.gauge(LEADER_METRIC, (set) => set(pulse.isLeading ? 1 : 0, LEASE_NAME));
  const address = parseHostPort("--metrics-bind-address", config.metricsBindAddress);
  const listener = address && (await PlainListener.open({ ...address, health, metrics, logger }));
  if (listener !== undefined) logger.info({ port: listener.port }, "health and metrics");
  return {
    pulse,
    listener,
    health,
    isWell,
    started() {
      isStarted = true;
      pulse.beat();
      started();
    },
  };
}

/** client-go's name. */
const LEADER_METRIC = {
  name: "leader_election_master_status",
  help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
  labelNames: ["name"],
} as const;
