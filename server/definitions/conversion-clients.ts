/**
 * Clients of conversion webhooks: each call is a POST with a deadline and a limit on the answer, sent again
 * only to a webhook that is busy and says when to ask it.
 */
import { systemClock } from "../../storage/base/clock.js";
import { firstOf } from "../api/shown-value.js";
import { TransportError } from "../client/https-client.js";
import { requestUnlessBusy } from "../client/retry-after.js";
import {
  type WebhookClientConfig,
  WebhookPlaces,
  type WebhookPlacesOptions,
} from "../client/webhook-places.js";
import type { ConnectionCounts } from "../outbound/connection-pools.js";
import { ConversionFailure } from "./conversion-review.js";
import type { AskWebhook } from "./webhook-converter.js";

/** Of all attempts of a call. */
const TIMEOUT_MS = 30_000;
const PLACES_MAX = 256;
/** Some times what is asked in one call (webhook-conversion.ts). */
const ANSWER_LIMITS = { bytes: 8 * 1024 * 1024, values: 250_000 };

export class ConversionClients implements Disposable {
  readonly #places: WebhookPlaces;

  constructor(options: Pick<WebhookPlacesOptions, "resolve">) {
    this.#places = new WebhookPlaces({
      ...options,
      placesMax: PLACES_MAX,
      answerLimits: ANSWER_LIMITS,
    });
  }

  /** Returns the call of a definition's webhook. */
  asks(config: WebhookClientConfig): AskWebhook {
    return async (body, signal) => {
      const { client, url, path } = this.#places.of(config);
      const headers = { "content-type": "application/json" };
      try {
        const span = { name: "Call conversion webhook" };
        const timeoutMs = TIMEOUT_MS;
        const post = { method: "POST", path, headers, body, timeoutMs, span };
        const response = await requestUnlessBusy(client, post, systemClock, signal);
        const text = response.body.toString("utf8");
        if (response.status >= 200 && response.status <= 206) return text;
        throw new ConversionFailure(
          `the server responded with the status code ${response.status}: ${firstOf(text, 200)}`,
        );
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        throw new ConversionFailure(`Post "${url}": ${error.message}`);
      }
    };
  }

  get counts(): ConnectionCounts {
    return this.#places.counts;
  }

  [Symbol.dispose](): void {
    this.#places.close();
  }
}
