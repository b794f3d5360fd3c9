/**
 * Wiring of one control plane: everything on a request's way from the dispatch to the store that no other
 * control plane shares. What one process has - the listener, certificates, the store, the audit log - comes from
 * outside (serving.ts). The root is one of them.
 */
import type { Cleanup } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { AdmissionPlugin } from "../admission/admission.js";
import { createApplication } from "../chain/application.js";
import { createAuditSteps } from "../chain/audit.js";
import { InFlightLimits } from "../chain/in-flight.js";
import { type OfOtherFolder, requestChain, type UsageSteps } from "../chain/request-chain.js";
import type { ProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import type { ExcludedResource } from "../config/policy-exclusions.js";
import { withoutStrangers } from "../control-planes/strangers.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import { isServedPath, type VerbHandlers, withResourceVerbs } from "../endpoints/dispatch.js";
import type { SharedDocuments } from "../endpoints/openapi/openapi.js";
import { LargeEvents } from "../endpoints/reads/large-events.js";
import { WatchTicker } from "../endpoints/reads/watch-ticker.js";
import { createStatusEncoder } from "../endpoints/representations/status-encoder.js";
import type { Turns } from "../flowcontrol/turns.js";
import type { Health } from "../http/health.js";
import type { RequestListener } from "../http/request-listener.js";
import { createRoutes } from "../http/routes.js";
import { createAccessMetrics } from "../metrics/access-metrics.js";
import type { Metrics } from "../metrics/metrics.js";
import type { Registry } from "../registry/registry.js";
import { LastingAnswers } from "../request/lasting-answers.js";
import type { RequestMiddleware } from "../request/request-state.js";
import type { RequestStep } from "../request/step.js";
import type { Verbosity } from "../request/verbosity.js";
import type { Facts } from "../schema/model.js";
import type { MovableClock } from "../test-api/movable-clock.js";
import type { Access } from "./access.js";
import type { AdmissionFiles } from "./admission-files.js";
import { type Aggregation, createAggregation } from "./aggregation.js";
import { createAnswerMemory } from "./answer-memory.js";
import type { Audit } from "./audit.js";
import { createSources } from "./computed-sources.js";
import { createConnecting } from "./connect.js";
import { createDocuments } from "./documents.js";
import { createFlowControl, type FlowControlStep } from "./flow-control.js";
import type { OutgoingFiles } from "./outgoing-files.js";
import type { ProcessMemory } from "./process-memory.js";
import { openRecord, type Recording } from "./record.js";
import type { OpenedRecordDirectory } from "./record-directory.js";
import { createRegistry } from "./registry.js";
import type { Security } from "./security.js";
import { createActions } from "./served-catalog.js";
import { openSimulation, type SimulatedCluster } from "./simulation.js";
import { observeStorage } from "./storage-metrics.js";
import type { OpenedStore } from "./store.js";
import { openTestApi, type TestApi } from "./test-api.js";
import type { Tracing } from "./tracing.js";
import { createTurnWatch } from "./turn-watch.js";
import { type AlikeAnswers, createVerbs, negotiatorOf, verbAuthorizer } from "./verbs.js";

export interface ControlPlane {
  /** Answers requests. */
  readonly handle: RequestListener;
  readonly registry: Registry;
  /** Ends watches, at once or spread over time. */
  readonly ticker: WatchTicker;
  readonly aggregation: Aggregation;
  /** Of servers of tests. */
  readonly testApi: TestApi | undefined;
  /** Undefined = nobody records. */
  readonly record: Recording | undefined;
  readonly simulation: SimulatedCluster | undefined;
  /** Requests that are not long-running. */
  requestsUnderWay(): number;
  /** Ends what would last as long as its clients like. @param why default: the server ends */
  endAll(why?: string): void;
}

export interface ControlPlaneParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  /** The same, where it can be moved. */
  readonly movable?: MovableClock | undefined;
  readonly config: Config;
  readonly build: BuildInfo;
  readonly facts: Facts;
  /** Of the built-in kinds; the same for all control planes. */
  readonly protobuf: ProtobufCodecs;
  readonly alikeAnswers: AlikeAnswers;
  /** What all APIs of this process have alike. */
  readonly openApiShared: SharedDocuments;
  /** The process has one thread: all control planes share it. */
  readonly turns: Turns;
  /** The level that all its requests have among those of others; absent = each has its own. */
  readonly turnLevel?: string;
  readonly exclusions: readonly ExcludedResource[];
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly verbosity: Verbosity;
  readonly tracing: Tracing;
  readonly storage: OpenedStore;
  readonly memory: ProcessMemory;
  readonly access: Access;
  readonly security: Pick<Security, "peerAccess">;
  readonly health: Health;
  readonly audit: Audit | undefined;
  readonly admissionFiles: AdmissionFiles;
  readonly outgoingFiles: OutgoingFiles;
  /** Owns its background work. */
  readonly lifecycle: Lifecycle;
  /** "host:port" for clients of this replica. */
  readonly serverAddress: () => string;
  /** Absent = its records, if any, are in memory alone. */
  readonly recordDirectory?: OpenedRecordDirectory | undefined;
  /** What it sees of a URL; absent = all of it. */
  readonly toOwnUrl?: (url: string) => string;
  readonly shutdownRefusal?: RequestStep | undefined;
  /** Counts and bounds its requests. */
  readonly usage?: UsageSteps;
  /** Further guards of admission. */
  readonly guards?: readonly AdmissionPlugin[];
  /** Answer requests beside its resources. */
  readonly beside?: readonly RequestMiddleware[];
}

