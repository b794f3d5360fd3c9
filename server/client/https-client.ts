/**
 * HttpsClient: requests to one server (an API server or a webhook) over connections that are kept
 * alive, with a deadline and a bound on the answer's size. Knows bytes and credentials, not reviews.
 *
 * Connections belong to a client certificate: when the certificate changes, idle connections are
 * closed, busy ones end with their request, and the next request makes a new handshake (S2-EXEC-09).
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { createSecureContext, type SecureContext, type SecureContextOptions } from "node:tls";
import type { ClusterEndpoint } from "./client-config.js";
import type { CredentialSource, Credentials } from "./credentials.js";

export interface HttpsClientOptions {
  readonly endpoint: ClusterEndpoint;
  readonly credentials: CredentialSource;
  /** PEM bundles to trust where the endpoint names none; Node's own unless given. */
  readonly defaultAuthorities?: readonly string[];
  /** Of one request, from its start to the end of the answer. */
  readonly timeoutMs: number;
  readonly responseBytesMax?: number;
  /** Sent as User-Agent. */
  readonly userAgent?: string;
  /**
   * Where to connect instead of the endpoint's own host, asked for each request; the endpoint's name
   * stays in the Host header and in what the certificate must show. @throws {Error} nowhere
   */
  readonly address?: () => { readonly host: string; readonly port: number };
}

export interface OutgoingRequest {
  readonly method: string;
  /** Appended to the server's path; "" asks the exact address of the configuration. */
  readonly path: string;
  /** Several values are several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
  /** Whether it may be sent once more when a kept connection broke before the answer. */
  readonly isReplayable?: boolean;
  /** Instead of the client's own. */
  readonly timeoutMs?: number;
}

export interface IncomingResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export type TransportFailure = "canceled" | "timeout" | "reset" | "connection" | "too-large";

