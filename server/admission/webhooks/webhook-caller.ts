/**
 * WebhookCaller: sends reviews to webhooks, over connections that are kept for each place that the
 * configurations name. One call is one POST with a deadline and a bound on the answer; no redirect is
 * followed, and nothing is tried again, except on a kept connection that broke before it was used.
 */
import { randomUUID } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Naming } from "../../api/naming.js";
import type { CredentialSource } from "../../client/credentials.js";
import { HttpsClient, TransportError } from "../../client/https-client.js";
import type { Address, ServiceReference } from "../../client/service-address.js";
import type { ServedResource } from "../../kinds/served-resource.js";
import type { WriteSubject } from "../matching/write-subject.js";
import { CallFailure, describeHttpError, describeTransportError } from "./failures.js";
import type { Hook, HookClientConfig } from "./hook.js";
import { type ReviewAnswer, type ReviewText, readReview, writeReview } from "./review.js";

export interface WebhookCallerOptions {
  readonly naming: Naming;
  /** Where a service is reached now. @throws {TransportError} */
  resolve(service: ServiceReference): Address;
  /** Who this server is to a host such as "hook.team.svc:443"; nobody unless given. */
  readonly credentialsFor?: (host: string) => CredentialSource | undefined;
}

/** A call's answer, and what was asked. */
export interface Answered {
  readonly sent: ReviewText;
  readonly answer: ReviewAnswer;
}

/** Places that connections are kept to; those used least are closed. */
const CLIENTS_MAX = 1_000;
/** A patch of the largest object that there may be, in base64, and then some. */
const RESPONSE_BYTES_MAX = 4 * 1024 * 1024;
const TIMEOUT_DEFAULT_MS = 30_000;
const PORT_DEFAULT = 443;

const NOTHING = Object.freeze({});
const NO_CREDENTIALS: CredentialSource = { current: () => NOTHING, rejected() {} };

interface Place {
  readonly client: HttpsClient;
  /** Shown in errors, without query. */
  readonly url: string;
  readonly path: string;
}

export class WebhookCaller {
  readonly #options: WebhookCallerOptions;
  readonly #places = new LRUCache<string, Place>({
    max: CLIENTS_MAX,
    dispose: ({ client }) => client.close(),
  });

  constructor(options: WebhookCallerOptions) {
    this.#options = options;
  }

  /** @throws {CallFailure} */
  async call(
    hook: Hook,
    subject: WriteSubject,
    resource: ServedResource,
    isMutating: boolean,
    signal: AbortSignal,
  ): Promise<Answered> {
    const { name, reviewVersion, timeoutMs } = hook;
    if (reviewVersion === undefined) {
      const why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
      throw new CallFailure(name, `could not create admission objects: ${why}`);
    }
    const { naming } = this.#options;
    const sent = writeReview(subject, resource, reviewVersion, { naming, uid: randomUUID() });
    const place = this.#placeOf(hook);
    const query = `?timeout=${Math.ceil(timeoutMs / 1000)}s`;
    const post = {
      method: "POST",
      path: `${place.path}${query}`,
      headers: { "content-type": "application/json" },
      body: sent.body,
      isReplayable: true,
      timeoutMs,
    };
    const fail = (why: string, cause?: unknown) =>
      new CallFailure(name, `failed to call webhook: ${why}`, cause);
    let response: Awaited<ReturnType<HttpsClient["request"]>>;
    try {
      response = await place.client.request(post, signal);
    } catch (error) {
      if (!(error instanceof TransportError)) throw fail((error as Error).message, error);
      throw fail(`Post "${place.url}${query}": ${describeTransportError(error)}`, error);
    }
    const { status, body } = response;
    if (status < 200 || status > 206) throw fail(describeHttpError(status, body));
    try {
      return { sent, answer: readReview(body.toString("utf8"), sent, isMutating) };
    } catch (error) {
      const why = (error as Error).message;
      throw new CallFailure(name, `received invalid webhook response: ${why}`, error);
    }
  }

  /** Closes idle connections; calls under way end by themselves. */
  close(): void {
    this.#places.clear();
  }

  #placeOf({ name, clientConfig }: Hook): Place {
    const key = JSON.stringify(clientConfig);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    try {
      const place = this.#open(clientConfig);
      this.#places.set(key, place);
      return place;
    } catch (error) {
      const why = (error as Error).message;
      throw new CallFailure(name, `could not get REST client: ${why}`, error);
    }
  }

  #open({ url, service, caBundle }: HookClientConfig): Place {
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("utf8") : undefined;
    let target: URL;
    let address: (() => Address) | undefined;
    if (service) {
      const { namespace, name, path, port } = service;
      const reference = { namespace, name, port: port ?? PORT_DEFAULT };
      target = new URL(`https://${name}.${namespace}.svc:${reference.port}`);
      target.pathname = path ?? "/";
      address = () => this.#options.resolve(reference);
    } else {
      target = new URL(url ?? "");
    }
    const host = `${target.hostname}:${target.port || PORT_DEFAULT}`;
    const client = new HttpsClient({
      endpoint: { server: target.origin, ca, serverName: undefined, isInsecure: false },
      credentials: this.#options.credentialsFor?.(host) ?? NO_CREDENTIALS,
      timeoutMs: TIMEOUT_DEFAULT_MS,
      responseBytesMax: RESPONSE_BYTES_MAX,
      ...(address !== undefined && { address }),
    });
    const path = target.pathname;
    return { client, url: `https://${host}${path}`, path };
  }
}
