/**
 * FollowedClient: a client whose configuration may be replaced, as its file has changed: another server, other authorities, other
 * credentials. Requests under way end where they were sent.
 */
import type { ClientConfig } from "./client-config.js";
import type { HttpsClient, IncomingResponse, OutgoingRequest } from "./https-client.js";
import { type OpenClientOptions, openClient } from "./open-client.js";

export class FollowedClient implements Pick<HttpsClient, "request" | "close"> {
  readonly #options: OpenClientOptions;
  #current: HttpsClient;

  /** Does not connect yet. The caller must close it. */
  constructor(config: ClientConfig, options: OpenClientOptions) {
    this.#options = options;
    this.#current = openClient(config, options);
  }

  replace(config: ClientConfig): void {
    const before = this.#current;
    this.#current = openClient(config, this.#options);
    before.close();
  }

  /** As that of the client. */
  request(outgoing: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
    return this.#current.request(outgoing, signal);
  }

  close(): void {
    this.#current.close();
  }
}
