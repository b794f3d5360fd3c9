/**
 * Builds the authorizers of a loaded configuration, in order (S2-AZ-02, S2-AZ-07). Webhooks are created
 * here; the others (RBAC, Node, ABAC, AlwaysAllow, AlwaysDeny) were created at the start and are passed
 * in. A webhook with an unchanged configuration is taken over from the previous chain with its cache.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import type { Naming } from "../../api/naming.js";
import { warnOfAuthorities } from "../../client/authorities.js";
import type { ClientConfig } from "../../client/client-config.js";
import { openClient } from "../../client/open-client.js";
import { type Backoff, ReviewClient } from "../../client/review-client.js";
import type { LazySignal } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  UnionAuthorizer,
} from "../authorizer.js";
import type { AuthorizationMetrics } from "../metrics.js";
import { combineRules, type RulesSource, type SubjectRules, unlistable } from "../subject-rules.js";
import type { AccessReviewVersion } from "../webhook/access-review.js";
import type { SharedDecisionCache } from "../webhook/decision-cache.js";
import { type FailurePolicy, WebhookAuthorizer } from "../webhook/webhook-authorizer.js";
import {
  AuthorizationConfigurationError,
  type AuthorizerConfiguration,
  WEBHOOK_TYPE,
  type WebhookConfiguration,
} from "./authorization-configuration.js";
import type { LoadedConfiguration } from "./load-configuration.js";

/** An authorizer that may also list a user's permissions. */
export type ChainMember = Authorizer & Partial<RulesSource>;

/** The given authorizers, by their type in a configuration. */
export interface ChainMembers {
  /** Asked first, whatever the configuration: system:masters. */
  readonly first: readonly Authorizer[];
  readonly byType: Readonly<Record<string, ChainMember>>;
}

export interface ChainSurroundings {
  readonly members: ChainMembers;
  readonly naming: Naming;
  /** The cache that replicas share; undefined = each has only its own. */
  readonly shared?: SharedDecisionCache;
  /**
   * A value that only the replicas of this installation share, for example the id of their token signing
   * key. With it they share decisions although each has its own credentials; without it only replicas
   * with equal credentials do.
   */
  readonly installation?: string;
  readonly metrics: AuthorizationMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** PEM bundles to trust if a client configuration names none; default: Node's own. */
  readonly defaultAuthorities?: readonly string[];
  /** The backoff between calls of a failing webhook. */
  readonly backoff?: Backoff;
}

interface Webhook {
  readonly digest: string;
  readonly authorizer: WebhookAuthorizer;
  close(): void;
}

export class AuthorizerChain implements Authorizer, RulesSource {
  readonly name = "chain";
  readonly #union: UnionAuthorizer;
  readonly #rules: RulesSource;
  readonly #webhooks: ReadonlyMap<string, Webhook>;

  constructor(union: UnionAuthorizer, rules: RulesSource, webhooks: ReadonlyMap<string, Webhook>) {
    this.#union = union;
    this.#rules = rules;
    this.#webhooks = webhooks;
  }

  authorize(
    attributes: AuthorizationAttributes,
    signal: LazySignal,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    return this.#union.authorize(attributes, signal);
  }

  rulesFor(
    user: UserInfo,
    namespace: string,
    signal: AbortSignal,
  ): SubjectRules | Promise<SubjectRules> {
    return this.#rules.rulesFor(user, namespace, signal);
  }

  /** The webhook of that name, if its configuration has this digest. */
  webhook(name: string, digest: string): Webhook | undefined {
    const webhook = this.#webhooks.get(name);
    return webhook?.digest === digest ? webhook : undefined;
  }

  /** Closes connections of webhooks that the next chain does not use. */
  close(next?: AuthorizerChain): void {
    for (const [name, webhook] of this.#webhooks) {
      if (next?.webhook(name, webhook.digest) !== webhook) webhook.close();
    }
  }
}

/**
 * The authorizers of a configuration, in its order.
 * @param before the current chain, whose unchanged webhooks are taken over
 * @throws {AuthorizationConfigurationError} an unknown type, or an invalid client config
 */
