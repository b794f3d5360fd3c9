/**
 * Wiring of the control planes below the root: their kind, what the root knows of them, the way of requests to them, and
 * what the process does for them while nobody asks.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { runAtIntervals, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import { KeySpace, partitionId } from "../../storage/objects/keys.js";
import { ObjectPatterns } from "../../storage/objects/object-patterns.js";
import type { AdmissionPlugin } from "../admission/admission.js";
import { StatusError, serviceUnavailable } from "../api/status.js";
import { hasBegun } from "../control-planes/beginning.js";
import { ControlPlaneAdmission } from "../control-planes/control-plane-admission.js";
import {
  parseControlPlaneDomain,
  urlOfHost,
  withHosts,
} from "../control-planes/control-plane-hosts.js";
import { ControlPlaneIndex } from "../control-planes/control-plane-index.js";
import { ControlPlanes } from "../control-planes/control-planes.js";
import { DefaultContent, isAlikeInMany } from "../control-planes/default-content.js";
import { CONTROL_PLANES, controlPlaneGroup } from "../control-planes/definition.js";
import { ensureDefinition } from "../control-planes/ensure-definition.js";
import { FollowUps } from "../control-planes/follow-ups.js";
import { hasCredential } from "../control-planes/has-credential.js";
import { runKeeper } from "../control-planes/keeper.js";
import { withKubeconfigs } from "../control-planes/kubeconfigs.js";
import { Lead } from "../control-planes/lead.js";
import { CONTROL_PLANES_PATH } from "../control-planes/names-in-requests.js";
import { runStatusReports } from "../control-planes/status-reports.js";
import type { AuthenticationTrust } from "../controllers/authentication-trust.js";
import { ensureAll } from "../controllers/ensure-all.js";
import { LeaseLock } from "../controllers/lease-lock.js";
import type { ObjectsApi } from "../controllers/objects-api.js";
import { runTickers } from "../endpoints/reads/watch-ticker.js";
import type { RequestListener } from "../http/request-listener.js";
import type { Metrics } from "../metrics/metrics.js";
import { QuietMetrics } from "../metrics/quiet-metrics.js";
import { originForm } from "../request/request-info.js";
import type { RequestMiddleware } from "../request/request-state.js";
import { permissionsOf } from "./admission.js";
import { type LoadParts, loadControlPlane } from "./load-control-plane.js";
import { createNowhere } from "./nowhere.js";
import { createSuspendedTokens } from "./suspended-tokens.js";

export interface ControlPlanesParts
  extends Omit<
    LoadParts,
    | "metrics"
    | "rootAuthority"
    | "trust"
    | "current"
    | "open"
    | "defaults"
    | "patterns"
    | "builtIn"
    | "lead"
  > {
  /** The process's. */
  readonly metrics: Metrics;
}

/** What is known only when the port is open. */
export interface StartedParts {
  /** PEM: the authorities by which clients verify this API. */
  rootAuthority(): string;
  trust(): AuthenticationTrust;
  /** The root's, for the server's own writes. */
  readonly objects: ObjectsApi;
  readonly lifecycle: Lifecycle;
}

export interface OpenedControlPlanes extends AsyncDisposable {
  /** Of the root's admission. */
  readonly guards: readonly AdmissionPlugin[];
  /** Of the root's requests. */
  readonly beside: readonly RequestMiddleware[];
  /** Requests that are not long-running. */
  requestsUnderWay(): number;
  /** Ends what would last as long as its clients like, at once or spread over time. */
  endAll(): void;
  endAllOver(durationMs: number, signal: AbortSignal): Promise<void>;
  /** Sends each request to its control plane. */
  dispatch(root: RequestListener): RequestListener;
  /** The root's view is loaded. */
  start(parts: StartedParts): Promise<void>;
}

/** The lease of the process that keeps the ControlPlanes, and runs the control loops of all that are in use. */
const LEASE_NAME = "keelson-control-planes";
/** How often quiet control planes are told how far the store is, for the bookmarks of their watches. */
const TELL_MS = 5_000;
const HTTP_CONFLICT = 409;
/** Loads of one that lose a race. */
const RACES_MAX = 5;

