/**
 * Wiring: from one Config to a running replica. This folder, with one file for each part, is the only
 * one that names concrete classes: it builds every object in order, passes its dependencies, and
 * closes all in reverse.
 */

import { resolve } from "node:path";
import { CLOSE_MS_MAX, openAll } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import { isOverWithin } from "../../storage/base/is-over-within.js";
import type { Config } from "../config/config.js";
import { type Features, gatesIn } from "../config/feature-gates.js";
import { toExcludedResources } from "../config/policy-exclusions.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import type { RequestListener } from "../http/request-listener.js";
import { MetricRegistry } from "../metrics/metric-registry.js";
import { Metrics } from "../metrics/metrics.js";
import type { EffectiveReleases } from "../schema/lifecycle.js";
import { MovableClock } from "../test-api/movable-clock.js";
import { openAccess } from "./access.js";
import { makeAlike } from "./alike-parts.js";
import type { Log } from "./create-logger.js";
import { spawnLongestDelay } from "./longest-delay.js";
import { observeTasks } from "./observe-tasks.js";
import { advertisedAddress } from "./own-hosts.js";
import { createProcessMemory } from "./process-memory.js";
import { createSecurity } from "./security.js";
import { openServing, type Serving } from "./serving.js";
import { startReplica } from "./start.js";
import { openStore, storeDeadline } from "./store.js";
import { openTracing } from "./tracing.js";

/** Closed in parts, each of which has its own time. */
const ITS_PARTS = Number.POSITIVE_INFINITY;
/** A few writes. */
const WITHDRAW_MS_MAX = 10_000;
/** All that is closed, one after the other. */
const PARTS_MS_MAX = 4 * CLOSE_MS_MAX;
/** Any time that timers take. */
const ALIVE_MS = 60_000;

export interface Replica extends AsyncDisposable {
  /** The URL for this machine: "https://127.0.0.1:6443". */
  readonly url: string;
  readonly kubeconfigPath: string;
  /** Answers requests of this process, which need no connection. */
  readonly handle: RequestListener;
  /** The store's location, for people. */
  readonly storeDescription: string;
  /** Resolves when the replica is ready; rejects when it can never be. */
  readonly ready: Promise<void>;
  /** Resolves when a task that nothing is right without has failed: the replica is to be ended. */
  readonly failure: Promise<Error>;
  /**
   * Readiness fails first, then the delay passes, then requests and watches end; then all is
   * closed.
   */
  shutDown(): Promise<void>;
  /** By then it has ended: each of its steps has a bound. */
  readonly endMsMax: number;
  /** For the log, when it has not. */
  waitsFor(): readonly string[];
}

/**
 * Builds and starts a replica. The port is open when it returns; `ready` follows when the view is
 * loaded. On failure everything is closed.
 * @param alike what others of this process have, too; default: it is the only one
 * @throws {Error} with one clear message: port taken, store unreachable or in use, bad files
 */