export function buildAuthorizerChain(
  loaded: LoadedConfiguration,
  surroundings: ChainSurroundings,
  before?: AuthorizerChain,
): AuthorizerChain {
  const { members, metrics } = surroundings;
  const authorizers: Authorizer[] = [...members.first];
  const rules: RulesSource[] = [];
  const webhooks = new Map<string, Webhook>();
  for (const configured of loaded.configuration.authorizers) {
    const { type, name, webhook } = configured;
    if (type === WEBHOOK_TYPE && webhook !== undefined) {
      const made = makeWebhook(configured, webhook, loaded, surroundings, before);
      webhooks.set(name, made);
      authorizers.push(withDecisionCount(made.authorizer, type, name, metrics));
      rules.push(unlistable("webhook"));
      continue;
    }
    const member = members.byType[type];
    if (member === undefined) {
      throw new AuthorizationConfigurationError(`authorizer type ${type} is not available`);
    }
    authorizers.push(withDecisionCount(member, type, name, metrics));
    rules.push(isRulesSource(member) ? member : unlistable(type));
  }
  return new AuthorizerChain(new UnionAuthorizer(authorizers), combineRules(rules), webhooks);
}

function makeWebhook(
  { name }: AuthorizerConfiguration,
  webhook: WebhookConfiguration,
  { clients, conditions }: LoadedConfiguration,
  surroundings: ChainSurroundings,
  before: AuthorizerChain | undefined,
): Webhook {
  const { naming, clock, logger, metrics, shared, installation, backoff } = surroundings;
  const config = clients.get(webhook.connectionInfo.kubeConfigFile);
  if (config === undefined || config instanceof Error) {
    throw problemOf(name, config?.message ?? "no client configuration", config);
  }
  if (!config.server.startsWith("https://")) {
    const path = webhook.connectionInfo.kubeConfigFile;
    throw problemOf(name, `${path}: server must be an https address`);
  }
  const digest = digestOf([naming.vendor, name, webhook, config]);
  const known = before?.webhook(name, digest);
  if (known !== undefined) return known;

  const { defaultAuthorities } = surroundings;
  const client = openClient(config, {
    clock,
    timeoutMs: webhook.timeoutMs,
    ...(defaultAuthorities === undefined ? {} : { defaultAuthorities }),
  });
  if (config.ca !== undefined) {
    const file = webhook.connectionInfo.kubeConfigFile;
    const given = { source: "certificate-authority", file, bundle: config.ca } as const;
    warnOfAuthorities(logger, { ...given, vouchFor: "servers" }, clock.now());
  }
  const reviews = new ReviewClient({
    client,
    clock,
    onCall: (result, durationMs) => metrics.called(name, result, durationMs),
    ...(backoff === undefined ? {} : { backoff }),
  });
  const authorizer = new WebhookAuthorizer({
    name,
    configurationDigest: sharedDigest(webhook, config, naming, installation),
    reviews,
    naming,
    clock,
    logger,
    metrics,
    ...(shared === undefined ? {} : { shared }),
    version: webhook.subjectAccessReviewVersion as AccessReviewVersion,
    failurePolicy: webhook.failurePolicy as FailurePolicy,
    conditions: conditions.get(name) ?? [],
    authorizedTtlMs: webhook.cacheAuthorizedRequests ? webhook.authorizedTtlMs : 0,
    unauthorizedTtlMs: webhook.cacheUnauthorizedRequests ? webhook.unauthorizedTtlMs : 0,
  });
  return { digest, authorizer, close: () => client.close() };
}

/**
 * The inputs of a shared decision besides name and question. Another installation may get other answers
 * from the same webhook, which sees the caller's credentials.
 */
function sharedDigest(
  { connectionInfo, ...webhook }: WebhookConfiguration,
  { user, ...endpoint }: ClientConfig,
  { vendor }: Naming,
  installation: string | undefined,
): string {
  const asker = installation ?? { user, file: connectionInfo.kubeConfigFile };
  return digestOf([vendor, webhook, endpoint, asker]);
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

function problemOf(name: string, why: string, cause?: unknown): AuthorizationConfigurationError {
  const message = `authorizer ${JSON.stringify(name)}: ${why}`;
  return new AuthorizationConfigurationError(message, cause === undefined ? undefined : { cause });
}

/** Counts an authorizer's allows and denies; no opinion is not terminal and not counted. */
function withDecisionCount(
  authorizer: Authorizer,
  type: string,
  name: string,
  metrics: AuthorizationMetrics,
): Authorizer {
  const count = (result: AuthorizationResult) => {
    if (result.decision === "allow") metrics.decided(type, name, "allowed");
    else if (result.decision === "deny") metrics.decided(type, name, "denied");
    return result;
  };
  return {
    name,
    authorize(attributes, signal) {
      const answer = authorizer.authorize(attributes, signal);
      return answer instanceof Promise ? answer.then(count) : count(answer);
    },
  };
}

function isRulesSource(member: ChainMember): member is Authorizer & RulesSource {
  return member.rulesFor !== undefined;
}
