/**
 * Wiring of the load of one control plane below the root: its own list of parts (control-plane.ts) over its own prefix
 * of the store, with what it shares of the process.
 */
import { openAll } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import { Lifecycle, type TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { SharedFeed } from "../../storage/kv/shared-feed.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import { ensureAdministrator } from "../control-planes/administrator.js";
import {
  type BeginningParts,
  hasBegun,
  markBegun,
  putBeginning,
  readContent,
} from "../control-planes/beginning.js";
import type { ControlPlaneEntry } from "../control-planes/control-plane-index.js";
import type { LoadedControlPlane } from "../control-planes/control-planes.js";
import type { DefaultContent } from "../control-planes/default-content.js";
import { LimitGuard, sizeOf } from "../control-planes/limit-guard.js";
import { toOwnUrl } from "../control-planes/names-in-requests.js";
import { Usage } from "../control-planes/usage.js";
import type { AuthenticationTrust } from "../controllers/authentication-trust.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import { runLoops } from "../controllers/run-controllers.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import { Health } from "../http/health.js";
import type { KindCodecs } from "../kinds/kind-codec.js";
import type { QuietMetrics } from "../metrics/quiet-metrics.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Facts } from "../schema/model.js";
import { type Access, openAccess } from "./access.js";
import type { AdmissionFiles } from "./admission-files.js";
import type { Audit } from "./audit.js";
import { openOriginal } from "./clone-original.js";
import { type ControlPlane, createControlPlane } from "./control-plane.js";
import { inheritAuthentication } from "./control-plane-authentication.js";
import { basePathOf, controlPlaneConfig } from "./control-plane-config.js";
import { fillRegistry } from "./fill-registry.js";
import { addChecks } from "./health-checks.js";
import type { Security } from "./security.js";
import { type OpenedStore, openPartStore } from "./store.js";
import type { Tracing } from "./tracing.js";

/** What the process has, for all control planes. */
export interface LoadParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly build: BuildInfo;
  readonly facts: Facts;
  readonly codecs: KindCodecs;
  readonly exclusions: readonly ExcludedResource[];
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  readonly tracing: Tracing;
  readonly security: Security;
  readonly storage: OpenedStore;
  readonly feed: SharedFeed;
  /** The root's. */
  readonly access: Access;
  readonly audit: Audit | undefined;
  readonly admissionFiles: AdmissionFiles;
  readonly metrics: QuietMetrics;
  readonly tasks?: TaskObserver;
  readonly serverAddress: () => string;
  /** PEM: the authorities by which clients verify this API. */
  rootAuthority(): string;
  trust(): AuthenticationTrust;
  /** What new ones begin with. */
  readonly defaults: DefaultContent;
  /** The entry as it is now; its limits may have changed. */
  current(name: string): ControlPlaneEntry | undefined;
}

/** How long requests under way may take when it is let go. */
const GRACE_MS = 5_000;
const POLL_MS = 10;

/** @throws {StorageError}; the signal's reason */
export function loadControlPlane(
  parts: LoadParts,
  entry: ControlPlaneEntry,
  signal: AbortSignal,
): Promise<LoadedControlPlane> {
  return openAll(async (opened) => {
    const { clock, facts, metrics, feed, access: root } = parts;
    const config = controlPlaneConfig(parts.config, entry);
    const basePath = basePathOf(entry);
    const logger = parts.logger.child({ controlPlane: entry.name });
    const part = feed.part(entry.uid, () => root.views.freshness.fresh());
    opened.use(part);
    const storage = await openPartStore(
      { config, clock, uid: entry.uid, facts, logger, root: parts.storage, part },
      signal,
    );
    opened.use(storage);
    const own = { store: storage.store, prefix: part.prefix };
    const isNew = !(await hasBegun(own, signal));
    const isDefault = isNew && entry.cloneFrom === undefined;
    if (isNew) await begin(parts, entry, own, signal);
    const serverAddress = () => `${parts.serverAddress()}${basePath}`;
    const hasRootAccess = config.controlPlaneRootAccess;
    const access = opened.use(
      await openAccess({
        ...{ config, clock, facts, metrics, logger, storage, serverAddress },
        codecs: parts.codecs,
        security: parts.security,
        inherit: (asked) =>
          inheritAuthentication({ ...asked, root: root.authentication, hasRootAccess }),
      }),
    );
    const lifecycle = opened.use(new Lifecycle(logger, parts.tasks));
    const health = new Health({ logger, clock: systemClock, livezGracePeriodMs: 0 });
    let isEnding = false;
    addChecks(health, access.views, () => isEnding);
    const limits = () => parts.current(entry.name)?.limits ?? {};
    const usage = new Usage(systemClock, limits);
    const plane = createControlPlane(
      {
        ...parts,
        ...{ config, metrics, logger, storage, access, health, lifecycle },
        toOwnUrl,
        admissionFiles: { ...parts.admissionFiles, credentials: new Map() },
        serverAddress: parts.serverAddress,
        usage,
        guards: [new LimitGuard(access.views.view, limits)],
      },
      opened,
    );
    await access.views.view.start(lifecycle, signal);
    const objects = createLocalObjects(plane.registry);
    if (isNew) await ensureAdministrator(objects, config.naming, entry, signal);
    const spawnLoops = await fillRegistry(
      {
        ...parts,
        ...{ config, metrics, logger, storage, access, lifecycle, serverAddress, runLoops },
        ...{ aggregation: plane.aggregation, registry: plane.registry, testApi: undefined },
        simulation: plane.simulation,
      },
      { kindsServed() {}, rolesMade() {}, fairnessSet() {} },
    );
    if (isNew) await markBegun(own, signal);
    if (isDefault && !parts.defaults.isKept) {
      parts.defaults.keep(await readContent(own, access.views.view.revision, signal));
    }
    spawnLoops();
    access.views.view.recall(lifecycle);
    return {
      entry,
      handle: plane.handle,
      usage,
      registry: plane.registry,
      issuer: storage.tokenKeys.issuer,
      tick: () => plane.ticker.tick(),
      size: () => sizeOf(access.views.view),
      async close() {
        isEnding = true;
        plane.endAll();
        await requestsOver(plane);
        await opened[Symbol.asyncDispose]();
      },
    };
  });
}

/** Puts what it begins with. @throws {StatusError} what it is cloned from is not there, or not any more */
async function begin(
  parts: LoadParts,
  entry: ControlPlaneEntry,
  own: Pick<BeginningParts, "store" | "prefix">,
  signal: AbortSignal,
): Promise<void> {
  const beginning = { ...own, defaults: parts.defaults, nowMs: systemClock.now() };
  if (entry.cloneFrom === undefined) return await putBeginning(beginning, undefined, signal);
  const original = await openOriginal(parts, entry, entry.cloneFrom, signal);
  try {
    await putBeginning(beginning, original.source, signal);
  } finally {
    original.release();
  }
}

async function requestsOver(plane: ControlPlane): Promise<void> {
  const endsAtMs = systemClock.monotonic() + GRACE_MS;
  while (plane.requestsUnderWay() > 0 && systemClock.monotonic() < endsAtMs) {
    await systemClock.sleep(POLL_MS, NEVER);
  }
}

const NEVER = new AbortController().signal;
