/**
 * HttpsClient: sends requests to one server (an API server or a webhook) over kept connections, with a
 * deadline and a bounded answer. Handles bytes and credentials, not reviews. Nothing is sent twice.
 *
 * Connections belong to a client certificate and an address: when the certificate changes, idle ones are
 * closed, busy ones end with their request, and the next request performs a new handshake (S2-EXEC-09).
 */
import type { Readable } from "node:stream";
import { type Dispatcher, errors, type Pool } from "undici";
import { nextTurn } from "../../storage/base/next-turn.js";
import { endWith, type SpanAttributes, traceOf } from "../../storage/base/trace.js";
import { type ConnectionCounts, ConnectionPools } from "../outbound/connection-pools.js";
import { type Address, UnreachableService } from "../outbound/services.js";
import { TlsSettings } from "../outbound/tls-connections.js";
import type { ClusterEndpoint } from "./client-config.js";
import type { CredentialSource, Credentials } from "./credentials.js";
import { ANSWER_VALUES_MAX, type AnswerLimits, AnswerTooLarge, readAnswer } from "./read-answer.js";

export interface HttpsClientOptions {
  readonly endpoint: ClusterEndpoint;
  readonly credentials: CredentialSource;
  /** PEM bundles to trust if the endpoint has none; default: Node's own. */
  readonly defaultAuthorities?: readonly string[];
  /** The time limit of a request, from its start to the end of the answer. */
  readonly timeoutMs: number;
  /** Of answers that are read whole; default: those of a review. */
  readonly answerLimits?: AnswerLimits;
  /** Sent as User-Agent. */
  readonly userAgent?: string;
  /**
   * The address to connect to instead of the endpoint's host, evaluated per request; Host header and
   * certificate check keep the endpoint's name. @throws {UnreachableService}
   */
  readonly address?: () => Address;
}

export interface OutgoingRequest {
  readonly method: string;
  /** Appended to the server's path; "" = exactly the configured URL. */
  readonly path: string;
  /** Several values become several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Overrides the client's own. */
  readonly timeoutMs?: number;
  /** The name of its span in traces. */
  readonly span?: { readonly name: string; readonly attributes?: SpanAttributes };
}

export interface IncomingResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData["headers"];
  readonly body: Buffer;
}

/** An answer whose body is still to come. */
export interface StreamedResponse extends Omit<IncomingResponse, "body"> {
  readonly body: Readable;
}

export type TransportFailure = "canceled" | "timeout" | "reset" | "connection" | "too-large";

/** There is no answer. The message tells what happened, never what was sent. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly kind: TransportFailure;

  constructor(kind: TransportFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Reviews are small; larger answers are rejected. */
const REVIEW_LIMITS: AnswerLimits = { bytes: 1024 * 1024, values: ANSWER_VALUES_MAX };
/** Connections to one server; further requests wait within their deadline. */
const CONNECTIONS_MAX = 256;
/** Addresses with kept connections: a service's endpoints come and go. */
const ADDRESSES_MAX = 16;
const PORTS = { http: 80, https: 443 } as const;

