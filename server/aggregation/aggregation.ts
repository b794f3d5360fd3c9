/**
 * Aggregation: the step of the request chain that proxies requests for other servers' group-versions, and
 * the background work that tracks these servers. It runs after authorization: unauthorized requests are not
 * proxied.
 */
import { once } from "node:events";
import type { Next } from "koa";
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import { oneLine } from "../../storage/base/one-line.js";
import { formatGroupVersion, type GroupVersion } from "../api/names.js";
import type { CatalogSource } from "../kinds/live-catalog.js";
import { UnreachableService } from "../outbound/services.js";
import type { LastingAnswers } from "../request/lasting-answers.js";
import { type Barrier, reachNow } from "../request/reach-now.js";
import type { RequestInfo } from "../request/request-info.js";
import type { RequestContext, RequestMiddleware } from "../request/request-state.js";
import type { ApiServices, Availability, RemoteService } from "./api-services.js";
import { passOn } from "./proxy.js";
import { answerUnavailable } from "./refusals.js";
import type { RemoteDocuments } from "./remote-documents.js";
import type { RemoteServers } from "./remote-server.js";
import type { RemoteSpecs } from "./remote-specs.js";
import type { AllServedGroups } from "./served-groups.js";
import type { ServiceChanges } from "./service-changes.js";
import { ServiceProblem } from "./service-check.js";

export interface AggregationParts {
  readonly services: ApiServices;
  /** Of the Services that they are behind. */
  readonly changes: ServiceChanges;
  readonly servers: RemoteServers;
  readonly lasting: LastingAnswers;
  /** @throws {ServiceProblem} */
  readonly check: (service: RemoteService) => void;
  readonly documents: RemoteDocuments;
  readonly specs: RemoteSpecs;
  readonly groups: AllServedGroups;
  readonly catalog: CatalogSource;
  readonly freshness: Barrier;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told of a service that was available and is found not to be. */
  readonly onUnavailable?: ((name: string, reason: string) => void) | undefined;
}

/** The interval of checks of a service's availability and published documents. */
const LOOK_INTERVAL_MS = 30_000;
/** The interval after a failed check. */
const RETRY_INTERVAL_MS = 2_000;

export function withAggregation({
  services,
  servers,
  lasting,
  catalog,
  freshness,
}: AggregationParts): RequestMiddleware {
  return function aggregation(ctx, next) {
    const asked = groupVersionOf(ctx.state.info);
    if (asked === undefined) return next();
    const entry = services.find(asked.group, asked.version);
    const isLocal = catalog.current.groupVersion(asked.group, asked.version) !== undefined;
    return entry === undefined && isLocal ? next() : askOther(ctx, next, asked);
  };

  async function askOther(
    ctx: RequestContext,
    next: Next,
    { group, version }: GroupVersion,
  ): Promise<void> {
    const { state } = ctx;
    let entry = services.find(group, version);
    // A write unseen by this replica may have added, removed or changed it.
    if (!state.isFresh) {
      await reachNow(freshness, state);
      entry = services.find(group, version);
    }
    if (entry === undefined) return await next();
    if (entry.availability?.isAvailable === false)
      return answerUnavailable(ctx, "service unavailable");
    await passOn(ctx, servers.of(entry.service));
    if (ctx.res.statusCode === 101) lasting.add(ctx);
  }
}

/** For a resource, or for the document of the group-version itself. */
function groupVersionOf(info: RequestInfo): GroupVersion | undefined {
  if (info.isResourceRequest) return info.group === "" ? undefined : info;
  const [, group, version] =
    /^\/apis\/([^/]+)\/([^/]+)\/?$/.exec(info.path) ??
    /^\/openapi\/v3\/apis\/([^/]+)\/([^/]+)$/.exec(info.path) ??
    [];
  return group === undefined || version === undefined ? undefined : { group, version };
}

/** Reports the result of a check of a service. */
export type ReportAvailability = (name: string, availability: Availability) => Promise<void>;

/**
 * Checks each service in a loop of its own, at an interval and on changes, so that an unresponsive one delays
 * no other. Runs until the signal aborts.
 */
