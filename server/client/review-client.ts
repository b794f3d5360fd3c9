/**
 * ReviewClient: sends a review object (TokenReview, SubjectAccessReview) to the exact configured URL of a
 * webhook and reads the same kind of object back (S2-TR-02, S2-AZC-21).
 *
 * Transient failures (connection closed, 429, 500, 504, an answer with Retry-After) are retried with
 * growing delays; others fail at once. An answer of another version or kind, or without valid JSON, is a
 * failure: the caller's failure policy decides.
 */

import type { Clock } from "../../storage/base/clock.js";
import { isRecord } from "../../storage/base/is-record.js";
import { type HttpsClient, type IncomingResponse, TransportError } from "./https-client.js";

/** The result of a call, in kube-apiserver's metric labels. */
export type ReviewResult = "success" | "canceled" | "timeout" | "error";

/** No usable answer. The message is for operators and contains nothing that was sent. */
export class ReviewError extends Error {
  override readonly name = "ReviewError";
  readonly result: Exclude<ReviewResult, "success">;
  readonly isRetriable: boolean;

  constructor(
    result: ReviewError["result"],
    message: string,
    options: { readonly isRetriable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.result = result;
    this.isRetriable = options.isRetriable ?? false;
  }
}

export interface Backoff {
  readonly initialMs: number;
  readonly factor: number;
  /** The maximum random part added to each delay, as a fraction of it. */
  readonly jitter: number;
  /** Number of attempts, including the first. */
  readonly steps: number;
}

/** kube-apiserver's delays between calls of a webhook (S2-TR-10). */
const REVIEW_BACKOFF: Backoff = { initialMs: 500, factor: 1.5, jitter: 0.2, steps: 5 };

export interface ReviewClientOptions {
  readonly client: Pick<HttpsClient, "request">;
  readonly clock: Clock;
  readonly backoff?: Backoff;
  /** Called for each round trip, for metrics. */
  readonly onCall?: (result: ReviewResult, durationMs: number) => void;
  readonly random?: () => number;
}

export interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

export class ReviewClient {
  readonly #options: ReviewClientOptions;

  constructor(options: ReviewClientOptions) {
    this.#options = options;
  }

  /** The `status` of the answer; {} if absent. @throws {ReviewError} */
  async ask(review: Review, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const { clock, backoff = REVIEW_BACKOFF, random = Math.random } = this.#options;
    const { apiVersion, kind, spec, status } = review;
    const body = JSON.stringify({ kind, apiVersion, metadata: {}, spec, status });
    let delayMs = backoff.initialMs;
    for (let step = 1; ; step++) {
      try {
        return await this.#askOnce(body, review, signal);
      } catch (error) {
        const isLast = step >= backoff.steps || !(error as ReviewError).isRetriable;
        if (isLast || signal.aborted) throw error;
        try {
          await clock.sleep(delayMs * (1 + random() * backoff.jitter), signal);
        } catch {
          // The webhook's error is more useful than the timeout.
          throw error;
        }
        delayMs *= backoff.factor;
      }
    }
  }

  async #askOnce(
    body: string,
    expected: Review,
    signal: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    const { client, clock, onCall } = this.#options;
    const startMs = clock.monotonic();
    try {
      const response = await client.request(
        {
          method: "POST",
          path: "",
          headers: { "content-type": "application/json" },
          body,
          span: { name: `Call ${expected.kind} webhook` },
        },
        signal,
      );
      const status = statusOf(response, expected);
      onCall?.("success", clock.monotonic() - startMs);
      return status;
    } catch (error) {
      const failure = toReviewError(error, signal);
      onCall?.(failure.result, clock.monotonic() - startMs);
      throw failure;
    }
  }
}

function statusOf(
  { status, headers, body }: IncomingResponse,
  expected: Review,
): Readonly<Record<string, unknown>> {
  if (status < 200 || status > 206) {
    const isRetriable =
      status === 429 || status === 500 || status === 504 || headers["retry-after"] !== undefined;
    const result = status === 504 ? "timeout" : "error";
    throw new ReviewError(result, `the webhook answered with status ${status}`, { isRetriable });
  }
  let answer: unknown;
  try {
    answer = JSON.parse(body.toString("utf8"));
  } catch {
    throw new ReviewError("error", "the webhook's answer is not JSON");
  }
  if (!isRecord(answer)) throw new ReviewError("error", "the webhook's answer is not an object");
  const { apiVersion, kind, status: reviewStatus = {} } = answer;
  // An absent version or kind means that of the request, as in other clients.
  if ((apiVersion ?? expected.apiVersion) !== expected.apiVersion) {
    throw new ReviewError(
      "error",
      `the webhook answered in version ${show(apiVersion)}, expected "${expected.apiVersion}"`,
    );
  }
  if ((kind ?? expected.kind) !== expected.kind) {
    throw new ReviewError(
      "error",
      `the webhook answered with kind ${show(kind)}, expected "${expected.kind}"`,
    );
  }
  if (!isRecord(reviewStatus)) {
    throw new ReviewError("error", "the status of the webhook's answer is not an object");
  }
  return reviewStatus;
}

function toReviewError(error: unknown, signal: AbortSignal): ReviewError {
  if (error instanceof ReviewError) return error;
  const cause = error;
  if (signal.aborted) return new ReviewError("canceled", "the request was canceled", { cause });
  if (error instanceof TransportError) {
    const result = error.kind === "timeout" ? "timeout" : "error";
    const isRetriable = error.kind === "reset";
    return new ReviewError(result, `the webhook failed: ${error.message}`, { cause, isRetriable });
  }
  const message = `credentials for the webhook: ${(error as Error).message}`;
  return new ReviewError("error", message, { cause });
}

/** Foreign text, cut to one line. */
function show(value: unknown): string {
  return (JSON.stringify(value) ?? "none").slice(0, 100);
}