/** Before the root's view is started. */
export function openControlPlanes(parts: ControlPlanesParts): OpenedControlPlanes {
  const { config, access, feed, metrics, logger } = parts;
  const { naming } = config;
  const group = controlPlaneGroup(naming);
  const index = new ControlPlaneIndex(naming);
  access.views.view.partition(partitionId(group, CONTROL_PLANES)).observe(index);
  const shared = {
    metrics: new QuietMetrics(),
    defaults: new DefaultContent(),
    patterns: new ObjectPatterns(isAlikeInMany),
    builtIn: new Map(),
    lead: new Lead(),
  };
  let started: StartedParts | undefined;
  const planes: ControlPlanes = new ControlPlanes({
    index,
    resource: { group, resource: CONTROL_PLANES },
    refuse: createNowhere({
      ...parts,
      metrics: shared.metrics,
      refusalOf: (request) => planes.refusalOf(request),
      refusalOfUser: (headers) => planes.refusalOfUser(headers),
    }),
    hasCredential,
    hasTokenOf: createSuspendedTokens(parts),
    fresh: () => access.views.freshness.fresh(),
    clock: systemClock,
    logger,
    idleMs: config.controlPlaneIdleMs,
    loadedMax: config.controlPlanesLoadedMax,
    async load(entry, signal) {
      // Requests come as soon as the listener is open.
      if (started === undefined) throw serviceUnavailable("the API server is starting");
      const { rootAuthority, trust } = started;
      const current = (name: string) => index.find(name);
      const open = (name: string) => planes.openForLoad(name);
      const loading = { ...parts, ...shared, rootAuthority, trust, current, open };
      return await inTurns(() => loadControlPlane(loading, entry, signal), signal);
    },
  });
  const { lead } = shared;
  const { partsPrefix, partKeysPrefix } = new KeySpace(config.etcdPrefix);
  const followUps = new FollowUps({
    ...{ index, planes, lead, clock: systemClock, logger, naming },
    hasBegun: (uid, signal) =>
      hasBegun({ store: parts.storage.plain, prefix: `${partsPrefix}${uid}/` }, signal),
  });
  feed.onUnread((uid, key, isDeletion) => followUps.saw(uid, key, isDeletion));
  observeControlPlanes(metrics, { index, planes, feed, patterns: shared.patterns });
  const domain = parseControlPlaneDomain(config.controlPlaneDomain);
  const ownPort = () => Number(parts.serverAddress().split(":").at(-1));
  const urlOf = (name: string) =>
    domain === undefined ? `${CONTROL_PLANES_PATH}${name}` : urlOfHost(domain, name, ownPort());
  const serverOf = (name: string, host: string) =>
    domain === undefined ? `https://${host || parts.serverAddress()}${urlOf(name)}` : urlOf(name);
  return {
    guards: [new ControlPlaneAdmission(naming, permissionsOf(access.authorization.authorizer))],
    beside: [
      withKubeconfigs({
        naming,
        planes,
        serverOf,
        authority: () => started?.rootAuthority() ?? "",
      }),
    ],
    dispatch(root) {
      const byPath: RequestListener = (request, response) => {
        if (request.url?.startsWith(CONTROL_PLANES_PATH) === true) planes.answer(request, response);
        else root(request, response);
      };
      const next = domain === undefined ? byPath : withHosts(domain, byPath);
      return (request, response) => {
        const { url = "/" } = request;
        if (!url.startsWith("/")) request.url = originForm(url) ?? url;
        next(request, response);
      };
    },
    async start(those) {
      const { objects, lifecycle } = those;
      const ensure = (signal: AbortSignal) => ensureDefinition(objects, naming, signal);
      const step = { name: "the definition of control planes", ensure };
      await ensureAll([step], { clock: systemClock, logger, lifecycle });
      started = those;
      lifecycle.spawn("control planes", "restart", (signal) => planes.run(signal));
      lifecycle.spawn("watches of control planes", "restart", (signal) =>
        runTickers(systemClock, () => planes.loaded, signal),
      );
      lifecycle.spawn("feeds of control planes", "restart", (signal) =>
        runAtIntervals({ clock: systemClock, intervalMs: TELL_MS }, () => feed.tellAll(), signal),
      );
      const loop = { objects, naming, clock: systemClock, logger };
      lifecycle.spawn("status of control planes", "restart", (signal) =>
        runStatusReports({ ...loop, planes }, signal),
      );
      const { store } = parts.storage;
      const lock = new LeaseLock({
        ...{ objects, clock: systemClock, logger, namespace: naming.systemNamespace },
        leases: objects.resource(`coordination.${naming.groupDomain}`, "leases"),
        ...{ name: LEASE_NAME, identity: `${hostname()}_${randomUUID()}` },
      });
      lifecycle.spawn("keeper of control planes", "restart", (signal) =>
        lock.run(async (leading) => {
          const keeping = { ...loop, urlOf, store, partsPrefix, partKeysPrefix, planes };
          const all = objects.list(objects.resource(group, CONTROL_PLANES), "");
          const now = systemClock.now();
          await Promise.all([
            lead.hold(leading),
            followUps.run(all, Math.min(lock.lastLedMs ?? now, now), leading),
            runKeeper(keeping, leading),
          ]);
        }, signal),
      );
    },
    requestsUnderWay: () => planes.requestsUnderWay(),
    endAllOver: (durationMs, signal) => planes.endAllOver(durationMs, signal),
    endAll: () => planes.endAll(),
    [Symbol.asyncDispose]: () => planes.close(),
  };
}

