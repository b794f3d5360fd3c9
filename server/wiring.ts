/**
 * Wiring: from one Config to a running replica. With wiring-storage.ts and wiring-security.ts these
 * are the only files that name concrete classes: they build every object, in order, hand each what it
 * needs, and close them in reverse.
 */
import { resolve } from "node:path";
import { assert } from "../storage/base/assert.js";
import { systemClock } from "../storage/base/clock.js";
import { Lifecycle } from "../storage/base/lifecycle.js";
import type { Logger } from "../storage/base/logger.js";
import type { FreshnessBarrier } from "../storage/cache/freshness.js";
import { partitionId } from "../storage/objects/keys.js";
import { formatGroupVersion } from "./api/names.js";
import { routeNotFound } from "./api/status.js";
import type { Authorizer } from "./authz/authorizer.js";
import { denial } from "./authz/denial.js";
import { createProtobufCodecs, type ProtobufCodecs } from "./codec/protobuf.js";
import { collectGarbage } from "./collect-garbage.js";
import type { Config } from "./config/config.js";
import { FEATURE_GATES, type Features } from "./config/feature-gates.js";
import { enabledResources } from "./config/runtime-config.js";
import { runAuthenticationTrust } from "./controllers/authentication-trust.js";
import { reconcileBootstrapPolicy } from "./controllers/bootstrap-policy.js";
import { ensureClusterInfo } from "./controllers/cluster-info.js";
import { createLocalObjects } from "./controllers/local-objects.js";
import { runControllers } from "./controllers/run-controllers.js";
import { ensureSystemNamespaces } from "./controllers/system-namespaces.js";
import { ensureSystemPriorityClasses } from "./controllers/system-priority-classes.js";
import { createDiscovery } from "./endpoints/discovery/discovery.js";
import { type DocumentResponse, documentHeaders } from "./endpoints/discovery/document.js";
import { type BuildInfo, formatApiVersion, toVersionInfo } from "./endpoints/discovery/version.js";
import { isServedPath, type VerbHandlers, withResourceVerbs } from "./endpoints/dispatch.js";
import { createNegotiator, type Negotiator } from "./endpoints/negotiation.js";
import { createOpenApi } from "./endpoints/openapi/openapi.js";
import { handleGet } from "./endpoints/reads/get.js";
import { HistoricalReader } from "./endpoints/reads/historical-reader.js";
import { handleList, LARGE_LIST_BYTES } from "./endpoints/reads/list.js";
import { createViewReader } from "./endpoints/reads/view-reader.js";
import { handleWatch } from "./endpoints/reads/watch.js";
import { WatchTicker } from "./endpoints/reads/watch-ticker.js";
import { createRepresentationSource } from "./endpoints/representations/representation-source.js";
import { createStatusEncoder } from "./endpoints/representations/status-encoder.js";
import { createPrinters } from "./endpoints/tables/printers.js";
import { handleCreate } from "./endpoints/writes/create.js";
import { handleDelete, handleDeleteCollection } from "./endpoints/writes/delete.js";
import { handlePatch } from "./endpoints/writes/patch.js";
import { createStrategicMerges } from "./endpoints/writes/strategic-merges.js";
import { handleUpdate } from "./endpoints/writes/update.js";
import { createApplication } from "./http/application.js";
import type { CounterCell } from "./http/fast-metrics.js";
import { withFreshCredentials, withFreshPolicy } from "./http/freshness.js";
import { Health } from "./http/health.js";
import { withImpersonation } from "./http/impersonation.js";
import { InFlightLimits } from "./http/in-flight.js";
import { Listener } from "./http/listener.js";
import { Metrics } from "./http/metrics.js";
import { requestChain } from "./http/request-chain.js";
import { createRoutes, type DocumentHandler } from "./http/routes.js";
import { withWebSocketBearer } from "./http/web-socket-bearer.js";
import { createAuthenticationReviews } from "./registry/authentication/reviews.js";
import { createAuthorizationReviews } from "./registry/authorization/reviews.js";
import { createServiceAllocator } from "./registry/core/service-allocator.js";
import {
  createDeclarativeValidation,
  type DeclarativeValidation,
} from "./registry/generic/declarative-validation.js";
import { createOwnership } from "./registry/generic/ownership.js";
import type { Registry } from "./registry/generic/registry.js";
import type { ServedResource } from "./registry/generic/served-resource.js";
import { WriteTurns } from "./registry/generic/write-turns.js";
import { createResourceTable, type ResourceTable } from "./registry/resource-table.js";
import { serviceAccountToken } from "./registry/subresources/service-account-token.js";
import type { RequestContext } from "./request/request-state.js";
import type { Facts, SchemaModel } from "./schema/model.js";
import { createObjectCodecs } from "./schema/object-codec.js";
import { loadFacts } from "./types/load-facts.js";
import { createAdmission } from "./wiring-admission.js";
import { type Authentication, createAuthentication } from "./wiring-authentication.js";
import { type Authorization, createAuthorization } from "./wiring-authorization.js";
import { rootAuthorityOf } from "./wiring-controllers.js";
import { openEncryption } from "./wiring-encryption.js";
import { createSecurity } from "./wiring-security.js";
import {
  createViews,
  observeStorage,
  openStore,
  STORE_START_MS,
  spawnCompactor,
  type Views,
} from "./wiring-storage.js";
import { withStoredForm } from "./wiring-stored-form.js";
import { openTokenKeys } from "./wiring-token-keys.js";