/** There is no answer. The message says what happened, never what was sent. */
export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly kind: TransportFailure;

  constructor(kind: TransportFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** Reviews are small; what is larger is no answer of ours. */
const RESPONSE_BYTES_MAX = 1024 * 1024;
/** Connections to one server; further requests wait for one, within their deadline. */
const CONNECTIONS_MAX = 256;
/** Idle connections that are kept. */
const IDLE_CONNECTIONS_MAX = 32;
/** An idle connection is closed before typical servers and load balancers (60 s and more) do. */
const IDLE_TIMEOUT_MS = 30_000;

export class HttpsClient {
  readonly #options: HttpsClientOptions;
  readonly #url: URL;
  readonly #basePath: string;
  #agent: HttpsAgent | HttpAgent | undefined;
  #certificate: Credentials["certificate"];

  constructor(options: HttpsClientOptions) {
    this.#options = options;
    this.#url = new URL(options.endpoint.server);
    this.#basePath = this.#url.pathname;
  }

  /**
   * Sends a request and reads the whole answer, whatever its status.
   * @throws {TransportError} no answer in time, or none at all
   * @throws {Error} from the source of credentials
   */
  async request(outgoing: OutgoingRequest, signal: AbortSignal): Promise<IncomingResponse> {
    const deadlineMs = performance.now() + (outgoing.timeoutMs ?? this.#options.timeoutMs);
    const credentials = await this.#options.credentials.current(signal);
    const agent = this.#agentFor(credentials);
    for (let attempt = 0; ; attempt++) {
      const remainingMs = deadlineMs - performance.now();
      try {
        const answer = await this.#send(outgoing, credentials, agent, remainingMs, signal);
        if (answer.status === 401) this.#options.credentials.rejected(credentials);
        return answer;
      } catch (error) {
        // The server closed a kept connection in the moment in which we wrote to it.
        const isStale = error instanceof StaleConnection;
        if (isStale && attempt === 0 && outgoing.isReplayable === true) continue;
        throw isStale ? error.cause : error;
      }
    }
  }

  /** Closes idle connections; requests under way end by themselves. */
  close(): void {
    if (this.#agent !== undefined) retire(this.#agent);
    this.#agent = undefined;
  }

  #agentFor({ certificate }: Credentials): HttpsAgent | HttpAgent {
    const known = this.#certificate;
    if (
      this.#agent !== undefined &&
      known?.cert === certificate?.cert &&
      known?.key === certificate?.key
    ) {
      return this.#agent;
    }
    this.close();
    this.#certificate = certificate;
    this.#agent = this.#createAgent(certificate);
    return this.#agent;
  }

  #createAgent(certificate: Credentials["certificate"]): HttpsAgent | HttpAgent {
    const { endpoint, defaultAuthorities } = this.#options;
    const { serverName, isInsecure } = endpoint;
    const ca = endpoint.ca ?? defaultAuthorities;
    const pool = {
      keepAlive: true,
      maxSockets: CONNECTIONS_MAX,
      maxFreeSockets: IDLE_CONNECTIONS_MAX,
      timeout: IDLE_TIMEOUT_MS,
      scheduling: "lifo" as const,
    };
    if (this.#url.protocol === "http:") return new HttpAgent(pool);
    return new HttpsAgent({
      ...pool,
      // Made once: an agent would put certificates and key into a name that it looks up each time.
      secureContext: secureContextOf({
        minVersion: "TLSv1.2",
        ...(ca === undefined ? {} : { ca: [ca].flat() }),
        ...(certificate === undefined ? {} : { cert: certificate.cert, key: certificate.key }),
      }),
      rejectUnauthorized: !isInsecure,
      // An address that is asked for each request is nobody's name.
      ...(serverName === undefined && this.#options.address === undefined
        ? {}
        : { servername: serverName ?? this.#url.hostname }),
    });
  }

  #send(
    outgoing: OutgoingRequest,
    credentials: Credentials,
    agent: HttpsAgent | HttpAgent,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<IncomingResponse> {
    const { method, path, body, headers } = outgoing;
    const { userAgent = "keelson", responseBytesMax = RESPONSE_BYTES_MAX } = this.#options;
    const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(new TransportError("canceled", "the request was canceled"));
      const send = this.#url.protocol === "http:" ? requestHttp : requestHttps;
      let request: ClientRequest;
      try {
        const other = this.#options.address?.();
        request = send({
          agent,
          host: other?.host ?? this.#url.hostname.replace(/^\[|\]$/g, ""),
          port: other?.port ?? (this.#url.port === "" ? undefined : this.#url.port),
          method,
          path: joinPaths(this.#basePath, path),
          headers: {
            "user-agent": userAgent,
            accept: "application/json",
            ...(other === undefined ? {} : { host: this.#url.host }),
            ...headers,
            ...(bytes === undefined ? {} : { "content-length": bytes.length }),
            ...(credentials.authorization === undefined
              ? {}
              : { authorization: credentials.authorization }),
          },
        });
      } catch (error) {
        if (error instanceof TransportError) return reject(error);
        // A certificate or key that TLS cannot read, or a header that HTTP does not allow.
        const why = (error as NodeJS.ErrnoException).code ?? "invalid";
        return reject(new TransportError("connection", `the request cannot be sent: ${why}`));
      }
      const fail = (error: unknown) => {
        cleanUp();
        reject(error);
        request.destroy();
      };
      const timer = setTimeout(
        () => fail(new TransportError("timeout", "no answer before the deadline")),
        Math.max(0, timeoutMs),
      );
      const onAbort = () => fail(new TransportError("canceled", "the request was canceled"));
      const cleanUp = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      request.on("error", (error) => {
        const failure = toTransportError(error);
        fail(request.reusedSocket ? new StaleConnection(failure) : failure);
      });
      request.once("response", (response) => {
        collect(response, responseBytesMax).then(
          (collected) => {
            cleanUp();
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              body: collected,
            });
          },
          (error: unknown) => fail(error),
        );
      });
      request.end(bytes);
    });
  }
}

/** @throws {TransportError} texts that are no certificate or key, or do not belong together */
function secureContextOf(options: SecureContextOptions): SecureContext {
  try {
    return createSecureContext(options);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? "invalid";
    throw new TransportError("connection", `certificates or key cannot be used: ${why}`);
  }
}

/** A kept connection broke before it answered: the request may be sent once more. */
class StaleConnection extends Error {
  constructor(cause: TransportError) {
    super(cause.message, { cause });
  }
}

async function collect(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > bytesMax) {
        throw new TransportError("too-large", `the answer has more than ${bytesMax} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof TransportError ? error : toTransportError(error);
  }
  return Buffer.concat(chunks, length);
}

function toTransportError(error: unknown): TransportError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ECONNRESET" || code === "EPIPE") {
    return new TransportError("reset", "the connection was closed before the answer", error);
  }
  if (code === "ETIMEDOUT") return new TransportError("timeout", "the server cannot be reached");
  return new TransportError("connection", `connection failed: ${message || code}`, error);
}

function joinPaths(base: string, path: string): string {
  if (path === "") return base;
  return `${base.endsWith("/") ? base.slice(0, -1) : base}/${path.startsWith("/") ? path.slice(1) : path}`;
}

/** Ends idle connections now and the others after their request. */
function retire(agent: HttpsAgent | HttpAgent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) {
    for (const socket of sockets ?? []) socket.destroy();
  }
}
