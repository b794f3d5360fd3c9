/**
 * Wiring of serving: the port, with what all control planes of this process share, and the root control plane.
 */
import { CLOSE_MS_MAX, openAll } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import { Lifecycle, type TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { withShutdownRefusal } from "../chain/shutdown-refusal.js";
import { createProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import type { CustomCodecs } from "../definitions/custom-codec.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import { Headroom } from "../flowcontrol/headroom.js";
import { Turns } from "../flowcontrol/turns.js";
import { Health } from "../http/health.js";
import { Listener } from "../http/listener.js";
import type { RequestListener } from "../http/request-listener.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Facts } from "../schema/model.js";
import type { MovableClock } from "../test-api/movable-clock.js";
import type { Access } from "./access.js";
import { openAdmissionFiles } from "./admission-files.js";
import type { Alike } from "./alike-parts.js";
import { type Audit, openAudit } from "./audit.js";
import { type ControlPlane, createControlPlane } from "./control-plane.js";
import { type OpenedControlPlanes, openControlPlanes } from "./control-planes.js";
import { addChecks, addSpaceCheck } from "./health-checks.js";
import { type OutgoingFiles, openOutgoingFiles } from "./outgoing-files.js";
import type { ProcessMemory } from "./process-memory.js";
import { openRecordDirectory } from "./record-directory.js";
import type { Security } from "./security.js";
import type { OpenedStore } from "./store.js";
import type { Tracing } from "./tracing.js";
import { createAlikeAnswers } from "./verbs.js";

/** On shutdown an idle connection is closed when quiet for the shutdown delay, at most this long. */
const QUIET_MS_MAX = 1_000;
const REQUESTS_POLL_MS = 20;

export interface Serving extends AsyncDisposable {
  readonly listener: Listener;
  /** What the listener calls: the chains of all control planes. */
  readonly handle: RequestListener;
  readonly root: ControlPlane;
  /** Those below the root; undefined = there are none. */
  readonly planes: OpenedControlPlanes | undefined;
  readonly health: Health;
  /** undefined = nothing is recorded. */
  readonly audit: Audit | undefined;
  readonly outgoingFiles: OutgoingFiles;
  /** Owns background work, which ends after the last request, as that may need it. */
  readonly lifecycle: Lifecycle;
  /** Fails readiness from now on, and asks clients to reconnect elsewhere. */
  leave(): void;
  /** With --shutdown-send-retry-after, after the delay: new requests are told to retry. */
  refuseRequests(): void;
  /** Resolves when only long-running requests are left, or after `deadlineMs`. */
  waitForRequests(deadlineMs: number, signal: AbortSignal): Promise<void>;
}

export interface ServingParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  /** The same, where it can be moved. */
  readonly movable?: MovableClock | undefined;
  readonly config: Config;
  readonly build: BuildInfo;
  readonly alike: Alike;
  readonly facts: Facts;
  readonly exclusions: readonly ExcludedResource[];
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  readonly tracing: Tracing;
  readonly security: Security;
  readonly storage: OpenedStore;
  readonly memory: ProcessMemory;
  readonly tasks?: TaskObserver;
  readonly access: Access;
  readonly codecs: KindCodecs;
  /** Of custom kinds; what is alike is compiled once. */
  readonly customCodecs: CustomCodecs;
  /** "host:port" for clients of this replica. */
  readonly serverAddress: () => string;
}

/** The port is open when it returns. @throws {Error} port taken; unwritable audit log */
export function openServing(parts: ServingParts): Promise<Serving> {
  return openAll(async (opened) => {
    const { config, metrics, logger, security, access } = parts;
    const { livezGracePeriodMs, requestTimeoutMs } = config;
    const health = new Health({ logger, clock: systemClock, livezGracePeriodMs });
    let isEnding = false;
    let isRefusing = false;
    addChecks(health, access.views, () => isEnding);
    addSpaceCheck(health, parts.storage.space);
    const { catalog } = access;
    const admissionFiles = await openAdmissionFiles({ config, catalog, metrics, logger });
    const audit = await openAudit(config, metrics, logger);
    if (audit !== undefined) opened.use(audit, "audit");
    // What ends with the lifecycle writes into it.
    const recordDirectory = await openRecordDirectory(config, logger, opened);
    const lifecycle = opened.use(new Lifecycle(logger, parts.tasks));
    admissionFiles.spawn(lifecycle);
    const shutdownRefusal = config.shutdownSendRetryAfter
      ? withShutdownRefusal(() => isRefusing)
      : undefined;
    const protobuf = createProtobufCodecs(parts.facts);
    const turns = new Turns(new Headroom(config.backlogThreadShare));
    const alikeAnswers = createAlikeAnswers(config.naming);
    const { openApiShared } = parts.alike;
    const ofProcess = { protobuf, turns, openApiShared, alikeAnswers };
    const outgoingFiles = openOutgoingFiles(config);
    const shared = { ...parts, ...ofProcess, admissionFiles, outgoingFiles, audit };
    const { feed } = parts.storage;
    const planes = feed && openControlPlanes({ ...shared, feed });
    const common = { ...shared, lifecycle, health, shutdownRefusal };
    const { guards = [], beside = [] } = planes ?? {};
    const root = createControlPlane({ ...common, recordDirectory, guards, beside }, opened);
    if (planes !== undefined) opened.use(planes, "control planes");
    const handle = planes?.dispatch(root.handle) ?? root.handle;
    const listener = await Listener.open(
      {
        host: config.bindAddress,
        port: config.securePort,
        credentials: security.credentials,
        requestTimeoutMs,
        goawayChance: config.goawayChance,
        logger,
        metrics,
        clock: systemClock,
      },
      handle,
    );
    const requestsUnderWay = () => root.requestsUnderWay() + (planes?.requestsUnderWay() ?? 0);
    const quietMs = Math.min(config.shutdownDelayMs, QUIET_MS_MAX);
    const { shutdownGracePeriodMs } = config;
    opened.defer(
      () => listener.close(shutdownGracePeriodMs, quietMs),
      "the listener",
      shutdownGracePeriodMs + CLOSE_MS_MAX,
    );
    opened.defer(() => {
      root.endAll();
      // The listener waits for them.
      planes?.endAll();
    });
    return {
      listener,
      handle,
      root,
      planes,
      health,
      audit,
      outgoingFiles,
      lifecycle,
      leave() {
        isEnding = true;
        listener.leave();
      },
      refuseRequests() {
        isRefusing = true;
      },
      async waitForRequests(deadlineMs, signal) {
        const endsAtMs = systemClock.monotonic() + deadlineMs;
        while (requestsUnderWay() > 0 && systemClock.monotonic() < endsAtMs) {
          await systemClock.sleep(REQUESTS_POLL_MS, signal);
        }
      },
      [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
    };
  });
}