export class HttpsClient {
  readonly #options: HttpsClientOptions;
  readonly #url: URL;
  readonly #basePath: string;
  readonly #host: string;
  readonly #pools = new ConnectionPools({
    placesMax: ADDRESSES_MAX,
    // The request's single deadline covers everything.
    connectTimeoutMs: 0,
    connectionsMax: CONNECTIONS_MAX,
  });
  #certificate: Credentials["certificate"];
  #tls: TlsSettings;

  constructor(options: HttpsClientOptions) {
    this.#options = options;
    this.#url = new URL(options.endpoint.server);
    this.#basePath = this.#url.pathname;
    this.#host = this.#url.hostname.replace(/^\[|\]$/g, "");
    this.#tls = this.#tlsSettings();
  }

  /**
   * Sends a request and reads the whole answer, whatever its status.
   * @throws {TransportError} without an answer in time
   * @throws {Error} from the source of credentials
   */
  async request(outgoing: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
    const trace = traceOf(signal);
    if (trace === undefined) return await this.#exchange(outgoing, signal);
    const { name = `HTTP ${outgoing.method}`, attributes } = outgoing.span ?? {};
    const span = trace.call(name, {
      "http.request.method": outgoing.method,
      "server.address": this.#url.host,
      ...attributes,
    });
    const { traceparent } = span;
    const headers = { ...outgoing.headers, ...(traceparent !== undefined && { traceparent }) };
    return await endWith(
      span,
      this.#exchange({ ...outgoing, headers }, signal).then((answer) => {
        span.set("http.response.status_code", answer.status);
        return answer;
      }),
    );
  }

  async #exchange(outgoing: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
    const deadlineMs = performance.now() + (outgoing.timeoutMs ?? this.#options.timeoutMs);
    const credentials = await this.#options.credentials.current(signal);
    this.#use(credentials);
    const remainingMs = deadlineMs - performance.now();
    try {
      const answer = await this.#send(outgoing, credentials, remainingMs, signal);
      if (answer.status === 401) this.#options.credentials.rejected(credentials);
      return answer;
    } catch (error) {
      throw toTransportError(error);
    }
  }

  /**
   * Sends a request and gives the answer as soon as it begins; its body streams on for as long as the server likes,
   * and ends with the signal. The time limit is that of the beginning. Nothing of it is traced.
   * @throws {TransportError} without a beginning in time
   * @throws {Error} from the source of credentials
   */
  async stream(outgoing: OutgoingRequest, signal: AbortSignal): Promise<StreamedResponse> {
    const credentials = await this.#options.credentials.current(signal);
    this.#use(credentials);
    const timeoutMs = outgoing.timeoutMs ?? this.#options.timeoutMs;
    const limit = startLimit(timeoutMs, signal);
    try {
      const answer = await this.#ask(outgoing, credentials, limit.signal);
      limit.lift();
      answer.body.once("close", () => limit.end());
      if (answer.statusCode === 401) this.#options.credentials.rejected(credentials);
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    } catch (error) {
      limit.end();
      throw toTransportError(error);
    }
  }

  /** Closes idle connections; requests under way finish on their own. */
  close(): void {
    this.#pools.retire();
  }

  get counts(): ConnectionCounts {
    return this.#pools.counts;
  }

  #use({ certificate }: Credentials): void {
    const known = this.#certificate;
    if (known?.cert === certificate?.cert && known?.key === certificate?.key) return;
    this.close();
    this.#certificate = certificate;
    this.#tls = this.#tlsSettings();
  }

  /** Connections to the server's current address. @throws {UnreachableService} */
  #pool(): Pool {
    const { protocol, port } = this.#url;
    const scheme = protocol === "https:" ? "https" : "http";
    const own = { host: this.#host, port: Number(port) || PORTS[scheme] };
    const address = this.#options.address?.() ?? own;
    return this.#pools.of({ scheme, ...address, ...(scheme === "https" && { tls: this.#tls }) });
  }

  #tlsSettings(): TlsSettings {
    const { endpoint, defaultAuthorities } = this.#options;
    const { ca, isInsecure, serverName = this.#host } = endpoint;
    const certificate = this.#certificate;
    return new TlsSettings({
      skipsVerification: isInsecure,
      authorities: ca === undefined ? defaultAuthorities : [ca].flat(),
      // An address of the moment has no name of its own.
      serverName,
      ...(certificate !== undefined && {
        identity: { certificate: certificate.cert, key: certificate.key },
      }),
    });
  }

  async #send(
    outgoing: OutgoingRequest,
    credentials: Credentials,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<IncomingResponse> {
    const { answerLimits = REVIEW_LIMITS } = this.#options;
    const limit = startLimit(timeoutMs, signal);
    try {
      const answer = await this.#ask(outgoing, credentials, limit.signal);
      const collected = await readAnswer(answer.body, answerLimits);
      // A connection becomes free one turn after its answer; without this wait the pool would open another one.
      await nextTurn();
      return { status: answer.statusCode, headers: answer.headers, body: collected };
    } finally {
      limit.end();
    }
  }

  async #ask(
    { method, path, body, headers }: OutgoingRequest,
    { authorization }: Credentials,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { userAgent = "keelson", address } = this.#options;
    return await this.#pool().request({
      method: method as Dispatcher.HttpMethod,
      path: joinPaths(this.#basePath, path),
      headers: {
        "user-agent": userAgent,
        accept: "application/json",
        ...(address === undefined ? {} : { host: this.#url.host }),
        ...(headers as Record<string, string | string[]> | undefined),
        ...(authorization === undefined ? {} : { authorization }),
      },
      body: body ?? null,
      signal,
    });
  }
}

interface Limit {
  readonly signal: AbortSignal;
  /** The time does not count any more; who asked may still cancel. */
  lift(): void;
  /** Neither does. */
  end(): void;
}

/** A signal that aborts when the caller cancels, and when the time is up. */
function startLimit(timeoutMs: number, caller: AbortSignal): Limit {
  const ended = new AbortController();
  const cancel = () => ended.abort(new TransportError("canceled", "the request was canceled"));
  if (caller.aborted) cancel();
  caller.addEventListener("abort", cancel, { once: true });
  const timer = setTimeout(
    () => ended.abort(new TransportError("timeout", "no answer before the deadline")),
    Math.max(0, timeoutMs),
  );
  return {
    signal: ended.signal,
    lift: () => clearTimeout(timer),
    end() {
      clearTimeout(timer);
      caller.removeEventListener("abort", cancel);
    },
  };
}

function toTransportError(error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  if (error instanceof AnswerTooLarge) return new TransportError("too-large", error.message);
  if (error instanceof UnreachableService) return new TransportError("connection", error.message);
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof errors.SocketError || code === "ECONNRESET" || code === "EPIPE") {
    return new TransportError("reset", "the connection was closed before the answer", error);
  }
  if (code === "ETIMEDOUT") return new TransportError("timeout", "the server cannot be reached");
  // An invalid header; the original message may contain its value.
  if (error instanceof errors.InvalidArgumentError) {
    return new TransportError("connection", `the request cannot be sent: ${code}`);
  }
  return new TransportError("connection", `connection failed: ${message || code}`, error);
}

function joinPaths(base: string, path: string): string {
  if (path === "") return base;
  return `${base.endsWith("/") ? base.slice(0, -1) : base}/${path.startsWith("/") ? path.slice(1) : path}`;
}
