/**
 * One etcd member over @grpc/grpc-js: a client with one HTTP/2 connection, and calls on it. Takes and
 * gives encoded messages; knows no etcd message. EndpointPool owns connections and ticks them.
 *
 * What the library does: framing, flow control, TLS, and pings that notice a member which is paused or
 * cut off and keeps its sockets open. What is left to us: one attempt to connect at a time and only
 * when asked, an end for calls that take too long or whose caller has gone (by shared timer and
 * listener, which cost a call nothing), and to say whether a request that failed was ever sent.
 */
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { StorageError } from "../kv/errors.js";
import type { Abortable, AbortHub } from "./abort-hub.js";
import { GRPC_STATUS, RpcError } from "./errors.js";
import { encodeEmpty } from "./messages.js";

/** Files of a TLS connection, already read. */
export interface EtcdTls {
  /** Certificates that etcd's certificate must go back to; absent = those that Node trusts. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

/** When a member that says nothing is given up. */
export interface EtcdKeepalive {
  /**
   * Time between pings while anything is awaited. etcd drops clients that ping more often than its
   * --grpc-keepalive-min-time (5 s by default).
   */
  readonly intervalMs: number;
  /** How long a ping may be without an answer. */
  readonly timeoutMs: number;
}

/** The answer of a streaming call: messages while it lasts, then one end. */
export interface StreamHandlers {
  onMessage(message: Buffer): void;
  /** Called once, with the call's status (which may be ok); no message follows. */
  onEnd(status: RpcError): void;
}

export interface GrpcStream {
  send(message: Buffer): void;
  /** Stops and restarts the flow of messages; etcd waits meanwhile. */
  pause(): void;
  resume(): void;
  /** Gives the call up; no handler is called any more. */
  close(): void;
}

export interface EtcdConnectionOptions {
  readonly url: string;
  readonly credentials: ChannelCredentials;
  readonly keepalive: EtcdKeepalive;
  /** How long connecting may take, up to the first answer. */
  readonly dialTimeoutMs: number;
  /** Shared with all that listens to the same signals. */
  readonly aborts: AbortHub;
}

/** How often EndpointPool ticks a connection. */
export const TICK_MS = 500;
/**
 * How long a unary call may take, whatever its signal says: 10 s, above etcd's own 7 s. Counted in
 * ticks, so that a process that was itself stopped for a while does not blame its peers.
 */
const CALL_TICKS_MAX = 20;

/** How much a peer may send ahead of our reading. */
const WINDOW_BYTES = 8 * 1024 * 1024;

/** The largest answer taken: a range over everything that a very large etcd holds. */
const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

const HEALTH_CHECK = "/grpc.health.v1.Health/Check";

/** grpc-js says so of a stream that the peer has not looked at (RFC 9113, 8.7). */
const REFUSED_STREAM = "Stream refused by server";

/** Shared, because an Error with its stack for each call that goes well would cost 3 µs. */
const STATUS_OK = new RpcError(GRPC_STATUS.ok, "ok", { isSent: true });

interface PendingCall extends Abortable {
  ticks: number;
}

export class EtcdConnection {
  readonly #options: EtcdConnectionOptions;
  #client: Client | undefined;
  #target = "";
  #isReady = false;
  #opening: Promise<void> | undefined;
  #generation = 0;
  #isClosed = false;
  readonly #calls = new Set<PendingCall>();
  readonly #streams = new Set<Abortable>();
  #metadata: { readonly token: string | undefined; readonly metadata: Metadata } | undefined;

