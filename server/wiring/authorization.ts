/**
 * Wiring of authorization: the authorizers, from flags or a watched file, and the guards against
 * privilege escalation.
 */
import { readFile } from "node:fs/promises";
import { type Cleanup, openAll } from "../../storage/base/cleanup.js";
import { systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { SharedBytes } from "../../storage/base/shared-bytes.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import type { AdmissionPlugin } from "../admission/admission.js";
import { readHostRoots } from "../authn/jwt/host-roots.js";
import { AbacAuthorizer } from "../authz/abac.js";
import { alwaysAllow } from "../authz/always-allow.js";
import { alwaysDeny } from "../authz/always-deny.js";
import type { ChainMember } from "../authz/configuration/authorizer-chain.js";
import { toAuthorizationConfiguration } from "../authz/configuration/legacy-modes.js";
import { ReloadableAuthorizer } from "../authz/configuration/reloadable-authorizer.js";
import { Impersonation } from "../authz/impersonation.js";
import { createImpersonationMetrics } from "../authz/impersonation-metrics.js";
import { type AuthorizationMetrics, createAuthorizationMetrics } from "../authz/metrics.js";
import { NodeAuthorizer } from "../authz/node/node-authorizer.js";
import { PrivilegedGroupsAuthorizer } from "../authz/privileged-groups.js";
import { createGrantGuards } from "../authz/rbac/grant-guard.js";
import { RbacAuthorizer } from "../authz/rbac/rbac-authorizer.js";
import { RbacIndex } from "../authz/rbac/rbac-index.js";
import { createConditionCompiler } from "../authz/webhook/condition-environment.js";
import type { RedisDecisionCache } from "../authz/webhook/redis-decision-cache.js";
import { runFileWatch } from "../certificates/file-watch.js";
import type { ReloadObservers } from "../certificates/followed-files.js";
import { parseAuthorities, warnOfAuthorities } from "../client/authorities.js";
import type { Config } from "../config/config.js";
import type { Metrics } from "../metrics/metrics.js";
import { createGrantGuardPlugin } from "../registry/rbac/grant-guard-plugin.js";
import { createDeviceGuard } from "../registry/resource/device-guard.js";
import { MASTERS_GROUP } from "../request/user-info.js";
import { serverIdHash } from "./authentication.js";
import type { ObserveReload } from "./count-reloads.js";

export interface Authorization extends AsyncDisposable {
  readonly authorizer: ReloadableAuthorizer;
  readonly impersonation: Impersonation;
  /** The bindings, whether RBAC is asked or not. */
  readonly bindings: Pick<RbacIndex, "namesUser" | "namesGroup">;
  /** Refuse roles and bindings that grant more than their author has. */
  readonly guards: readonly AdmissionPlugin[];
  /** Follows the files. */
  spawn(lifecycle: Lifecycle, onReload: ObserveReload): void;
}

export interface AuthorizationParts {
  readonly config: Config;
  readonly view: RegistryView;
  /** Identifies the store's installation, whose replicas may share decisions. */
  readonly installation: string;
  /** Who vouches for webhooks that name nobody; default: whom the host believes. */
  readonly hostRoots?: readonly string[];
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** What cached decisions count in. */
  readonly caches: SharedBytes;
}

/** @throws {Error} with one line: an unusable mode, configuration or file */
export function createAuthorization(parts: AuthorizationParts): Promise<Authorization> {
  return openAll((opened) => openAuthorizers(parts, opened));
}

async function openAuthorizers(parts: AuthorizationParts, opened: Cleanup): Promise<Authorization> {
  const { config, view, metrics, logger } = parts;
  const { naming } = config;
  const observed = createAuthorizationMetrics(metrics, serverIdHash());
  const shared = await openSharedDecisions(config, observed, logger);
  if (shared !== undefined) opened.use(shared.decisions);
  const index = new RbacIndex(view, naming, parts.caches);
  const rbac = new RbacAuthorizer(index);
  const authorizer = await ReloadableAuthorizer.open({
    source:
      config.authorizationConfig === ""
        ? { configuration: toAuthorizationConfiguration(config) }
        : { file: config.authorizationConfig },
    first: [new PrivilegedGroupsAuthorizer([MASTERS_GROUP])],
    memberOf: (type) => memberOf(type, { config, view, rbac }),
    compile: createConditionCompiler(naming),
    ...(shared !== undefined && { shared: shared.decisions }),
    installation: parts.installation,
    defaultAuthorities: parts.hostRoots ?? (await readHostRoots(process.env.SSL_CERT_FILE)),
    naming,
    metrics: observed,
    clock: systemClock,
    logger,
  });
  opened.defer(() => authorizer.close());
  return {
    authorizer,
    bindings: index,
    impersonation: new Impersonation({
      authorizer,
      naming,
      isConstrained: config.features.ConstrainedImpersonation,
      metrics: createImpersonationMetrics(metrics),
    }),
    // In every mode: objects stored today take effect when RBAC is switched on.
    guards: [
      createGrantGuardPlugin(createGrantGuards({ index, rbac, authorizer })),
      createDeviceGuard({
        view,
        naming,
        authorizer,
        hasStatusRights: config.features.DRAResourceClaimGranularStatusAuthorization,
      }),
    ],
    spawn(lifecycle, onReload) {
      lifecycle.spawn("authorization configuration", "restart", (signal) => authorizer.run(signal));
      if (shared === undefined) return;
      shared.spawn(lifecycle, { logger, onReload });
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

function withoutNewline(text: string): string {
  return text.replace(/\r?\n$/, "");
}

interface MemberParts {
  readonly config: Config;
  readonly view: RegistryView;
  readonly rbac: RbacAuthorizer;
}

async function memberOf(type: string, { config, view, rbac }: MemberParts): Promise<ChainMember> {
  switch (type) {
    case "RBAC":
      return rbac;
    case "Node":
      return new NodeAuthorizer(view, config.naming);
    case "ABAC": {
      const path = config.authorizationPolicyFile;
      if (path === "") {
        throw new RangeError("authorization-mode ABAC's authorization policy file not passed");
      }
      return new AbacAuthorizer(config.naming, path, await readFile(path, "utf8"));
    }
    case "AlwaysAllow":
      return alwaysAllow;
    case "AlwaysDeny":
      return alwaysDeny;
    default:
      throw new RangeError(`authorizer type ${JSON.stringify(type)} is not known`);
  }
}

interface SharedDecisions {
  readonly decisions: RedisDecisionCache;
  /** Follows the files of Redis. */
  spawn(lifecycle: Lifecycle, observers: ReloadObservers): void;
}

/** @throws {RangeError} with one line */
async function openSharedDecisions(
  config: Config,
  metrics: AuthorizationMetrics,
  logger: Logger,
): Promise<SharedDecisions | undefined> {
  const url = config.authorizationWebhookCacheRedis;
  if (url === "") return undefined;
  // Loaded only if used: the client costs memory and start-up time.
  const redis = await import("../authz/webhook/redis-decision-cache.js");
  const connection = redis.parseRedisUrl(url);
  const passwordFile = config.authorizationWebhookCacheRedisPasswordFile;
  const caFile = config.authorizationWebhookCacheRedisCaFile;
  const [password, ca] = await Promise.all(
    [passwordFile, caFile].map((file) => (file === "" ? undefined : readFile(file, "utf8"))),
  );
  if (ca !== undefined) {
    const source = "--authorization-webhook-cache-redis-cafile";
    const given = { source, file: caFile, bundle: ca, vouchFor: "servers" } as const;
    warnOfAuthorities(logger, given, systemClock.now());
  }
  const decisions = new redis.RedisDecisionCache({
    connection: {
      ...connection,
      password: password === undefined ? connection.password : withoutNewline(password),
    },
    ...(ca === undefined ? {} : { ca }),
    clock: systemClock,
    logger,
    metrics,
  });
  const followed = [
    {
      ...{ what: "password of Redis", file: passwordFile, inForce: password },
      apply: ([text = ""]: readonly string[]) => decisions.replacePassword(withoutNewline(text)),
    },
    {
      ...{ what: "authorities of Redis", file: caFile, inForce: ca },
      apply: ([bundle = ""]: readonly string[]) => {
        if (parseAuthorities(bundle).length === 0) throw new Error("there is no PEM certificate");
        decisions.replaceAuthorities(bundle);
      },
    },
  ];
  return {
    decisions,
    spawn(lifecycle, observers) {
      for (const { what, file, inForce, apply } of followed) {
        if (file === "") continue;
        const watch = {
          files: [file],
          inForce: [inForce],
          apply,
          clock: systemClock,
          ...observers,
        };
        lifecycle.spawn(what, "restart", (signal) => runFileWatch(watch, signal));
      }
    },
  };
}
