/**
 * WebhookAuthorizer: delegates decisions to a service by SubjectAccessReview (S2-AZC). If its match
 * conditions hold, the decision comes from the first of
 *
 *   this process  ->  the cache that the replicas share  ->  the webhook itself
 *
 * that knows it, and all layers before it cache it for its TTL. Concurrent requests with one question
 * share one lookup and one call. If a webhook fails or its answer is invalid, the failure policy decides
 * and nothing is cached. The shared cache only saves calls: when it is down, slow or wrong, the webhook
 * is called.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import type { Naming } from "../../api/naming.js";
import { PacedLog } from "../../client/paced-log.js";
import { type ReviewClient, ReviewError } from "../../client/review-client.js";
import { SingleFlight } from "../../client/single-flight.js";
import type { LazySignal } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import {
  type AuthorizationAttributes,
  type AuthorizationResult,
  type Authorizer,
  NO_OPINION,
} from "../authorizer.js";
import type { DecisionCacheMetrics, WebhookMetrics } from "../metrics.js";
import {
  type AccessReviewVersion,
  parseAccessReviewStatus,
  type RequestAttributes,
  toAccessReview,
  toRequestAttributes,
  toUserAttributes,
} from "./access-review.js";
import { ProcessDecisionCache, type SharedDecisionCache } from "./decision-cache.js";
import { evaluateConditions, type MatchCondition } from "./match-conditions.js";

export type FailurePolicy = "NoOpinion" | "Deny";

export interface WebhookAuthorizerOptions {
  /** The configured name; a label of metrics. */
  readonly name: string;
  /** Changes with everything that may change a decision: address, credentials, versions, TTLs. */
  readonly configurationDigest: string;
  readonly reviews: Pick<ReviewClient, "ask">;
  readonly version: AccessReviewVersion;
  readonly naming: Naming;
  readonly failurePolicy: FailurePolicy;
  readonly conditions: readonly MatchCondition[];
  /** How long an allow is cached; 0 = not at all. */
  readonly authorizedTtlMs: number;
  /** How long a deny or no opinion is cached; 0 = not at all. */
  readonly unauthorizedTtlMs: number;
  readonly shared?: SharedDecisionCache;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: WebhookMetrics & DecisionCacheMetrics;
}

/**
 * Longer questions are not cached: the client chooses their text and could fill the caches. The
 * user's part does not count, because no client chooses it.
 */
const REQUEST_CHARS_MAX = 10_000;

export class WebhookAuthorizer implements Authorizer {
  readonly name: string;
  readonly #options: WebhookAuthorizerOptions;
  readonly #isCaching: boolean;
  readonly #process: ProcessDecisionCache;
  readonly #log: PacedLog;
  readonly #flights = new SingleFlight<AuthorizationResult>();
  /** The user's part of the question; users are frozen, one per connection or token. */
  readonly #userTexts = new WeakMap<UserInfo, string>();

  constructor(options: WebhookAuthorizerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#isCaching = options.authorizedTtlMs > 0 || options.unauthorizedTtlMs > 0;
    this.#process = new ProcessDecisionCache(options.clock);
    this.#log = new PacedLog(options.clock, options.logger);
  }

