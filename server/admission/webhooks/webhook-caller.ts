/**
 * WebhookCaller: sends reviews to webhooks over kept connections, pooled per endpoint of the
 * configurations. A call is a POST with a deadline and a bounded answer. It follows no redirects, and is
 * sent again only to a webhook that answered that it should be asked later.
 */
import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../../storage/base/clock.js";
import type { Naming } from "../../api/naming.js";
import { type IncomingResponse, TransportError } from "../../client/https-client.js";
import { ANSWER_VALUES_MAX } from "../../client/read-answer.js";
import { requestUnlessBusy } from "../../client/retry-after.js";
import {
  type WebhookPlace,
  WebhookPlaces,
  type WebhookPlacesOptions,
} from "../../client/webhook-places.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { ConnectionCounts } from "../../outbound/connection-pools.js";
import type { WriteSubject } from "../matching/write-subject.js";
import { AnswersOfWrite } from "./answers-of-write.js";
import { CallFailure, describeHttpError, describeTransportError } from "./failures.js";
import type { Hook } from "./hook.js";
import { type ReviewAnswer, type ReviewText, readReview, writeReview } from "./review.js";
import { UndecodableReview } from "./review-types.js";

export interface WebhookCallerOptions
  extends Pick<WebhookPlacesOptions, "resolve" | "credentialsFor"> {
  readonly naming: Naming;
  readonly clock?: Clock;
}

/** A call's answer and its request. */
export interface Answered {
  readonly sent: ReviewText;
  readonly answer: ReviewAnswer;
}

const PLACES_MAX = 1_000;
/** Fits a patch of the largest object, in base64, with some room. */
const RESPONSE_BYTES_MAX = 4 * 1024 * 1024;

export class WebhookCaller {
  readonly #naming: Naming;
  readonly #clock: Clock;
  readonly #places: WebhookPlaces;
  /** By the write, which may need several attempts. */
  readonly #answers = new WeakMap<object, AnswersOfWrite>();

  constructor({ naming, clock = systemClock, ...options }: WebhookCallerOptions) {
    this.#naming = naming;
    this.#clock = clock;
    this.#places = new WebhookPlaces({
      ...options,
      placesMax: PLACES_MAX,
      answerLimits: { bytes: RESPONSE_BYTES_MAX, values: ANSWER_VALUES_MAX },
    });
  }

  /** @throws {CallFailure} */
  async call(
    hook: Hook,
    subject: WriteSubject,
    resource: ServedResource,
    isMutating: boolean,
    signal: AbortSignal,
  ): Promise<Answered> {
    const { name, reviewVersion } = hook;
    if (reviewVersion === undefined) {
      const why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
      throw new CallFailure(name, `could not create admission objects: ${why}`, { code: 400 });
    }
    const named = { naming: this.#naming, uid: randomUUID() };
    const sent = writeReview(subject, resource, reviewVersion, named);
    const answers = this.#answersOf(subject);
    const known = answers?.of(hook, sent);
    if (known !== undefined) {
      if ("failure" in known) throw known.failure;
      return { sent, answer: known.answer };
    }
    try {
      const answer = await this.#ask(hook, sent, isMutating, signal);
      answers?.note(hook, sent, { answer });
      return { sent, answer };
    } catch (error) {
      if (error instanceof CallFailure && !error.isCanceled) {
        answers?.note(hook, sent, { failure: error });
      }
      throw error;
    }
  }

  async #ask(
    hook: Hook,
    sent: ReviewText,
    isMutating: boolean,
    signal: AbortSignal,
  ): Promise<ReviewAnswer> {
    const { name, timeoutMs } = hook;
    const place = this.#placeOf(hook);
    const query = `?timeout=${Math.ceil(timeoutMs / 1000)}s`;
    const post = {
      method: "POST",
      path: `${place.path}${query}`,
      headers: { "content-type": "application/json" },
      body: sent.body,
      timeoutMs,
      span: {
        name: `Call ${isMutating ? "mutating" : "validating"} webhook`,
        attributes: { webhook: name, configuration: hook.configuration },
      },
    };
    const fail = (why: string, how: { readonly cause?: unknown; readonly code?: number }) =>
      new CallFailure(name, `failed to call webhook: ${why}`, how);
    let response: IncomingResponse;
    try {
      response = await requestUnlessBusy(place.client, post, this.#clock, signal);
    } catch (error) {
      const cause = error as Error;
      if (!(cause instanceof TransportError)) throw fail(cause.message, { cause });
      throw fail(`Post "${place.url}${query}": ${describeTransportError(cause)}`, { cause });
    }
    const { status, body } = response;
    if (status < 200 || status > 206) {
      throw fail(describeHttpError(status, body), { code: status });
    }
    try {
      return readReview(body.toString("utf8"), sent, isMutating);
    } catch (error) {
      const why = (error as Error).message;
      if (error instanceof UndecodableReview) throw fail(why, { cause: error });
      throw new CallFailure(name, `received invalid webhook response: ${why}`, { cause: error });
    }
  }

  get counts(): ConnectionCounts {
    return this.#places.counts;
  }

  /** Closes idle connections; calls under way finish on their own. */
  close(): void {
    this.#places.close();
  }

  #answersOf({ attributes: { write } }: WriteSubject): AnswersOfWrite | undefined {
    if (write === undefined) return undefined;
    let answers = this.#answers.get(write);
    if (answers === undefined) {
      answers = new AnswersOfWrite();
      this.#answers.set(write, answers);
    }
    return answers;
  }

  #placeOf({ name, clientConfig }: Hook): WebhookPlace {
    try {
      return this.#places.of(clientConfig);
    } catch (error) {
      const why = (error as Error).message;
      throw new CallFailure(name, `could not get REST client: ${why}`, { cause: error, code: 500 });
    }
  }
}