  constructor(options: EtcdConnectionOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  /** Grows with each new connection: what was learnt about the member may hold no longer. */
  get generation(): number {
    return this.#generation;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Connects if need be. Callers share one attempt. @throws {RpcError} not sent */
  open(): Promise<void> {
    if (this.#isReady) return Promise.resolve();
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /**
   * One request, one answer. The connection must be ready.
   * @throws {RpcError} @throws the signal's reason
   */
  unary(
    path: string,
    message: Buffer,
    token: string | undefined,
    signal: AbortSignal,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const client = this.#client;
      if (client === undefined) return reject(notConnected(this.url));
      if (signal.aborted) return reject(signal.reason);
      const { aborts } = this.#options;
      let isSettled = false;
      const settle = (): boolean => {
        if (isSettled) return false;
        isSettled = true;
        this.#calls.delete(call);
        aborts.delete(signal, call);
        return true;
      };
      const call: PendingCall = {
        ticks: 0,
        abort(reason) {
          if (!settle()) return;
          request.cancel();
          reject(reason);
        },
      };
      const request = client.makeUnaryRequest(
        path,
        asIs,
        asIs,
        message,
        this.#metadataFor(token),
        (error, answer) => {
          if (!settle()) return;
          if (answer === undefined) reject(this.#toRpcError(error, request));
          else resolve(answer);
        },
      );
      this.#calls.add(call);
      aborts.add(signal, call);
    });
  }

  /** A call with many messages in both directions. @throws {RpcError} when not connected */
  stream(path: string, token: string | undefined, handlers: StreamHandlers): GrpcStream {
    if (this.#client === undefined) throw notConnected(this.url);
    const request = this.#client.makeBidiStreamRequest(path, asIs, asIs, this.#metadataFor(token));
    let isOpen = true;
    const end = (): boolean => {
      if (!isOpen) return false;
      isOpen = false;
      this.#streams.delete(stream);
      return true;
    };
    const finish = (status: RpcError) => {
      if (end()) handlers.onEnd(status);
    };
    const stream = {
      abort: (reason: unknown) => {
        request.cancel();
        finish(notConnected(this.url, reason));
      },
    };
    this.#streams.add(stream);
    request.on("data", (message: Buffer) => {
      if (isOpen) handlers.onMessage(message);
    });
    // Stays after the end, for grpc-js tells of our own cancelling by it.
    request.on("error", (error: ServiceError) => finish(this.#toRpcError(error, request)));
    request.on("end", () => finish(STATUS_OK));
    return {
      send: (message) => {
        if (isOpen) request.write(message);
      },
      pause: () => void request.pause(),
      resume: () => void request.resume(),
      close: () => {
        if (end()) request.cancel();
      },
    };
  }

  /** Ends calls that take too long. Every TICK_MS. */
  tick(): void {
    for (const call of this.#calls) {
      if (++call.ticks < CALL_TICKS_MAX) continue;
      const message = `no answer within ${(CALL_TICKS_MAX * TICK_MS) / 1000} s`;
      call.abort(new RpcError(GRPC_STATUS.deadlineExceeded, message, { isSent: true }));
    }
  }

  /** Every call under way fails. */
  close(): void {
    this.#isClosed = true;
    this.#forget();
    const reason = new RpcError(GRPC_STATUS.unavailable, "the connection was closed", {
      isSent: true,
    });
    for (const call of [...this.#calls, ...this.#streams]) call.abort(reason);
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) throw notConnected(this.url);
    // A client that lost its connection makes a new one; one that failed would wait ever longer
    // before its next attempt, so it is replaced.
    const client = this.#client ?? this.#newClient();
    this.#client = client;
    const failure = await this.#greet(client);
    if (failure !== undefined || this.#isClosed) {
      this.#forget();
      throw notConnected(this.url, failure);
    }
    this.#isReady = true;
    this.#generation++;
    client
      .getChannel()
      .watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () => {
        if (this.#client === client) this.#isReady = false;
      });
  }

  /**
   * Connects and waits for an answer of the health service, whatever it is: it proves that the peer
   * runs, where a TCP connection only proves that its kernel does.
   * @returns why it cannot be spoken to
   */
  #greet(client: Client): Promise<ServiceError | undefined> {
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        HEALTH_CHECK,
        asIs,
        asIs,
        encodeEmpty(),
        this.#metadataFor(undefined),
        { deadline: Date.now() + this.#options.dialTimeoutMs },
        (error) => {
          const isConnected =
            client.getChannel().getConnectivityState(false) === connectivityState.READY;
          const hasAnswered = error === null || error.code !== GRPC_STATUS.deadlineExceeded;
          resolve(isConnected && hasAnswered ? undefined : (error ?? undefined));
        },
      );
    });
  }

  #newClient(): Client {
    const { credentials, keepalive } = this.#options;
    const { protocol, hostname, port } = new URL(this.url);
    const defaultPort = protocol === "https:" ? HTTPS_PORT : HTTP_PORT;
    const client = new Client(`${hostname}:${port === "" ? defaultPort : port}`, credentials, {
      ...CHANNEL_OPTIONS,
      "grpc.keepalive_time_ms": keepalive.intervalMs,
      "grpc.keepalive_timeout_ms": keepalive.timeoutMs,
    });
    this.#target = client.getChannel().getTarget();
    return client;
  }

  #forget(): void {
    this.#isReady = false;
    this.#client?.close();
    this.#client = undefined;
  }

  /** Made once for each token: grpc-js copies it for every call, and that is enough copying. */
  #metadataFor(token: string | undefined): Metadata {
    if (this.#metadata !== undefined && this.#metadata.token === token) {
      return this.#metadata.metadata;
    }
    const metadata = new Metadata();
    // A member that is cut off from its cluster refuses at once instead of letting us wait.
    metadata.set("hasleader", "true");
    if (token !== undefined) metadata.set("token", token);
    this.#metadata = { token, metadata };
    return metadata;
  }

  #toRpcError(error: ServiceError | null, request: { getPeer(): string }): RpcError {
    if (error === null) {
      return new RpcError(GRPC_STATUS.internal, "no answer in the answer", { isSent: true });
    }
    // Until a stream is begun on a connection the call's peer is the target as we wrote it.
    const isStarted = request.getPeer() !== this.#target;
    const isSent = isStarted && !error.details.includes(REFUSED_STREAM);
    return new RpcError(error.code, error.details, { isSent, cause: error });
  }
}

/** What is the same for all. The reasons are grpc-js's defaults, which are made for the open network. */
const CHANNEL_OPTIONS: ChannelOptions = {
  // Repeating is EndpointPool's, which knows what may be repeated. Without a buffer for it a message
  // is not kept either: 30 µs less for each call.
  "grpc.enable_retries": 0,
  "grpc.per_rpc_retry_buffer_size": 0,
  "grpc.enable_channelz": 0,
  "grpc.service_config_disable_resolution": 1,
  // The HTTP proxy of the environment is for the outside world; etcd is next door.
  "grpc.enable_http_proxy": 0,
  // Calls and watches have connections of their own, and so has each store of a process.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc-node.flow_control_window": WINDOW_BYTES,
};

/** @throws {StorageError} Refused: not certificates, or a key without its certificate */
export function toCredentials(tls: EtcdTls | undefined, url: string): ChannelCredentials {
  if (!url.startsWith("https:")) return credentials.createInsecure();
  const bytes = (content: string | Buffer | undefined) =>
    content === undefined ? null : Buffer.from(content);
  try {
    return credentials.createSsl(bytes(tls?.ca), bytes(tls?.key), bytes(tls?.cert));
  } catch (error) {
    throw new StorageError("Refused", "the TLS files for etcd cannot be used", { cause: error });
  }
}

/** Messages are encoded and decoded by messages.ts. */
function asIs(message: Buffer): Buffer {
  return message;
}

function notConnected(url: string, cause?: unknown): RpcError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new RpcError(GRPC_STATUS.unavailable, `cannot connect to ${url}${detail}`, {
    isSent: false,
    cause,
  });
}