/** @param opened closes it */
export function createControlPlane(parts: ControlPlaneParts, opened: Cleanup): ControlPlane {
  const { config, facts, metrics, logger, access, lifecycle, admissionFiles } = parts;
  const { catalog, outgoing, views } = access;
  const { view, freshness } = views;
  const testApi = openTestApi(config, logger, parts.movable);
  const storage = testApi?.observed(parts.storage) ?? parts.storage;
  const record = openRecord({
    config,
    metrics,
    access,
    storage,
    serverAddress: parts.serverAddress,
    logger,
    peerAccess: parts.security.peerAccess,
    recordDirectory: parts.recordDirectory,
  });
  opened.defer(() => record?.close());
  const recorder = record?.recorder;
  const registry = createRegistry({ ...parts, storage, admissionFiles, recorder });
  observeStorage(metrics, views);
  const ticker = new WatchTicker(systemClock);
  catalog.subscribe((next) => ticker.finishOutdated(next));
  const { turns, turnLevel } = parts;
  const flowControl = createFlowControl({ config, view, catalog, metrics, turns, turnLevel });
  if (turnLevel !== undefined) opened.defer(async () => turns.forget(turnLevel));
  flowControl?.spawn(lifecycle);
  if (flowControl !== undefined) freshness.isHoldingBack = flowControl.isHoldingBack;
  const { outgoingFiles } = parts;
  const served = { config, view, catalog, facts, freshness, outgoing, logger, metrics };
  const lasting = new LastingAnswers();
  const aggregation = createAggregation({
    ...{ ...served, lasting },
    identity: outgoingFiles.proxyIdentity,
  });
  const inFlightLimits = createInFlightLimits(parts, flowControl);
  metrics.observeInFlight(() => inFlightLimits);
  const answered = { view, catalog, metrics, flowControl, inFlightLimits };
  const isRoot = turnLevel === undefined;
  const answerMemory = createAnswerMemory({ ...answered, memory: parts.memory.answers, isRoot });
  const authorizeCreate = verbAuthorizer(access.authorization.authorizer, "create");
  const simulation = openSimulation(config);
  const connected = {
    ...{ config, registry, freshness, metrics, outgoing, outgoingFiles, authorizeCreate },
    ...{ lasting, simulated: simulation?.nodes },
  };
  const connecting = createConnecting(connected);
  opened.defer(() => connecting.close(), "connections to nodes");
  const bounds = { flowControl, inFlightLimits, answerMemory };
  const common = { ...parts, ...bounds, registry, ticker, connect: connecting.handler };
  const aside = { aggregation, record, testApi: testApi?.steps(registry) };
  const largeEvents = new LargeEvents(parts.memory.largeEvents);
  opened.defer(async () => largeEvents.close());
  const chain = createChain({ ...common, ...aside, largeEvents });
  return {
    handle: createApplication(chain, parts.toOwnUrl),
    registry,
    ticker,
    aggregation,
    testApi,
    record,
    simulation,
    requestsUnderWay: () => inFlightLimits.readOnly + inFlightLimits.mutating,
    endAll(why = "the API server is shutting down") {
      lasting.endAll(why);
      ticker.endAll();
    },
  };
}

