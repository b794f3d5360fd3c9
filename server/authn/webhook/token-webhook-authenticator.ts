/**
 * TokenWebhookAuthenticator: asks a webhook whose a bearer token is (S2-TR). Answers, good and bad,
 * are remembered for a while by a keyed digest of the token, never by the token itself; failures of
 * the webhook are not. Concurrent requests with one token make one call.
 *
 * An outage is a 401 like any unknown credential: nobody gets in, and other authenticators of the
 * same request still have their say.
 */
import { createHmac, randomBytes } from "node:crypto";
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
import { parseTokenReviewStatus, type TokenReviewVersion, toTokenReview } from "./token-review.js";

export interface TokenWebhookOptions {
  readonly reviews: Pick<ReviewClient, "ask">;
  readonly version: TokenReviewVersion;
  readonly naming: Naming;
  /** How long answers are remembered; 0 = not at all. */
  readonly cacheTtlMs: number;
  /** Audiences of this server: a token must be meant for one of them. Empty: not asked about. */
  readonly apiAudiences: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose a token is, and which of the audiences that were asked for it is meant for. */
export interface TokenIdentity {
  readonly user: UserInfo;
  readonly audiences: readonly string[];
}

interface Remembered {
  /** undefined: the webhook does not know the token. */
  readonly identity: TokenIdentity | undefined;
  readonly expiresAtMs: number;
}

/** Tokens that are remembered, good and bad; about 1 KiB each. */
const TOKENS_MAX = 8_192;

export class TokenWebhookAuthenticator implements Authenticator {
  readonly name = "token-webhook";
  readonly #options: TokenWebhookOptions;
  /** Makes digests useless outside this process, and lookups free of guessable timing. */
  readonly #digestKey = randomBytes(32);
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
   * Whose the token is; undefined: the webhook does not know it.
   * @param audiences the token must be meant for one of these; empty: they are not looked at
   * @throws {StatusError} 401 with the webhook's reason, or when it cannot be asked
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
      // With a reason it is a refusal, which upstream does not remember either.
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

  /** A webhook that says nothing about audiences vouches for this server's own (S2-TR-07). */
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
    const digest = createHmac("sha256", this.#digestKey).update(token);
    for (const audience of audiences) digest.update("\0").update(audience);
    return digest.digest("base64");
  }
}