export interface Replica extends AsyncDisposable {
  /** Under which this machine reaches it: "https://127.0.0.1:6443". */
  readonly url: string;
  readonly kubeconfigPath: string;
  /** Where the state is, for people. */
  readonly storeDescription: string;
  /** Resolves when the replica is ready; rejects when it can never be. */
  readonly ready: Promise<void>;
  /** Readiness fails first, then the delay, then requests and watches end; then all is closed. */
  shutDown(): Promise<void>;
}

/**
 * Builds and starts a replica. The port is open when it returns; `ready` follows when the view is
 * loaded.
 * @throws {Error} with one clear message: port taken, store unreachable or in use, bad files
 */
export async function openReplica(
  config: Config,
  build: BuildInfo,
  logger: Logger,
): Promise<Replica> {
  const { naming } = config;
  const facts = loadFacts(naming);
  const metrics = new Metrics();
  metrics.collectProcessMetrics();
  metrics.observeFeatures(naming.vendor, describeFeatures(config.features));
  const lifecycle = new Lifecycle(logger);
  const health = new Health({
    logger,
    clock: systemClock,
    livezGracePeriodMs: config.livezGracePeriodMs,
  });

  const security = await createSecurity(config);
  const codecs = createObjectCodecs(facts);
  const protobuf = createProtobufCodecs(facts);
  const starting = AbortSignal.timeout(STORE_START_MS);
  const plainStore = await openStore(config, logger, metrics, starting);
  const encryption = await openEncryption({ config, store: plainStore, metrics, logger });
  const store = withStoredForm(config, encryption?.store ?? plainStore);
  const tokenKeys = await openTokenKeys({ config, store, logger }, starting);
  const isEnabled = enabledResources(config.runtimeConfig, facts);
  // The reviews ask those who are made later, as these read the view, which needs the table.
  let access: Access | undefined;
  const asked = () => {
    assert(access !== undefined, "AccessIsWired");
    return access;
  };
  const table = createResourceTable({
    naming,
    facts,
    codecs,
    isEnabled,
    virtual: {
      ...createAuthenticationReviews({
        apiAudiences: tokenKeys.settings.audiences,
        authenticator: {
          name: "reviews",
          authenticate: (facts, signal) =>
            asked().authentication.authenticator.authenticate(facts, signal),
        },
      }),
      ...createAuthorizationReviews({
        authorizer: {
          name: "reviews",
          authorize: (attributes, signal) =>
            asked().authorization.authorizer.authorize(attributes, signal),
        },
        rules: {
          rulesFor: (user, namespace, signal) =>
            asked().authorization.authorizer.rulesFor(user, namespace, signal),
        },
      }),
    },
    subresources: {
      "/serviceaccounts/token": serviceAccountToken(tokenKeys.issuer),
    },
  });
  const views = createViews(config, store, table, logger, metrics);
  const ticker = new WatchTicker(systemClock);
  const { view, freshness } = views;
  let listener: Listener | undefined;
  const address = () => `${config.advertiseAddress || "127.0.0.1"}:${listener?.port ?? 0}`;
  const authentication = await createAuthentication({
    config,
    security,
    tokenKeys,
    view,
    metrics,
    logger,
    serverAddress: address,
  });
  const authorization = await createAuthorization({
    config,
    view,
    installation: tokenKeys.keys.signing.id,
    metrics,
    logger,
  });
  const { authorizer } = authorization;
  access = { authentication, authorization };
  const registry: Registry = {
    store,
    view,
    freshness,
    clock: systemClock,
    naming,
    lifetimes: { eventTtlSeconds: Math.ceil(config.eventTtlMs / 1000) },
    ownership: createOwnership({ model: facts.model, naming, clock: systemClock, table }),
    declarative: declarativeOf(config, facts.model, metrics),
    admission: createAdmission({ config, views, authorization, metrics }),
    ...(encryption !== undefined && { storedForm: encryption.store }),
    writeTurns: new WriteTurns(),
    allocators: {
      [partitionId("", "services")]: createServiceAllocator({
        ...config.serviceRanges,
        addressPartition: partitionId(`networking.${naming.groupDomain}`, "ipaddresses"),
      }),
    },
  };
  const objects = createLocalObjects(registry, table);
  observeStorage(metrics, views);

  let isShuttingDown = false;
  const inFlightLimits = new InFlightLimits({
    readOnlyMax: config.maxRequestsInflight,
    mutatingMax: config.maxMutatingRequestsInflight,
  });
  metrics.observeInFlight(() => inFlightLimits);
  addChecks(health, views, () => isShuttingDown);

  const chain = requestChain({
    logger,
    logsSuccess: config.logLevel === "debug",
    metrics,
    encodeStatus: createStatusEncoder(naming, negotiatorOf(config), protobuf),
    authenticator: authentication.authenticator,
    isIdentityHeader: (name) => authentication.isIdentityHeader(name),
    authorizer,
    inFlightLimits,
    beforeAuthentication: [withWebSocketBearer(naming), withFreshCredentials(freshness)],
    beforeAuthorization: [
      withFreshPolicy(freshness),
      withImpersonation(authorization.impersonation),
    ],
    requestTimeoutMs: config.requestTimeoutMs,
    isServed: (info) => isServedPath(table, info),
    routes: createRoutes({
      health,
      metrics,
      documents: {
        ...documentsOf({ config, build, facts, table, health, address }),
        ...authentication.documents,
      },
    }),
    handler: withResourceVerbs(
      table,
      verbsOf({
        config,
        registry,
        freshness,
        model: facts.model,
        protobuf,
        authorizer,
        metrics,
        ticker,
      }),
    ),
  });

  try {
    listener = await Listener.open(
      {
        host: config.bindAddress,
        port: config.securePort,
        credentials: security.credentials,
        requestTimeoutMs: config.requestTimeoutMs,
        logger,
        metrics,
        clock: systemClock,
      },
      createApplication(chain, logger),
    );
  } catch (error) {
    await lifecycle[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    throw error;
  }
  const opened = listener;
  security.spawnReload(opened, lifecycle, metrics, logger);
  authentication.spawn(lifecycle);
  authorization.spawn(lifecycle);
  encryption?.spawnReload({ view, tokenKeys, lifecycle });
  lifecycle.spawn("watch ticker", (signal) => ticker.run(signal));
  const url = `https://${reachableHost(config)}:${opened.port}`;
  const kubeconfigPath = await security.writeKubeconfig(url);
  const viewLoaded = health.addPostStartHook("load-view");
  const rolesMade = health.addPostStartHook("rbac/bootstrap-roles");
  const ready = (async () => {
    await view.start(lifecycle, lifecycle.signal);
    collectGarbage();
    const loops = { objects, naming, clock: systemClock, logger };
    await ensureSystemNamespaces(objects, naming, lifecycle.signal);
    await ensureSystemPriorityClasses(objects, naming, lifecycle.signal);
    await reconcileBootstrapPolicy(loops, lifecycle.signal);
    rolesMade();
    if (config.enableBootstrapTokenAuth) {
      const info = { server: `https://${address()}`, authority: security.servingAuthority() };
      await ensureClusterInfo(objects, naming, info, lifecycle.signal);
    }
    const trust = () => security.trust();
    lifecycle.spawn("authentication trust", (signal) =>
      runAuthenticationTrust({ ...loops, trust }, signal),
    );
    if (config.runControllers) {
      const rootAuthority = await rootAuthorityOf(config, () => security.servingAuthority());
      const serviceAccounts = { issuer: tokenKeys.issuer, rootAuthority };
      lifecycle.spawn("controllers", (signal) =>
        runControllers({ ...loops, serviceAccounts, controllers: config.controllers }, signal),
      );
    }
    spawnCompactor(config, store, lifecycle, logger);
    lifecycle.spawn("codec warm-up", (signal) => warmCodecs(table, signal));
    viewLoaded();
  })();

  const close = async () => {
    ticker.endAll();
    await opened.close(config.shutdownGracePeriodMs);
    await lifecycle[Symbol.asyncDispose]();
    await authorization[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  return {
    url,
    kubeconfigPath: resolve(kubeconfigPath),
    storeDescription: config.isEmbedded
      ? `embedded store in ${resolve(config.dataDir)}`
      : `etcd at ${config.etcdServers.join(", ")}, prefix ${config.etcdPrefix}`,
    ready,
    async shutDown() {
      isShuttingDown = true;
      await systemClock.sleep(config.shutdownDelayMs, lifecycle.signal);
      await ticker.endAllOver(config.shutdownWatchTerminationGracePeriodMs, lifecycle.signal);
      await close();
    },
    [Symbol.asyncDispose]: close,
  };
}

interface Access {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
}

/** Codecs are compiled on first use; done ahead, one at a time, the first writes are quick as well. */
async function warmCodecs(table: ResourceTable, signal: AbortSignal): Promise<void> {
  for (const { codec, kind, group, version } of table.all) {
    await new Promise((resolve) => setImmediate(resolve));
    if (signal.aborted) return;
    const apiVersion = formatGroupVersion({ group, version });
    const { object } = codec.decode({ kind, apiVersion, metadata: {} });
    codec.applyDefaults(object);
    codec.encode(object);
  }
}

/** The facts' own rules; what they and the hand-written ones disagree about is counted (S1-FEAT-07). */
function declarativeOf(
  { features }: Config,
  model: SchemaModel,
  metrics: Metrics,
): DeclarativeValidation {
  const mismatches = metrics.counter({
    name: "declarative_validation_mismatch_total",
    help: "Fields about which declarative and handwritten validation disagreed.",
    labelNames: ["validation_identifier"],
  });
  return createDeclarativeValidation({
    model,
    isGateEnabled: (gate) => (features as Readonly<Record<string, boolean>>)[gate] === true,
    onMismatch: ({ group, resource }) => mismatches.add(1, `${group}/${resource}`),
  });
}

function negotiatorOf({ naming, features }: Config): Negotiator {
  return createNegotiator(naming, { hasCbor: features.CBORServingAndStorage });
}

function describeFeatures(features: Features) {
  return Object.entries(FEATURE_GATES).map(([name, { stage }]) => ({
    name,
    // As upstream labels it: what is generally available has no stage.
    stage: stage === "GA" ? "" : stage,
    isEnabled: features[name as keyof Features],
  }));
}

function reachableHost({ bindAddress }: Config): string {
  if (bindAddress === "0.0.0.0" || bindAddress === "::") return "127.0.0.1";
  return bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
}

/** What readiness means: the store answers, the view follows it, and we are not going down. */
function addChecks(
  health: Health,
  { view, freshness }: Views,
  isShuttingDown: () => boolean,
): void {
  health.add(
    {
      name: "etcd",
      async check() {
        await freshness.fresh();
      },
    },
    ["readyz", "healthz"],
  );
  health.add(
    {
      name: "informer-sync",
      check() {
        if (!view.isSynced) throw new Error("the view is loading");
      },
    },
    ["readyz"],
  );
  health.add(
    {
      name: "shutdown",
      check() {
        if (isShuttingDown()) throw new Error("the process is shutting down");
      },
    },
    ["readyz"],
  );
}

interface VerbParts {
  readonly config: Config;
  readonly registry: Registry;
  readonly freshness: FreshnessBarrier;
  readonly model: SchemaModel;
  readonly protobuf: ProtobufCodecs;
  readonly authorizer: Authorizer;
  readonly metrics: Metrics;
  readonly ticker: WatchTicker;
}

function verbsOf(parts: VerbParts): VerbHandlers {
  const { config, registry, freshness, model, protobuf, authorizer, metrics, ticker } = parts;
  const { naming, store, view } = registry;
  const representations = createRepresentationSource(naming, negotiatorOf(config), {
    printerOf: createPrinters(naming),
    protobuf,
  });
  const reads = {
    naming,
    reader: createViewReader(view, freshness),
    representations,
    ...(config.features.APIResponseCompression && {
      compression: { minBytes: config.responseCompressionMinBytes },
    }),
    countWatchEvents: watchEventCounter(metrics),
  };
  const lists = {
    ...reads,
    history: new HistoricalReader(store, view),
    usesSnapshots: config.features.ListFromCacheSnapshot,
    largeLists: { bytes: LARGE_LIST_BYTES, count: largeListCounter(metrics) },
  };
  metrics.gauge(
    {
      name: "apiserver_historical_list_fallbacks_total",
      help: "Lists at a revision that memory no longer held, read from the store.",
      labelNames: [],
    },
    (set) => set(lists.history.fallbacks),
  );
  const minRequestTimeoutMs = config.minRequestTimeoutSeconds * 1000;
  const watches = { ...reads, ticker, minRequestTimeoutMs };
  const writes = {
    registry,
    representations,
    decoders: { naming, protobuf, hasCbor: config.features.CBORServingAndStorage },
    authorizeCreate: verbAuthorizer(authorizer, "create"),
    ...(config.features.AllowUnsafeMalformedObjectDeletion && {
      authorizeUnsafeDelete: verbAuthorizer(authorizer, "unsafe-delete-ignore-read-errors"),
    }),
    strategicMergeOf: createStrategicMerges(model),
  };
  return {
    get: (ctx, resource) => handleGet(ctx, resource, reads),
    list: (ctx, resource) => handleList(ctx, resource, lists),
    watch: (ctx, resource) => handleWatch(ctx, resource, watches),
    create: (ctx, resource) => handleCreate(ctx, resource, writes),
    update: (ctx, resource) => handleUpdate(ctx, resource, writes),
    patch: (ctx, resource) => handlePatch(ctx, resource, writes),
    delete: (ctx, resource) => handleDelete(ctx, resource, writes),
    deletecollection: (ctx, resource) => handleDeleteCollection(ctx, resource, writes),
  };
}

/**
 * Asks for a permission besides the one of the request's own verb: to create by a PUT (S1-GEN-18),
 * to delete what cannot be read (S1-UNS-03).
 */
function verbAuthorizer(authorizer: Authorizer, verb: string) {
  return async ({ state }: RequestContext): Promise<void> => {
    const { user, info } = state;
    const attributes = { user, info: { ...info, verb } };
    const { decision, reason } = await authorizer.authorize(attributes, state);
    if (decision !== "allow") throw denial(attributes, reason);
  };
}

/** One cell per resource: the fan-out to watchers only adds a number. */
function watchEventCounter(metrics: Metrics): (resource: ServedResource, events: number) => void {
  const cells = new Map<ServedResource, CounterCell>();
  return (resource, events) => {
    let cell = cells.get(resource);
    if (cell === undefined) {
      cell = metrics.watchEvents.cell(resource.group, resource.version, resource.resource);
      cells.set(resource, cell);
    }
    cell.value += events;
  };
}

function largeListCounter(metrics: Metrics): (encoding: string) => void {
  const lists = metrics.counter({
    name: "apiserver_costly_large_lists_total",
    help: "Lists of more than 100 MB in an encoding that is not recommended for them.",
    labelNames: ["encoding"],
  });
  return (encoding) => lists.add(1, encoding);
}

interface DocumentParts {
  readonly config: Config;
  readonly build: BuildInfo;
  readonly facts: Facts;
  readonly table: ResourceTable;
  readonly health: Health;
  readonly address: () => string;
}

/** Discovery, version and OpenAPI by path. */
function documentsOf(parts: DocumentParts): Record<string, DocumentHandler> {
  const { config, build, facts, table, health, address } = parts;
  const served = {
    naming: config.naming,
    model: facts.model,
    resources: table.servedFacts,
    groupVersions: facts.groupVersions,
  };
  const discovery = createDiscovery({
    ...served,
    build,
    serverAddress: address,
    otherPaths: [
      "/healthz",
      "/livez",
      "/metrics",
      "/openapi/v2",
      "/openapi/v3",
      "/readyz",
      ...health.names("readyz").map((name) => `/readyz/${name}`),
    ],
  });
  const openApi = createOpenApi({
    ...served,
    title: "Keelson",
    apiVersion: formatApiVersion(build),
    objectMediaTypes: ["application/json", "application/yaml", config.naming.protobufMediaType],
    defaults: facts.defaults,
    versionMembers: Object.keys(toVersionInfo(build, process)),
  });
  const discover: DocumentHandler = async (path, headers) =>
    found(await discovery.handle(path, documentHeaders(headers)));
  const describe: DocumentHandler = async (path, headers, query) =>
    found(await openApi.handle(path, documentHeaders(headers), query.get("hash")));
  return {
    "/": discover,
    "/version": discover,
    "/api": discover,
    "/api/*": discover,
    "/apis": discover,
    "/apis/*": discover,
    "/openapi/v2": describe,
    "/openapi/v3": describe,
    "/openapi/v3/*": describe,
  };
}

/** @throws {StatusError} 404 for a path below a known one that stands for nothing */
function found(document: DocumentResponse | undefined): DocumentResponse {
  if (document === undefined) throw routeNotFound();
  return document;
}
