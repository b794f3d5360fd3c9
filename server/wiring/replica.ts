/**
 * Wiring: from one Config to a running replica. This folder, with one file for each part, is the only
 * one that names concrete classes: here every object is built, in order, handed what it needs, and
 * closed in reverse.
 */
import { resolve } from "node:path";
import { assert } from "../../storage/base/assert.js";
import { systemClock } from "../../storage/base/clock.js";
import { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import { AuditLog, openAuditTarget } from "../audit/audit-log.js";
import { createProtobufCodecs } from "../codec/protobuf.js";
import type { Config } from "../config/config.js";
import { FEATURE_GATES, type Features } from "../config/feature-gates.js";
import { createLocalObjects } from "../controllers/local-objects.js";
import type { BuildInfo } from "../endpoints/discovery/version.js";
import { isServedPath, withResourceVerbs } from "../endpoints/dispatch.js";
import { WatchTicker } from "../endpoints/reads/watch-ticker.js";
import { createStatusEncoder } from "../endpoints/representations/status-encoder.js";
import { createApplication } from "../http/application.js";
import { withAudit } from "../http/audit.js";
import { withFreshCredentials, withFreshPolicy } from "../http/freshness.js";
import { Health } from "../http/health.js";
import { withImpersonation } from "../http/impersonation.js";
import { InFlightLimits } from "../http/in-flight.js";
import { Listener } from "../http/listener.js";
import { Metrics } from "../http/metrics.js";
import { requestChain } from "../http/request-chain.js";
import { createRoutes } from "../http/routes.js";
import { withWebSocketBearer } from "../http/web-socket-bearer.js";
import { loadFacts } from "../types/load-facts.js";
import { createAuthentication } from "./authentication.js";
import { createAuthorization } from "./authorization.js";
import { collectGarbage } from "./collect-garbage.js";
import { createDocuments } from "./documents.js";
import { openEncryption } from "./encryption.js";
import { type Access, createRegistry, createServedTable, warmCodecs } from "./registry.js";
import { createSecurity } from "./security.js";
import { startReplica } from "./start.js";
import { createViews, openStore, STORE_START_MS, spawnCompactor, type Views } from "./storage.js";
import { observeStorage } from "./storage-metrics.js";
import { withStoredForm } from "./stored-form.js";
import { openTokenKeys } from "./token-keys.js";
import { createVerbs, negotiatorOf } from "./verbs.js";

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
  const protobuf = createProtobufCodecs(facts);
  const starting = AbortSignal.timeout(STORE_START_MS);
  const plainStore = await openStore(config, logger, metrics, starting);
  const encryption = await openEncryption({ config, store: plainStore, metrics, logger });
  const store = withStoredForm(config, encryption?.store ?? plainStore);
  const tokenKeys = await openTokenKeys({ config, store, logger }, starting);
  let access: Access | undefined;
  const table = createServedTable({
    config,
    facts,
    tokenKeys,
    access() {
      assert(access !== undefined, "AccessIsWired");
      return access;
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
  const registry = createRegistry({
    config,
    facts,
    table,
    store,
    storedForm: encryption?.store,
    views,
    authorization,
    metrics,
  });
  const objects = createLocalObjects(registry, table);
  observeStorage(metrics, views);

  let isShuttingDown = false;
  const inFlightLimits = new InFlightLimits({
    readOnlyMax: config.maxRequestsInflight,
    mutatingMax: config.maxMutatingRequestsInflight,
  });
  metrics.observeInFlight(() => inFlightLimits);
  addChecks(health, views, () => isShuttingDown);

  const auditLog = await openAuditLog(config, metrics, logger);
  const chain = requestChain({
    logger,
    logsSuccess: config.logLevel === "debug",
    metrics,
    encodeStatus: createStatusEncoder(naming, negotiatorOf(config), protobuf),
    audit: auditLog && withAudit({ log: auditLog, naming }),
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
        ...createDocuments({ config, build, facts, table, health, address }),
        ...authentication.documents,
      },
    }),
    handler: withResourceVerbs(
      table,
      createVerbs({
        config,
        registry,
        freshness,
        model: facts.model,
        protobuf,
        authorizer,
        metrics,
        ticker,
        logger,
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
    await authorization[Symbol.asyncDispose]();
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
    await startReplica({
      config,
      objects,
      security,
      tokenKeys,
      advertisedUrl: `https://${address()}`,
      lifecycle,
      logger,
      rolesMade,
    });
    spawnCompactor(config, store, lifecycle, logger);
    lifecycle.spawn("codec warm-up", (signal) => warmCodecs(table, signal));
    viewLoaded();
  })();

  const close = async () => {
    ticker.endAll();
    await opened.close(config.shutdownGracePeriodMs);
    await lifecycle[Symbol.asyncDispose]();
    await authorization[Symbol.asyncDispose]();
    await auditLog?.[Symbol.asyncDispose]();
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

/** Undefined when nothing is to be recorded. @throws {Error} with one line: it cannot be written */
async function openAuditLog(
  { auditLogPath: path }: Config,
  metrics: Metrics,
  logger: Logger,
): Promise<AuditLog | undefined> {
  if (path === "") return undefined;
  const target = await openAuditTarget(path).catch((cause: Error) => {
    throw new Error(`--audit-log-path: ${cause.message}`, { cause });
  });
  const count = (name: string, help: string) =>
    metrics.counter({ name: `apiserver_audit_${name}_total`, help, labelNames: [] });
  const events = count("event", "Audit events that were made.");
  const errors = count("error", "Audit events that were dropped, as the log could not take them.");
  const onEvent = (isDropped: boolean) => (isDropped ? errors : events).add(1);
  return new AuditLog({ target, logger, onEvent });
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
