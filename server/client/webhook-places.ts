/**
 * WebhookPlaces: connects to users' webhooks, by URL or as a Service of the cluster, over kept connections
 * per endpoint. A Service is resolved for each request.
 */
import { LRUCache } from "lru-cache";
import { type ConnectionCounts, sumOfCounts } from "../outbound/connection-pools.js";
import type { Address, ServiceReference } from "../outbound/services.js";
import type { CredentialSource } from "./credentials.js";
import { HttpsClient } from "./https-client.js";
import type { AnswerLimits } from "./read-answer.js";

/** The address of a webhook, as configurations and definitions have it. */
export interface WebhookClientConfig {
  readonly url?: string | null | undefined;
  readonly service?:
    | {
        readonly namespace: string;
        readonly name: string;
        readonly path?: string | null | undefined;
        readonly port?: number | bigint | null | undefined;
      }
    | null
    | undefined;
  /** PEM, in base64. */
  readonly caBundle?: string | null | undefined;
}

export interface WebhookPlacesOptions {
  /** The current address of a service. @throws {UnreachableService} */
  resolve(service: ServiceReference): Address;
  /** This server's credentials for a host such as "hook.team.svc:443"; default: none. */
  readonly credentialsFor?: ((host: string) => CredentialSource | undefined) | undefined;
  /** The number of endpoints with kept connections; the least recently used are closed. */
  readonly placesMax: number;
  readonly answerLimits: AnswerLimits;
}

export interface WebhookPlace {
  readonly client: HttpsClient;
  /** Shown in errors, without query. */
  readonly url: string;
  readonly path: string;
}

const TIMEOUT_DEFAULT_MS = 30_000;
const PORT_DEFAULT = 443;

const NOTHING = Object.freeze({});
const NO_CREDENTIALS: CredentialSource = { current: () => NOTHING, rejected() {} };

export class WebhookPlaces {
  readonly #options: WebhookPlacesOptions;
  /** Made for the first call: its places are allocated at once. */
  #places: LRUCache<string, WebhookPlace> | undefined;

  constructor(options: WebhookPlacesOptions) {
    this.#options = options;
  }

  /** @throws {Error} if the URL or the authorities are invalid */
  of(config: WebhookClientConfig): WebhookPlace {
    const key = JSON.stringify(config);
    this.#places ??= new LRUCache({
      max: this.#options.placesMax,
      dispose: ({ client }) => client.close(),
    });
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#open(config);
      this.#places.set(key, place);
    }
    return place;
  }

  get counts(): ConnectionCounts {
    return sumOfCounts([...(this.#places?.values() ?? [])].map(({ client }) => client.counts));
  }

  /** Closes idle connections; calls under way finish on their own. */
  close(): void {
    this.#places?.clear();
  }

  #open({ url, service, caBundle }: WebhookClientConfig): WebhookPlace {
    const { resolve, credentialsFor, answerLimits } = this.#options;
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
    let target: URL;
    let address: (() => Address) | undefined;
    if (service) {
      const { namespace, name, path, port } = service;
      const reference = { namespace, name, port: Number(port ?? PORT_DEFAULT) };
      target = new URL(`https://${name}.${namespace}.svc:${reference.port}`);
      target.pathname = path ?? "/";
      address = () => resolve(reference);
    } else {
      target = new URL(url ?? "");
    }
    const host = `${target.hostname}:${target.port || PORT_DEFAULT}`;
    const client = new HttpsClient({
      endpoint: { server: target.origin, ca, serverName: undefined, isInsecure: false },
      credentials: credentialsFor?.(host) ?? NO_CREDENTIALS,
      timeoutMs: TIMEOUT_DEFAULT_MS,
      answerLimits,
      ...(address !== undefined && { address }),
    });
    return { client, url: `https://${host}${target.pathname}`, path: target.pathname };
  }
}
