/**
 * Wiring of serving: everything on a request's way from the port to the registry, and the readiness
 * checks.
 */

import { openAll } from "../../storage/base/cleanup.js";
import { systemClock } from "../../storage/base/clock.js";
import { Lifecycle, type TaskObserver } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { createProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import { isServedPath, type VerbHandlers, withResourceVerbs } from "../endpoints/dispatch.js";
import { WatchTicker } from "../endpoints/reads/watch-ticker.js";
import { createStatusEncoder } from "../endpoints/representations/status-encoder.js";
import { createAccessMetrics } from "../http/access-metrics.js";
import { createApplication } from "../http/application.js";
import { createAuditSteps } from "../http/audit.js";
import { withFreshCredentials, withFreshPolicy } from "../http/freshness.js";
import { Health } from "../http/health.js";
import { withImpersonation } from "../http/impersonation.js";
import { InFlightLimits } from "../http/in-flight.js";
import { Listener } from "../http/listener.js";
import type { Metrics } from "../http/metrics.js";
import { requestChain } from "../http/request-chain.js";
import { createRoutes } from "../http/routes.js";
import { withShutdownRefusal } from "../http/shutdown-refusal.js";
import { withWebSocketBearer } from "../http/web-socket-bearer.js";
import type { Registry } from "../registry/generic/registry.js";
import type { RequestStep } from "../request/step.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Facts } from "../schema/model.js";
import type { Access } from "./access.js";
import { openAdmissionFiles } from "./admission-files.js";
import { type Aggregation, createAggregation } from "./aggregation.js";
import { createAnswerMemory } from "./answer-memory.js";
import { type Audit, openAudit } from "./audit.js";
import { createSources } from "./computed-sources.js";
import { createConnecting } from "./connect.js";
import { createDocuments } from "./documents.js";
import { createFlowControl, type FlowControlStep } from "./flow-control.js";
import { addChecks, addSpaceCheck } from "./health-checks.js";
import { createRegistry } from "./registry.js";
import type { Security } from "./security.js";
import { createActions } from "./served-catalog.js";
import { observeStorage } from "./storage-metrics.js";
import type { OpenedStore } from "./store.js";
import { openTestApi, type TestApi, type TestApiSteps } from "./test-api.js";
import type { Tracing } from "./tracing.js";
import { createTurnWatch } from "./turn-watch.js";
import { createVerbs, negotiatorOf, verbAuthorizer } from "./verbs.js";

/** On shutdown an idle connection is closed when quiet for the shutdown delay, at most this long. */
const QUIET_MS_MAX = 1_000;
const REQUESTS_POLL_MS = 20;

export interface Serving extends AsyncDisposable {
  readonly listener: Listener;
  readonly registry: Registry;
  readonly health: Health;
  /** Ends watches, at once or spread over time. */
  readonly ticker: WatchTicker;
  /** Owns background work, which ends after the last request, as that may need it. */
  readonly lifecycle: Lifecycle;
  readonly aggregation: Aggregation;
  /** Of servers of tests. */
  readonly testApi: TestApi | undefined;
  /** Fails readiness from now on, and asks clients to reconnect elsewhere. */
  leave(): void;
  /** With --shutdown-send-retry-after, after the delay: new requests are told to retry. */
  refuseRequests(): void;
  /** Requests that are not long-running. */
  requestsUnderWay(): number;
  /** Resolves when only long-running requests are left, or after `deadlineMs`. */
  waitForRequests(deadlineMs: number, signal: AbortSignal): Promise<void>;
}

export interface ServingParts {
  readonly config: Config;
  readonly build: BuildInfo;
  readonly facts: Facts;
  readonly exclusions: readonly ExcludedResource[];
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  readonly tracing: Tracing;
  readonly security: Security;
  readonly storage: OpenedStore;
  readonly tasks?: TaskObserver;
  readonly access: Access;
  /** "host:port" for clients of this replica. */
  readonly serverAddress: () => string;
}

/** The port is open when it returns. @throws {Error} port taken; unwritable audit log */
export function openServing(parts: ServingParts): Promise<Serving> {
  return openAll(async (opened) => {
    const { config, facts, metrics, logger, security, access } = parts;
    const { livezGracePeriodMs, requestTimeoutMs } = config;
    const health = new Health({ logger, clock: systemClock, livezGracePeriodMs });
    let isEnding = false;
    let isRefusing = false;
    addChecks(health, access.views, () => isEnding);
    addSpaceCheck(health, parts.storage.space);
    const { catalog, outgoing } = access;
    const admissionFiles = await openAdmissionFiles({ config, catalog, metrics, logger });
    const testApi = openTestApi(config, logger);
    const storage = testApi?.observed(parts.storage) ?? parts.storage;
    const registry = createRegistry({ ...parts, storage, admissionFiles });
    observeStorage(metrics, access.views);
    const audit = await openAudit(config, metrics, logger);
    if (audit !== undefined) opened.use(audit);
    const lifecycle = opened.use(new Lifecycle(logger, parts.tasks));
    audit?.spawn(lifecycle);
    admissionFiles.spawn(lifecycle);
    const ticker = new WatchTicker(systemClock);
    catalog.subscribe((next) => ticker.finishOutdated(next));
    const { view } = access.views;
    const flowControl = createFlowControl({ config, view, catalog, metrics });
    flowControl?.spawn(lifecycle);
    const { freshness } = access.views;
    if (flowControl !== undefined) freshness.isThreadResting = flowControl.isHoldingBack;
    const served = { config, view, catalog, facts, freshness, outgoing, logger, metrics };
    const aggregation = createAggregation(served);
    const inFlightLimits = createInFlightLimits(config, flowControl);
    metrics.observeInFlight(() => inFlightLimits);
    const answerMemory = createAnswerMemory({ config, view, catalog, metrics, flowControl });
    const authorizeCreate = verbAuthorizer(access.authorization.authorizer, "create");
    const connected = { config, registry, freshness, metrics, outgoing, authorizeCreate };
    const connecting = createConnecting(connected);
    opened.defer(() => connecting.close());
    const connect = connecting.handler;
    const bounds = { flowControl, inFlightLimits, answerMemory };
    const common = { ...parts, ...bounds, lifecycle, health, registry, audit, ticker, connect };
    const aside = { aggregation, testApi: testApi?.steps(registry) };
    const refusal = config.shutdownSendRetryAfter ? [withShutdownRefusal(() => isRefusing)] : [];
    const chain = createChain({ ...common, ...aside, refusal });
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
      createApplication(chain, logger),
    );
    const requestsUnderWay = () => inFlightLimits.readOnly + inFlightLimits.mutating;
    const quietMs = Math.min(config.shutdownDelayMs, QUIET_MS_MAX);
    opened.defer(() => listener.close(config.shutdownGracePeriodMs, quietMs));
    opened.defer(() => ticker.endAll());
    opened.defer(() => connecting.endAll());
    return {
      listener,
      registry,
      health,
      ticker,
      lifecycle,
      aggregation,
      testApi,
      leave() {
        isEnding = true;
        listener.leave();
      },
      refuseRequests() {
        isRefusing = true;
      },
      requestsUnderWay,
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

interface ChainParts extends ServingParts {
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  readonly registry: Registry;
  readonly audit: Audit | undefined;
  readonly flowControl: FlowControlStep | undefined;
  readonly answerMemory: RequestStep;
  readonly aggregation: Aggregation;
  readonly testApi: TestApiSteps | undefined;
  readonly inFlightLimits: InFlightLimits;
  readonly ticker: WatchTicker;
  readonly connect: VerbHandlers["connect"];
  readonly refusal: readonly RequestStep[];
}

/** When flow control bounds the requests, they are only counted here. */
function createInFlightLimits(config: Config, flowControl: FlowControlStep | undefined) {
  const isBounded = flowControl === undefined;
  return new InFlightLimits({
    readOnlyMax: isBounded ? config.maxRequestsInflight : 0,
    mutatingMax: isBounded ? config.maxMutatingRequestsInflight : 0,
  });
}

function createChain(parts: ChainParts) {
  const { config, facts, metrics, logger, storage, audit, flowControl, aggregation } = parts;
  const { health, registry, ticker, inFlightLimits, testApi } = parts;
  const { catalog, views, authentication, authorization } = parts.access;
  const { naming } = config;
  const { freshness } = views;
  const { authorizer, impersonation } = authorization;
  const protobuf = createProtobufCodecs(facts);
  const documents = createDocuments({ ...parts, catalog, freshness, address: parts.serverAddress });
  const verbs = createVerbs({
    config,
    registry,
    freshness,
    actions: createActions(storage.tokenKeys),
    watchLatency: storage.watchLatency,
    sources: createSources(config, views),
    protobuf,
    authorizer,
    metrics,
    ticker,
    lifecycle: parts.lifecycle,
    logger,
    connect: parts.connect,
  });
  const turns = createTurnWatch(logger, metrics);
  return requestChain({
    logger,
    turnWatch: turns.watch,
    verbosity: parts.verbosity,
    metrics,
    access: createAccessMetrics(metrics, naming),
    encodeStatus: createStatusEncoder(naming, negotiatorOf(config), protobuf),
    tracing: parts.tracing.steps,
    audit: audit && createAuditSteps(audit.recorder),
    authenticator: authentication.authenticator,
    isIdentityHeader: (name) => authentication.isIdentityHeader(name),
    authorizer,
    inFlightLimits,
    beforeAuthentication: [
      ...parts.refusal,
      withWebSocketBearer(naming),
      withFreshCredentials(freshness),
    ],
    outer: testApi?.outer,
    beforeAuthorization: [
      ...(testApi === undefined ? [] : [testApi.inner]),
      withFreshPolicy(freshness),
      withImpersonation(impersonation),
      // Before seats, so that no seat is held while waiting for memory.
      parts.answerMemory,
      ...(flowControl === undefined ? [] : [flowControl.step]),
    ],
    requestTimeoutMs: config.requestTimeoutMs,
    isServed: (info) => isServedPath(catalog.current, info) || aggregation.isServed(info),
    beforeRoutes: [...(testApi?.middlewares ?? []), aggregation.middleware],
    routes: createRoutes({
      health,
      metrics,
      verbosity: config.profiling ? parts.verbosity : undefined,
      documents: {
        ...documents,
        ...authentication.documents,
        ...flowControl?.documents,
        ...turns.documents,
      },
    }),
    handler: withResourceVerbs({ catalog, freshness, handlers: verbs }),
  });
}
