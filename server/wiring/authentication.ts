/**
 * Wiring of authentication: the authenticators from the flags, with the keys and the issuer of
 * service account tokens, discovery documents and reloading.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { type Cleanup, openAll } from "../../storage/base/cleanup.js";
import { type Clock, systemClock } from "../../storage/base/clock.js";
import type { Lifecycle } from "../../storage/base/lifecycle.js";
import type { Logger } from "../../storage/base/logger.js";
import type { SharedBytes } from "../../storage/base/shared-bytes.js";
import type { RegistryView } from "../../storage/cache/registry-view.js";
import { partitionId } from "../../storage/objects/keys.js";
import { AnonymousAuthenticator } from "../authn/anonymous.js";
import { type Authenticator, UnionAuthenticator } from "../authn/authenticator.js";
import { BootstrapTokenAuthenticator } from "../authn/bootstrap-token.js";
import { identityHeaders } from "../authn/identity-headers.js";
import {
  anonymousWarning,
  type CheckedAuthentication,
  checkAuthentication,
} from "../authn/jwt/flags.js";
import { readHostRoots } from "../authn/jwt/host-roots.js";
import { JwtAuthenticator } from "../authn/jwt/jwt-authenticator.js";
import { createAuthenticationMetrics } from "../authn/jwt/metrics.js";
import { BoundObjects } from "../authn/service-account/bound-objects.js";
import { createIssuerDiscovery } from "../authn/service-account/issuer-discovery.js";
import { LegacyTokenUses } from "../authn/service-account/legacy-token-uses.js";
import {
  ServiceAccountAuthenticator,
  type ServiceAccountObserver,
} from "../authn/service-account/service-account-authenticator.js";
import { parseTokenFile, TokenFileAuthenticator } from "../authn/token-file.js";
import { UnknownBearerAuthenticator } from "../authn/unknown-bearer.js";
import type { TokenReviewVersion } from "../authn/webhook/token-review.js";
import { TokenWebhookAuthenticator } from "../authn/webhook/token-webhook-authenticator.js";
import { runFileWatch } from "../certificates/file-watch.js";
import { ReviewClient } from "../client/review-client.js";
import type { Config } from "../config/config.js";
import type { DocumentHandler } from "../http/routes.js";
import type { Metrics } from "../metrics/metrics.js";
import type { UserInfo } from "../request/user-info.js";
import type { ObserveReload } from "./count-reloads.js";
import { openFollowedWebhook } from "./followed-webhook.js";
import { requireCertificates } from "./require-certificates.js";
import type { Security } from "./security.js";
import type { TokenKeys } from "./token-keys.js";

export interface Authentication extends AsyncDisposable {
  /** Those that do not read this registry, which control planes below have as well. */
  readonly common: CommonAuthenticators;
  readonly authenticator: Authenticator;
  /** Whether it is a user of the root that nothing here names; absent = nobody is. */
  readonly isStranger?: (user: UserInfo) => boolean;
  /** Headers that state an identity; removed after authentication. */
  isIdentityHeader(name: string): boolean;
  /** Paths at which others find the public keys of service account tokens. */
  readonly documents: Readonly<Record<string, DocumentHandler>>;
  readonly legacyTokenUses: LegacyTokenUses;
  /** Follows files and issuers. */
  spawn(lifecycle: Lifecycle, onReload: ObserveReload): void;
}

export interface AuthenticationParts {
  /** Of what objects and tokens say about time. */
  readonly clock: Clock;
  readonly config: Config;
  readonly security: Security;
  readonly tokenKeys: TokenKeys;
  readonly view: RegistryView;
  readonly metrics: Metrics;
  readonly logger: Logger;
  /** What caches of the registry's own credentials count in. */
  readonly caches: SharedBytes;
  /** Whether AlwaysAllow is one of the authorizers. */
  readonly isOpenToAll: boolean;
  /** "host:port" for clients of this replica. */
  readonly serverAddress: () => string;
}

export interface CommonAuthenticators {
  /** Asked before those of the registry, and behind them. */
  readonly before: readonly Authenticator[];
  readonly after: readonly Authenticator[];
}

