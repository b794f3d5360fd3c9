/**
 * How conversion webhooks are reached: by URL, or as a Service of the cluster, over connections that
 * are kept for each place. One call is one POST with a deadline and a bound on the answer.
 */
import { LRUCache } from "lru-cache";
import type { CredentialSource } from "../client/credentials.js";
import { HttpsClient, TransportError } from "../client/https-client.js";
import type { ConversionClientConfig } from "../registry/apiextensions/definition.js";
import { ConversionFailure } from "./conversion-review.js";
import type { AskWebhook } from "./webhook-converter.js";

export interface ServicePlace {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export interface ConversionClientsOptions {
  /** Where a service is reached now. @throws {TransportError} */
  resolve(service: ServicePlace): { readonly host: string; readonly port: number };
}

/** Places that connections are kept to; those used least are closed. */
const CLIENTS_MAX = 256;
const TIMEOUT_MS = 30_000;
/** As many objects as one call has, each as large as objects usually are. */
const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;
const PORT_DEFAULT = 443;

const NOTHING = Object.freeze({});
const NO_CREDENTIALS: CredentialSource = { current: () => NOTHING, rejected() {} };

interface Place {
  readonly client: HttpsClient;
  readonly url: string;
  readonly path: string;
}

export class ConversionClients implements Disposable {
  readonly #options: ConversionClientsOptions;
  readonly #places = new LRUCache<string, Place>({
    max: CLIENTS_MAX,
    dispose: ({ client }) => client.close(),
  });

  constructor(options: ConversionClientsOptions) {
    this.#options = options;
  }

  /** Asks the webhook of a definition. */
  asks(config: ConversionClientConfig): AskWebhook {
    return async (body, signal) => {
      const { client, url, path } = this.#placeOf(config);
      const headers = { "content-type": "application/json" };
      try {
        const post = { method: "POST", path, headers, body, isReplayable: true };
        const response = await client.request(post, signal);
        const text = response.body.toString("utf8");
        if (response.status >= 200 && response.status <= 206) return text;
        throw new ConversionFailure(
          `the server responded with the status code ${response.status}: ${text.slice(0, 200)}`,
        );
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        throw new ConversionFailure(`Post "${url}": ${error.message}`);
      }
    };
  }

  [Symbol.dispose](): void {
    this.#places.clear();
  }

  #placeOf(config: ConversionClientConfig): Place {
    const key = JSON.stringify(config);
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#open(config);
      this.#places.set(key, place);
    }
    return place;
  }

  #open({ url, service, caBundle }: ConversionClientConfig): Place {
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
    let target = new URL(url ?? "https://nowhere.invalid");
    let address: (() => { readonly host: string; readonly port: number }) | undefined;
    if (service) {
      const { namespace, name, path } = service;
      const place = { namespace, name, port: Number(service.port ?? PORT_DEFAULT) };
      target = new URL(`https://${name}.${namespace}.svc:${place.port}`);
      target.pathname = path ?? "/";
      address = () => this.#options.resolve(place);
    }
    const client = new HttpsClient({
      endpoint: { server: target.origin, ca, serverName: undefined, isInsecure: false },
      credentials: NO_CREDENTIALS,
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: RESPONSE_BYTES_MAX,
      ...(address !== undefined && { address }),
    });
    return { client, url: `${target.origin}${target.pathname}`, path: target.pathname };
  }
}
