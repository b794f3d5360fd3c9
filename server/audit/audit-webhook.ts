/**
 * AuditWebhook: audit events to another server, as an `EventList` a batch. A batch that may pass by
 * itself (no connection, 429, 5xx) is sent again after a growing delay; the batch behind it waits.
 */
import type { Clock } from "../../storage/base/clock.js";
import type { Naming } from "../api/naming.js";
import { type HttpsClient, TransportError } from "../client/https-client.js";
import type { AuditBackend, AuditLine } from "./audit-batch.js";

export interface AuditWebhookOptions {
  readonly client: Pick<HttpsClient, "request" | "close">;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly initialBackoffMs: number;
}

/** kube-apiserver's, for a batch. */
const ATTEMPTS_MAX = 5;
const BACKOFF_FACTOR = 1.5;

export class AuditWebhook implements AuditBackend {
  readonly name = "webhook";
  readonly #options: AuditWebhookOptions;
  readonly #abort = new AbortController();

  constructor(options: AuditWebhookOptions) {
    this.#options = options;
  }

  async send(lines: readonly AuditLine[]): Promise<void> {
    const { naming, clock, initialBackoffMs } = this.#options;
    const apiVersion = `audit.${naming.groupDomain}/v1`;
    const body = `{"kind":"EventList","apiVersion":"${apiVersion}","metadata":{},"items":[${lines.join(",")}]}`;
    let delayMs = initialBackoffMs;
    for (let attempt = 1; ; attempt++) {
      const failure = await this.#post(body);
      if (failure === undefined) return;
      if (!failure.isRetriable || attempt >= ATTEMPTS_MAX || this.#abort.signal.aborted) {
        throw new Error(failure.message);
      }
      await clock.sleep(delayMs, this.#abort.signal).catch(() => {});
      delayMs *= BACKOFF_FACTOR;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    this.#options.client.close();
  }

  async #post(body: string): Promise<{ message: string; isRetriable: boolean } | undefined> {
    const headers = { "content-type": "application/json" };
    try {
      const { status } = await this.#options.client.request(
        { method: "POST", path: "", headers, body },
        this.#abort.signal,
      );
      if (status >= 200 && status < 300) return undefined;
      const isRetriable = status === 429 || status >= 500;
      return { message: `the audit webhook answered with status ${status}`, isRetriable };
    } catch (error) {
      const isRetriable = error instanceof TransportError && error.kind !== "canceled";
      return { message: `the audit webhook failed: ${(error as Error).message}`, isRetriable };
    }
  }
}