/** Another replica may begin the same one at this moment: what it has made is there the next time. */
async function inTurns<T>(load: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let races = 0; ; races++) {
    try {
      return await load();
    } catch (error) {
      const isConflict = error instanceof StatusError && error.code === HTTP_CONFLICT;
      if (!isConflict || races === RACES_MAX || signal.aborted) throw error;
    }
  }
}

function observeControlPlanes(
  metrics: Metrics,
  {
    index,
    planes,
    feed,
    patterns,
  }: Pick<ControlPlanesParts, "feed"> & {
    readonly patterns: ObjectPatterns;
    readonly index: ControlPlaneIndex;
    readonly planes: ControlPlanes;
  },
): void {
  const gauge = (name: string, help: string, read: () => number) =>
    metrics.gauge({ name, help }, (set) => set(read()));
  gauge("keelson_control_planes", "ControlPlanes that there are.", () => index.size);
  gauge(
    "keelson_control_planes_loaded",
    "Control planes below the root that this replica has in memory.",
    () => planes.loaded.length,
  );
  gauge(
    "keelson_control_planes_loading",
    "Control planes below the root that are being loaded, or wait for others to be loaded.",
    () => planes.loading,
  );
  const sum = (what: "requests" | "watches" | "refused") =>
    planes.loaded.reduce((total, { usage }) => total + usage[what], 0);
  gauge(
    "keelson_control_plane_requests",
    "Requests to control planes below the root that are under way.",
    () => sum("requests"),
  );
  gauge(
    "keelson_control_plane_watches",
    "Watches of control planes below the root that are open.",
    () => sum("watches"),
  );
  metrics.gauge(
    {
      name: "keelson_control_plane_loads_total",
      help: "Loads of control planes below the root, and how they ended.",
      labelNames: ["result"],
    },
    (set) => {
      const { loads, failedLoads } = planes.counts;
      set(loads - failedLoads, "success");
      set(failedLoads, "failure");
    },
  );
  gauge(
    "keelson_control_plane_unloads_total",
    "Control planes below the root that were let go: idle, suspended or deleted.",
    () => planes.counts.unloads,
  );
  gauge(
    "keelson_control_plane_misses_total",
    "Requests with credentials to control planes that do not exist, are suspended or are being deleted.",
    () => planes.counts.misses,
  );
  gauge(
    "keelson_control_plane_unread_events_total",
    "Events of control planes that this replica does not have in memory.",
    () => feed.dropped,
  );
  gauge(
    "keelson_control_plane_shared_bytes",
    "Bytes of objects that control planes have alike, kept once.",
    () => patterns.bytes,
  );
  gauge(
    "keelson_control_planes_resting",
    "Control planes in memory whose control loops rest.",
    () => planes.loaded.filter(({ isResting }) => isResting()).length,
  );
}