interface ChainParts extends ControlPlaneParts {
  readonly registry: Registry;
  readonly flowControl: FlowControlStep | undefined;
  readonly answerMemory: RequestStep;
  readonly aggregation: Aggregation;
  readonly testApi: OfOtherFolder | undefined;
  readonly record: Recording | undefined;
  readonly inFlightLimits: InFlightLimits;
  readonly ticker: WatchTicker;
  readonly largeEvents: LargeEvents;
  readonly connect: VerbHandlers["connect"];
}

/** When flow control bounds the requests, they are only counted here. */
function createInFlightLimits(
  { config, turnLevel }: ControlPlaneParts,
  flowControl: FlowControlStep | undefined,
) {
  const isBounded = flowControl === undefined;
  return new InFlightLimits({
    readOnlyMax: isBounded ? config.maxRequestsInflight : 0,
    mutatingMax: isBounded ? config.maxMutatingRequestsInflight : 0,
    isOfControlPlane: turnLevel !== undefined,
  });
}

function createChain(parts: ChainParts) {
  const { config, metrics, logger, storage, audit, flowControl, aggregation } = parts;
  const { health, registry, ticker, inFlightLimits, testApi, record } = parts;
  const { catalog, views, authentication, authorization } = parts.access;
  const { naming } = config;
  const { freshness } = views;
  const { authorizer, impersonation } = authorization;
  const { protobuf } = parts;
  const documents = createDocuments({ ...parts, catalog, freshness, address: parts.serverAddress });
  const verbs = createVerbs({
    config,
    registry,
    freshness,
    actions: createActions(storage.tokenKeys),
    watchLatency: storage.watchLatency,
    recorder: record?.recorder,
    sources: createSources(config, views),
    protobuf,
    alike: parts.alikeAnswers,
    authorizer,
    metrics,
    caches: parts.access.caches,
    largeEvents: parts.largeEvents,
    ticker,
    lifecycle: parts.lifecycle,
    logger,
    connect: parts.connect,
  });
  const turns = createTurnWatch(logger, metrics);
  return requestChain({
    logger,
    naming,
    turnWatch: turns.watch,
    verbosity: parts.verbosity,
    metrics,
    access: createAccessMetrics(metrics, naming),
    encodeStatus: createStatusEncoder(naming, negotiatorOf(config), protobuf),
    tracing: parts.tracing.steps,
    audit: audit && createAuditSteps(audit.recorder),
    authenticator: authentication.authenticator,
    isIdentityHeader: (name) => authentication.isIdentityHeader(name),
    authorizer: record?.authorizer ?? authorizer,
    inFlightLimits,
    freshness,
    entrance: authentication.isStranger && withoutStrangers(authentication.isStranger),
    impersonation,
    shutdownRefusal: parts.shutdownRefusal,
    usage: parts.usage,
    answerMemory: parts.answerMemory,
    flowControl: flowControl?.step,
    testApi,
    recorder: record?.steps,
    beside: parts.beside,
    aggregation: aggregation.middleware,
    requestTimeoutMs: config.requestTimeoutMs,
    isServed: (info) => isServedPath(catalog.current, info) || aggregation.isServed(info),
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