/** @throws {Error} with one line: an unusable file */
export function createAuthentication(parts: AuthenticationParts): Promise<Authentication> {
  return openAll((opened) => openAuthenticators(parts, opened));
}

async function openAuthenticators(
  parts: AuthenticationParts,
  opened: Cleanup,
): Promise<Authentication> {
  const { config, security, tokenKeys, logger } = parts;
  const { naming } = config;
  const jwt = await createJwt(parts);
  const before: Authenticator[] = [];
  if (security.frontProxy !== undefined) before.push(security.frontProxy);
  before.push(security.certificates);
  if (config.tokenAuthFile !== "") {
    const text = await readFile(config.tokenAuthFile, "utf8");
    before.push(new TokenFileAuthenticator(parseTokenFile(config.tokenAuthFile, text, logger)));
  }
  const legacyTokenUses = new LegacyTokenUses(naming, parts.clock);
  const own = registryAuthenticators({ ...parts, legacyTokenUses });
  const after: Authenticator[] = [jwt.authenticator];
  const webhook = await openTokenWebhook(parts, opened);
  if (webhook !== undefined) after.push(webhook.authenticator);
  const members = [...before, ...own, ...after, new UnknownBearerAuthenticator()];
  return {
    common: { before, after },
    authenticator: new UnionAuthenticator(members, jwt.anonymous),
    isIdentityHeader: identityHeaders(security.frontProxyHeaders),
    documents: createIssuerDiscovery({ ...tokenKeys, serverAddress: parts.serverAddress }),
    legacyTokenUses,
    spawn(lifecycle, onReload) {
      jwt.spawn(lifecycle);
      webhook?.spawn(lifecycle, onReload);
    },
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** Those whose credentials are objects of this registry. */
export function registryAuthenticators({
  config,
  clock,
  tokenKeys,
  view,
  metrics,
  caches,
  legacyTokenUses,
  verifiedTokensMax,
}: Pick<AuthenticationParts, "config" | "clock" | "tokenKeys" | "view" | "metrics" | "caches"> & {
  readonly legacyTokenUses: LegacyTokenUses;
  readonly verifiedTokensMax?: number;
}): readonly Authenticator[] {
  const { naming } = config;
  const accounts = new ServiceAccountAuthenticator({
    keys: tokenKeys.keys,
    settings: tokenKeys.settings,
    objects: new BoundObjects(view),
    naming,
    clock,
    observer: observeTokens(metrics),
    legacyUses: legacyTokenUses,
    caches,
    ...(verifiedTokensMax !== undefined && { verifiedTokensMax }),
  });
  if (!config.enableBootstrapTokenAuth) return [accounts];
  const secrets = view.partition(partitionId("", "secrets"));
  return [accounts, new BootstrapTokenAuthenticator({ secrets, naming, clock })];
}

/** kube-apiserver's counters of service account tokens. */
function observeTokens(metrics: Metrics): ServiceAccountObserver {
  const count = (kind: string, help: string) =>
    metrics.counter({ name: `serviceaccount_${kind}_tokens_total`, help });
  const counters = {
    bound: count("valid", "Bound tokens that were accepted in their time."),
    stale: count("stale", "Bound tokens that were accepted after the end that they state."),
    legacy: count("legacy", "Tokens out of Secrets that were accepted."),
  };
  const refusals = metrics.counter({
    name: "serviceaccount_refused_tokens_total",
    help: "Tokens of service accounts that were refused, by reason.",
    labelNames: ["reason"],
  });
  const use = (kind: string, help: string) =>
    metrics.counter({ name: `serviceaccount_${kind}_token_uses_total`, help });
  const uses = {
    auto: use("legacy_auto", "Uses of tokens out of Secrets that their account lists."),
    manual: use("legacy_manual", "Uses of tokens out of other Secrets."),
    invalid: use(
      "invalid_legacy_auto",
      "Uses of tokens out of Secrets that are marked as invalid.",
    ),
  };
  return {
    accepted: (kind) => counters[kind].add(1),
    shown: (kind) => uses[kind].add(1),
    refused: (reason) => refusals.add(1, reason),
  };
}

/** OpenID Connect issuers and anonymous access, from flags or a watched file. */
async function createJwt(parts: AuthenticationParts) {
  const { config, tokenKeys, metrics, logger, isOpenToAll } = parts;
  const { naming, given, authenticationConfig, oidcCaFile } = config;
  const read = async (path: string) => (path === "" ? "" : await readFile(path, "utf8"));
  const options = {
    flags: config,
    naming,
    given,
    serviceAccountIssuers: tokenKeys.settings.issuers,
    isOpenToAll,
    hasEgressSelector: config.features.StructuredAuthenticationConfigurationEgressSelector,
    oidcAuthority: await read(oidcCaFile),
    configurationText: await read(authenticationConfig),
  };
  const checked = checkAuthentication(options);
  const warnOfAnonymous = (inForce: CheckedAuthentication) => {
    const warning = anonymousWarning(options, inForce);
    if (warning !== undefined) logger.warn({}, warning);
  };
  warnOfAnonymous(checked);
  const anonymous = new AnonymousAuthenticator(checked.anonymous);
  const observed = createAuthenticationMetrics(metrics, serverIdHash(), () => Date.now());
  if (checked.hash !== "") observed.configured(checked.hash);
  const authenticator = new JwtAuthenticator({
    credentialIdKey: `authentication.${config.naming.labelDomain}/credential-id`,
    checked,
    hostRoots: await readHostRoots(process.env.SSL_CERT_FILE),
    clock: parts.clock,
    logger,
    metrics: observed,
  });
  return {
    authenticator,
    anonymous,
    spawn(lifecycle: Lifecycle) {
      lifecycle.spawn("keys of issuers", "restart", (signal) => authenticator.run(signal));
      // Flags or a file: never both.
      const file = authenticationConfig || oidcCaFile;
      if (file === "") return;
      const apply = ([text = ""]: readonly string[]) => {
        if (authenticationConfig === "") requireCertificates("--oidc-ca-file", oidcCaFile, text);
        const changed =
          authenticationConfig === "" ? { oidcAuthority: text } : { configurationText: text };
        const next = checkAuthentication({ ...options, ...changed });
        const before = authenticator.checked.anonymous;
        authenticator.replace(next);
        anonymous.replace(next.anonymous);
        if (JSON.stringify(next.anonymous) !== JSON.stringify(before)) {
          logger.warn({ before, now: next.anonymous }, "anonymous access has changed");
          warnOfAnonymous(next);
        }
        if (next.hash !== "") observed.configured(next.hash);
      };
      lifecycle.spawn("authentication configuration", "restart", (signal) =>
        runFileWatch(
          {
            files: [file],
            inForce: [
              authenticationConfig === "" ? options.oidcAuthority : options.configurationText,
            ],
            clock: systemClock,
            logger,
            onReload: (isGood) => observed.reloaded(isGood, Date.now()),
            apply,
          },
          signal,
        ),
      );
    },
  };
}

/** Distinguishes replicas in metrics. */
export function serverIdHash(): string {
  return `sha256:${createHash("sha256").update(hostname()).digest("hex")}`;
}

/** Timeout of one call of the webhook, as kube-apiserver. */
const TOKEN_WEBHOOK_TIMEOUT_MS = 30_000;

/** Undefined: nobody is asked. @throws {ClientConfigError} with one line */
async function openTokenWebhook(
  { config, tokenKeys, logger }: AuthenticationParts,
  opened: Cleanup,
) {
  const { naming, authenticationTokenWebhookConfigFile: file } = config;
  if (file === "") return undefined;
  const clock = systemClock;
  const { client, spawn } = await openFollowedWebhook({
    file,
    naming,
    timeoutMs: TOKEN_WEBHOOK_TIMEOUT_MS,
    defaultAuthorities: await readHostRoots(process.env.SSL_CERT_FILE),
    logger,
  });
  opened.defer(() => client.close());
  const authenticator = new TokenWebhookAuthenticator({
    reviews: new ReviewClient({ client, clock }),
    version: config.authenticationTokenWebhookVersion as TokenReviewVersion,
    naming,
    cacheTtlMs: config.authenticationTokenWebhookCacheTtlMs,
    apiAudiences: tokenKeys.settings.audiences,
    clock,
    logger,
  });
  return { authenticator, spawn };
}