export async function runAggregation(
  parts: AggregationParts,
  report: ReportAvailability,
  signal: AbortSignal,
): Promise<void> {
  const { services, changes, servers, documents, specs, groups } = parts;
  const loops = new Map<RemoteService, Loop>();
  const follow = () => {
    if (signal.aborted) return;
    const current = new Set(services.all.map(({ service }) => service));
    servers.keepOnly(current);
    documents.keepOnly(current);
    specs.keepOnly([...current]);
    groups.changed();
    for (const [service, loop] of loops) {
      if (current.has(service)) continue;
      loop.stop.abort(GONE);
      loops.delete(service);
    }
    for (const service of current) {
      if (loops.has(service)) continue;
      const stop = new AbortController();
      const until = AbortSignal.any([signal, stop.signal]);
      const pause = new Pause();
      const ended = followService(parts, service, report, pause, until);
      loops.set(service, { stop, pause, ended });
    }
  };
  services.subscribe(follow);
  changes.subscribe((changed) => {
    for (const [{ namespace, service }, { pause }] of loops) {
      const isBehind = changed?.namespace === namespace && changed.name === service;
      if (changed === undefined || isBehind) pause.end();
    }
  });
  follow();
  if (!signal.aborted) await once(signal, "abort");
  await Promise.all([...loops.values()].map(({ ended }) => ended));
  servers.close();
}

interface Loop {
  readonly stop: AbortController;
  readonly pause: Pause;
  readonly ended: Promise<void>;
}

/** Between two checks, until something changes. */
class Pause {
  #changed = new AbortController();

  /** Aborts at the first change from now on. */
  get signal(): AbortSignal {
    return this.#changed.signal;
  }

  end(): void {
    const changed = this.#changed;
    this.#changed = new AbortController();
    changed.abort();
  }
}

const GONE = "the service is gone, or another one";

/** Never rejects. */
async function followService(
  parts: AggregationParts,
  service: RemoteService,
  report: ReportAvailability,
  pause: Pause,
  signal: AbortSignal,
): Promise<void> {
  const { specs, services, clock } = parts;
  while (!signal.aborted) {
    // Before the check, which a change in its course makes old.
    const changed = pause.signal;
    const isGood = await look(parts, service, report);
    if (isGood && !signal.aborted) {
      const all = services.all.map((entry) => entry.service);
      await specs.refresh(service, all);
    }
    const until = AbortSignal.any([signal, changed]);
    await clock.sleep(isGood ? LOOK_INTERVAL_MS : RETRY_INTERVAL_MS, until).catch(() => {});
  }
}

/** @returns whether it answered correctly */
async function look(
  { services, servers, check, documents, groups, logger, onUnavailable }: AggregationParts,
  service: RemoteService,
  report: ReportAvailability,
): Promise<boolean> {
  const found = await examine();
  const entry = services.find(service.group, service.version);
  if (entry?.service !== service) return false;
  const { availability } = entry;
  const isSame =
    availability?.isAvailable === found.isAvailable &&
    availability.reason === found.reason &&
    availability.message === found.message;
  if (!isSame) {
    try {
      await report(service.name, found);
      const wasAvailable = availability?.isAvailable === true;
      if (wasAvailable && !found.isAvailable) onUnavailable?.(service.name, found.reason);
    } catch (error) {
      logger.warn(
        { apiService: service.name, err: oneLine(error) },
        "the state of an API service cannot be written",
      );
      return false;
    }
  }
  return found.isAvailable;

  /** Operators look for the address. */
  function urlOf(service: RemoteService): string {
    return `${servers.of(service).url}/apis/${formatGroupVersion(service)}`;
  }

  async function examine(): Promise<Availability> {
    try {
      check(service);
      if (await documents.refresh(servers.of(service))) groups.changed();
      return { isAvailable: true, reason: "Passed", message: "all checks passed" };
    } catch (error) {
      groups.changed();
      const { message: why } = error as Error;
      if (error instanceof ServiceProblem) {
        return { isAvailable: false, reason: error.reason, message: why };
      }
      const isNowhere = error instanceof UnreachableService;
      const message = isNowhere
        ? why
        : `failing or missing response from ${urlOf(service)}: ${why}`;
      return { isAvailable: false, reason: "FailedDiscoveryCheck", message };
    }
  }
}
