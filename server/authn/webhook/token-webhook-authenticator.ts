/**
 * TokenWebhookAuthenticator: asks a webhook for the user of a bearer token (S2-TR). Positive and
 * negative answers are cached for a while by a keyed digest of the token, never the token itself;
 * failures are not. Concurrent requests with one token share one call.
 *
 * An outage gives a 401 like any unknown credential; other authenticators still get their turn.
 */
import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../storage/base/clock.js";
import type { Logger } from "../../../storage/base/logger.js";
import type { Naming } from "../../api/naming.js";
import { StatusError, unauthorized } from "../../api/status.js";
import { PacedLog } from "../../client/paced-log.js";
import type { ReviewClient } from "../../client/review-client.js";
import { SingleFlight } from "../../client/single-flight.js";
import type { LazySignal } from "../../request/lazy-signal.js";
import type { UserInfo } from "../../request/user-info.js";
import type { Authenticator, RequestFacts } from "../authenticator.js";
import { answerFor, bearerTokenOf } from "../bearer-token.js";
import { sha256 } from "../sha256.js";
import { parseTokenReviewStatus, type TokenReviewVersion, toTokenReview } from "./token-review.js";

export interface TokenWebhookOptions {
  readonly reviews: Pick<ReviewClient, "ask">;
  readonly version: TokenReviewVersion;
  readonly naming: Naming;
  /** How long answers are cached; 0 = not at all. */
  readonly cacheTtlMs: number;
  /** This server's audiences, one of which a token must have. Empty = not checked. */
  readonly apiAudiences: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The user of a token, and the requested audiences that it is meant for. */
export interface TokenIdentity {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

interface Remembered {
  /** undefined = the webhook does not know the token. */
  readonly identity: TokenIdentity | undefined;
  readonly expiresAtMs: number;
}

/** Cached tokens, valid or not; about 1 KiB each. */
const TOKENS_MAX = 8_192;

export class TokenWebhookAuthenticator implements Authenticator {
  readonly name = "token-webhook";
  readonly #options: TokenWebhookOptions;
  /** Makes digests useless outside this process, and the timing of lookups unguessable. */
  readonly #digestKey = randomBytes(32).toString("base64");
  readonly #remembered = new LRUCache<string, Remembered>({ max: TOKENS_MAX });
  readonly #flights = new SingleFlight<TokenIdentity | undefined>();
  readonly #log: PacedLog;

  constructor(options: TokenWebhookOptions) {
    this.#options = options;
    this.#log = new PacedLog(options.clock, options.logger);
  }

  authenticate(
    { headers, audiences }: RequestFacts,
    signal: LazySignal,
  ): UserInfo | undefined | Promise<UserInfo | undefined> {
    const token = bearerTokenOf(headers);
    if (token === undefined) return undefined;
    const wanted = audiences ?? this.#options.apiAudiences;
    const answer = this.authenticateToken(token, wanted, signal);
    return answer instanceof Promise
      ? answer.then((found) => answerFor(found, audiences))
      : answerFor(answer, audiences);
  }

  /**
   * The user of the token; undefined if the webhook does not know it.
   * @param audiences the token must be for one of these; empty = not checked
   * @throws {StatusError} 401 with the webhook's reason, or if the webhook fails
   */
  authenticateToken(
    token: string,
    audiences: readonly string[],
    signal: LazySignal,
  ): TokenIdentity | undefined | Promise<TokenIdentity | undefined> {
    const key = this.#digest(token, audiences);
    const known = this.#remembered.get(key);
    if (known !== undefined && this.#options.clock.monotonic() < known.expiresAtMs) {
      return known.identity;
    }
    return this.#flights.run(key, (all) => this.#ask(key, token, audiences, all), signal.signal);
  }

  async #ask(
    key: string,
    token: string,
    audiences: readonly string[],
    signal: AbortSignal,
  ): Promise<TokenIdentity | undefined> {
    const { reviews, version, naming, clock, cacheTtlMs } = this.#options;
    try {
      const review = toTokenReview(token, audiences, version, naming);
      const status = parseTokenReviewStatus(await reviews.ask(review, signal));
      // An answer with a reason is a refusal, which kube-apiserver does not cache either.
      if (status.error !== "") throw unauthorized(status.error);
      const identity =
        status.user === undefined
          ? undefined
          : this.#identify(status.user, status.audiences, audiences);
      if (cacheTtlMs > 0) {
        this.#remembered.set(key, { identity, expiresAtMs: clock.monotonic() + cacheTtlMs });
      }
      return identity;
    } catch (error) {
      if (error instanceof StatusError) throw error;
      if (!signal.aborted) this.#log.error({ err: error }, "token webhook failed");
      throw unauthorized();
    }
  }

  /** A webhook without audiences in its answer speaks for this server's own (S2-TR-07). */
  #identify(
    user: UserInfo,
    answered: readonly string[] | undefined,
    wanted: readonly string[],
  ): TokenIdentity | undefined {
    if (wanted.length === 0) return { user, audiences: [] };
    const valid = answered ?? this.#options.apiAudiences;
    const audiences = wanted.filter((audience) => valid.includes(audience));
    return audiences.length === 0 ? undefined : { user, audiences };
  }

  #digest(token: string, audiences: readonly string[]): string {
    return sha256([this.#digestKey, token, ...audiences].join("\0"));
  }
}