export function openReplica(
  config: Config,
  build: BuildInfo,
  { logger, verbosity, droppedLines }: Log,
  alike = makeAlike(config),
): Promise<Replica> {
  return openAll(async (opened) => {
    const { facts, codecs, customCodecs, builtIn } = alike;
    const exclusions = toExcludedResources(config.admissionPolicyExclusions, facts, config.naming);
    const metrics = createMetrics(config);
    metrics.observeDroppedLogLines(droppedLines);
    const { tasks, failure } = observeTasks(metrics);
    const movable = config.enableTestApi ? new MovableClock(systemClock) : undefined;
    const clock: Clock = movable ?? systemClock;
    const common = {
      clock,
      movable,
      config,
      alike,
      facts,
      codecs,
      customCodecs,
      exclusions,
      metrics,
      logger,
      tasks,
    };
    let listening: Serving | undefined;
    const serverAddress = () => formatHostPort(advertisedAddress(config), listening);

    // Closed after everything that makes spans.
    const tracing = opened.use(await openTracing({ ...common, build }), "tracing", ITS_PARTS);
    const deadline = storeDeadline();
    const storage = opened.use(await openStore(common, deadline), "the store");
    const security = await createSecurity(
      { ...common, readAuthorities: storage.readAuthorities },
      deadline,
    );
    const memory = createProcessMemory(config, metrics, customCodecs);
    const upToAccess = { ...common, builtIn, security, storage, memory, serverAddress };
    const access = opened.use(await openAccess(upToAccess), "access", ITS_PARTS);
    const serving = opened.use(
      await openServing({ ...upToAccess, build, verbosity, tracing, access }),
      "serving",
      ITS_PARTS,
    );
    listening = serving;
    spawnLongestDelay(serving.lifecycle, metrics);
    const url = `https://${reachableHost(config)}:${serving.listener.port}`;
    const started = await startReplica({ ...upToAccess, access, serving, url });

    const close = () => opened[Symbol.asyncDispose]();
    return {
      url,
      kubeconfigPath: resolve(started.kubeconfigPath),
      handle: serving.handle,
      storeDescription: config.isEmbedded
        ? `embedded store in ${resolve(config.dataDir)}`
        : `etcd at ${config.etcdServers.join(", ")}, prefix ${config.etcdPrefix}`,
      ready: started.ready,
      failure,
      endMsMax:
        config.shutdownDelayMs +
        config.shutdownWatchTerminationGracePeriodMs +
        2 * config.shutdownGracePeriodMs +
        PARTS_MS_MAX,
      waitsFor: () => [opened.waitsFor ?? "the requests", ...serving.lifecycle.running],
      async shutDown() {
        const { signal } = serving.lifecycle;
        const { shutdownGracePeriodMs, shutdownWatchTerminationGracePeriodMs } = config;
        // The timers of what is waited for do not keep the process alive: it would end half-way.
        const alive = setInterval(() => {}, ALIVE_MS);
        try {
          serving.leave();
          if (!(await isOverWithin(started.withdraw(), WITHDRAW_MS_MAX, systemClock))) {
            const waited = { afterMs: WITHDRAW_MS_MAX };
            logger.warn(waited, "the end does not wait for the API's endpoints");
          }
          await systemClock.sleep(config.shutdownDelayMs, signal);
          if (config.shutdownSendRetryAfter) serving.refuseRequests();
          const graceMs = shutdownWatchTerminationGracePeriodMs;
          const ends = [serving.root.ticker, serving.planes];
          await Promise.all(ends.map((one) => one?.endAllOver(graceMs, signal)));
          if (config.shutdownSendRetryAfter) {
            await serving.waitForRequests(shutdownGracePeriodMs, signal);
          }
          await close();
        } finally {
          clearInterval(alive);
        }
      },
      [Symbol.asyncDispose]: close,
    };
  });
}

function createMetrics(config: Config): Metrics {
  const { naming, features, releases } = config;
  const showsHidden = config.showHiddenMetricsForVersion !== "";
  const metrics = new Metrics(new MetricRegistry({ showsHidden }));
  metrics.collectProcessMetrics();
  metrics.observeFeatures(naming.vendor, describeFeatures(features, releases));
  return metrics;
}

function describeFeatures(features: Features, { emulated }: EffectiveReleases) {
  return Object.entries(gatesIn(emulated)).map(([name, { stage = "PreAlpha" }]) => ({
    name,
    // kube-apiserver's label: generally available features have no stage.
    stage: stage === "GA" ? "" : stage,
    isEnabled: features[name as keyof Features],
  }));
}

function formatHostPort(host: string, serving: Serving | undefined): string {
  return `${host.includes(":") ? `[${host}]` : host}:${serving?.listener.port ?? 0}`;
}

function reachableHost({ bindAddress }: Config): string {
  if (bindAddress === "0.0.0.0" || bindAddress === "::") return "127.0.0.1";
  return bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
}