  authorize(
    { user, info }: AuthorizationAttributes,
    signal: LazySignal,
  ): AuthorizationResult | Promise<AuthorizationResult> {
    const request = toRequestAttributes(info);
    if (this.#options.conditions.length > 0) {
      const result = this.#checkConditions(request, user);
      if (result !== undefined) return result;
    }
    const requestText = JSON.stringify(request);
    if (!this.#isCaching || requestText.length > REQUEST_CHARS_MAX) {
      return this.#call(request, user, signal.signal);
    }
    const question = requestText + this.#textOf(user);
    const known = this.#process.get(question);
    if (known !== undefined) {
      this.#options.metrics.hit("process");
      return known;
    }
    return this.#flights.run(
      question,
      (all) => this.#lookUp(question, request, user, all),
      signal.signal,
    );
  }

  /** undefined = the webhook must be called. */
  #checkConditions(request: RequestAttributes, user: UserInfo): AuthorizationResult | undefined {
    const { conditions, clock, metrics, name } = this.#options;
    const startMs = clock.monotonic();
    try {
      const isMatch = evaluateConditions(conditions, request, user);
      const outcome = isMatch ? "match" : "excluded";
      metrics.conditionsEvaluated(name, outcome, clock.monotonic() - startMs);
      return isMatch ? undefined : NO_OPINION;
    } catch (error) {
      metrics.conditionsEvaluated(name, "error", clock.monotonic() - startMs);
      return this.#onFailure(error);
    }
  }

  async #lookUp(
    question: string,
    request: RequestAttributes,
    user: UserInfo,
    signal: AbortSignal,
  ): Promise<AuthorizationResult> {
    const { shared, metrics } = this.#options;
    if (shared === undefined) {
      metrics.missed();
      return await this.#callAndRemember(question, undefined, request, user, signal);
    }
    const key = this.#sharedKey(question);
    const { isAsked, found } = await shared.get(key);
    const ttlMs = found === undefined ? 0 : this.#ttlOf(found.decision);
    if (found === undefined || ttlMs === 0) {
      metrics.missed();
      if (!isAsked) metrics.fellBack();
      return await this.#callAndRemember(question, key, request, user, signal);
    }
    metrics.hit("redis");
    const result = Object.freeze({ decision: found.decision, reason: "" });
    this.#process.put(question, result, Math.min(found.ttlMs, ttlMs));
    return result;
  }

  async #callAndRemember(
    question: string,
    sharedKey: string | undefined,
    request: RequestAttributes,
    user: UserInfo,
    signal: AbortSignal,
  ): Promise<AuthorizationResult> {
    const result = await this.#call(request, user, signal);
    const ttlMs = result.error === undefined ? this.#ttlOf(result.decision) : 0;
    if (ttlMs > 0) {
      this.#process.put(question, result, ttlMs);
      if (sharedKey !== undefined) this.#options.shared?.put(sharedKey, result.decision, ttlMs);
    }
    return result;
  }

  async #call(
    request: RequestAttributes,
    user: UserInfo,
    signal: AbortSignal,
  ): Promise<AuthorizationResult> {
    const { reviews, version, naming, metrics, name, failurePolicy } = this.#options;
    try {
      const status = await reviews.ask(toAccessReview(request, user, version, naming), signal);
      return Object.freeze(parseAccessReviewStatus(status));
    } catch (error) {
      const result = error instanceof ReviewError ? error.result : "error";
      if (!signal.aborted) {
        this.#log.error({ authorizer: name, err: error }, "authorization webhook failed");
        if (failurePolicy === "NoOpinion") metrics.failedOpen(name, result);
      }
      return this.#onFailure(error);
    }
  }

  #onFailure(error: unknown): AuthorizationResult {
    const decision = this.#options.failurePolicy === "Deny" ? "deny" : "no-opinion";
    return { decision, reason: "", error };
  }

  #ttlOf(decision: AuthorizationResult["decision"]): number {
    const { authorizedTtlMs, unauthorizedTtlMs } = this.#options;
    return decision === "allow" ? authorizedTtlMs : unauthorizedTtlMs;
  }

  #textOf(user: UserInfo): string {
    let text = this.#userTexts.get(user);
    if (text === undefined) {
      text = JSON.stringify(toUserAttributes(user, this.#options.version));
      this.#userTexts.set(user, text);
    }
    return text;
  }

  /** A digest, which reveals neither the question nor the configuration. */
  #sharedKey(question: string): string {
    const { name, configurationDigest } = this.#options;
    return createHash("sha256")
      .update(`${name}\0${configurationDigest}\0`)
      .update(question)
      .digest("hex");
  }
}
