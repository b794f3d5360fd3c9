/**
 * One etcd member: a channel of @grpc/grpc-js with one HTTP/2 connection and its calls, and, if enabled,
 * LeanLines beside it: for small calls and for lists, or for streams. Takes and returns encoded messages; knows no etcd message.
 * EndpointPool owns connections and ticks them.
 *
 * The library provides framing, flow control, TLS, and pings that detect a member which is paused or
 * cut off and keeps its sockets open. This class adds: one connection attempt at a time and only on
 * demand; an end for calls that take too long or whose caller has gone (by a shared timer and
 * listener, which cost a call nothing); and whether a failed request was ever sent.
 */
import {
  Channel,
  type ChannelCredentials,
  type ChannelOptions,
  connectivityState,
  credentials,
  Metadata,
} from "@grpc/grpc-js";
import type { AbortHub } from "../base/abort-hub.js";
import type { Logger } from "../base/logger.js";
import { Slots } from "../base/slots.js";
import { StorageError } from "../kv/errors.js";
import { AnswerTooLong, GRPC_STATUS, RpcError } from "./errors.js";
import {
  type CallPlan,
  type GrpcStream,
  StreamCall,
  type StreamHandlers,
  UnaryCall,
} from "./grpc-calls.js";
import type { LeanCall } from "./lean-call.js";
import { LeanLine } from "./lean-line.js";
import type { LeanStream } from "./lean-stream.js";
import { MESSAGE_BYTES_MAX } from "./message-reader.js";
import { encodeEmpty } from "./messages.js";
import type { EtcdTls } from "./tls.js";

/** When a silent member is given up. */
export interface EtcdKeepalive {
  /**
   * Interval of pings while a response is awaited. etcd drops clients that ping more often than its
   * --grpc-keepalive-min-time (5 s by default).
   */
  readonly intervalMs: number;
  /** How long a ping may stay unanswered. */
  readonly timeoutMs: number;
}

export interface EtcdConnectionOptions {
  readonly url: string;
  /** The same ones until the TLS files have other contents. */
  readonly credentials: () => ChannelCredentials;
  readonly keepalive: EtcdKeepalive;
  /** How long connecting may take, including the first response. */
  readonly dialTimeoutMs: number;
  /** Shared with all other listeners on the same signals. */
  readonly aborts: AbortHub;
  /** Enables connections of our own for what it is used for; all else uses grpc-js. */
  readonly lean?: LeanOptions;
}

/** What a connection is for: no call waits behind the events of a watch. */
export type ConnectionPurpose = "calls" | "streams";

interface LeanOptions {
  readonly tls: EtcdTls | undefined;
  readonly logger: Logger;
  readonly purpose: ConnectionPurpose;
}

/** One request, one answer. */
export interface UnaryRequest {
  /** "/etcdserverpb.KV/Range" */
  readonly path: string;
  readonly message: Buffer;
  /** Whether the answer may be long, such as a list: then no small call waits behind it. */
  readonly isLong?: boolean;
  /** The call's W3C Trace Context; undefined = it is not traced. */
  readonly traceparent?: string | undefined;
}

/** How often EndpointPool ticks a connection. */
export const TICK_MS = 500;
/**
 * How long a unary call may take in all, whatever its signal says: 10 s, above etcd's own 7 s. Counted in
 * ticks, so that a process that was itself stopped does not blame its peers.
 */
const CALL_TICKS_MAX = 20;

/** How much a peer may send ahead of our reading. */
const WINDOW_BYTES = 8 * 1024 * 1024;

const HTTP_PORT = 80;
const HTTPS_PORT = 443;

const HEALTH_CHECK = "/grpc.health.v1.Health/Check";

export class EtcdConnection {
  readonly #options: EtcdConnectionOptions;
  #channel: Channel | undefined;
  /** What the channel was made with. */
  #credentials: ChannelCredentials | undefined;
  #isReady = false;
  #opening: Promise<void> | undefined;
  #generation = 0;
  readonly #closed = new AbortController();
  readonly #small: LeanLine | undefined;
  readonly #long: LeanLine | undefined;
  readonly #streaming: LeanLine | undefined;
  readonly #calls = new Slots<UnaryCall | LeanCall>();
  readonly #streams = new Set<StreamCall | LeanStream>();
  #metadata: { readonly token: string | undefined; readonly metadata: Metadata } | undefined;

  constructor(options: EtcdConnectionOptions) {
    this.#options = options;
    const { lean } = options;
    if (lean === undefined) return;
    if (lean.purpose === "streams") {
      this.#streaming = this.#newLine(lean);
    } else {
      this.#small = this.#newLine(lean);
      this.#long = this.#newLine(lean);
    }
  }

  get url(): string {
    return this.#options.url;
  }

  /** Increases with each new connection: facts learnt about the member may be outdated. */
  get generation(): number {
    return this.#generation;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Connects if necessary. Callers share one attempt. @throws {RpcError} not sent */
  open(): Promise<void> {
    if (this.#isReady) return Promise.resolve();
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /**
   * The connection must be ready.
   * @param ticksUsed how much of its time the call has already spent, on other members or on
   * connecting
   * @throws {RpcError} @throws the signal's reason
   */
  unary(
    request: UnaryRequest,
    token: string | undefined,
    signal: AbortSignal,
    ticksUsed = 0,
  ): Promise<Buffer> {
    if (!request.isLong) {
      // What is asked about the member of a stream is asked of the same one, whatever stands between.
      const line = this.#small ?? this.#streaming;
      return this.#unary(line, request, token, signal, ticksUsed);
    }
    return this.#unary(this.#long, request, token, signal, ticksUsed).catch((error) => {
      if (!(error instanceof AnswerTooLong)) throw error;
      return this.#unary(undefined, request, token, signal, ticksUsed);
    });
  }

  /** @param line undefined = grpc-js sends it, whose answers have another bound */
  #unary(
    line: LeanLine | undefined,
    request: UnaryRequest,
    token: string | undefined,
    signal: AbortSignal,
    ticksUsed: number,
  ): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const { aborts } = this.#options;
      const onEnd = (failure: unknown, answer: Buffer | undefined) => {
        this.#calls.remove(place);
        aborts.delete(signal, abortPlace);
        if (answer === undefined) reject(failure);
        else resolve(answer);
      };
      const { path, message, traceparent } = request;
      const lean = line?.begin(request, token, onEnd);
      const call = lean ?? new UnaryCall(this.#plan(path, token, traceparent), message, onEnd);
      call.ticks = ticksUsed;
      const place = this.#calls.add(call);
      const abortPlace = aborts.add(signal, call);
    });
  }

  /** A call with many messages in both directions. @throws {RpcError} when not connected */
  stream(path: string, token: string | undefined, handlers: StreamHandlers): GrpcStream {
    const plan = this.#plan(path, token);
    const observed: StreamHandlers = {
      onMessage: (message) => handlers.onMessage(message),
      onEnd: (status) => {
        this.#streams.delete(stream);
        handlers.onEnd(status);
      },
    };
    const stream =
      this.#streaming?.beginStream(path, token, observed) ?? new StreamCall(plan, observed);
    this.#streams.add(stream);
    return stream;
  }

  /** Ends calls that take too long. Every TICK_MS. */
  tick(): void {
    for (const call of this.#calls) {
      if (++call.ticks < CALL_TICKS_MAX) continue;
      const message = `no answer within ${(CALL_TICKS_MAX * TICK_MS) / 1000} s`;
      const { isSent } = call;
      call.abort(new RpcError(GRPC_STATUS.deadlineExceeded, message, { isSent }));
    }
    for (const line of this.#lines) line?.tick(this.#isReady);
  }

  /** Fails every call under way. */
  close(): void {
    this.#closed.abort();
    this.#forget();
    const options = { isSent: true };
    const reason = new RpcError(GRPC_STATUS.unavailable, "the connection was closed", options);
    for (const call of [...this.#calls, ...this.#streams]) call.abort(reason);
    for (const line of this.#lines) line?.destroy(reason);
  }

  async #connect(): Promise<void> {
    if (this.#closed.signal.aborted) throw notConnected(this.url);
    // A channel that lost its connection makes a new one. One that failed to connect would back off
    // ever longer, so it is replaced; so is one whose TLS files were replaced.
    if (this.#channel !== undefined && this.#credentials !== this.#options.credentials()) {
      this.#forget();
    }
    const channel = this.#channel ?? this.#newChannel();
    this.#channel = channel;
    const [failure] = await Promise.all([
      this.#greet(channel),
      ...this.#lines.map((line) => line?.dial()),
    ]);
    if (failure !== undefined || this.#closed.signal.aborted) {
      this.#forget();
      throw notConnected(this.url, failure);
    }
    this.#isReady = true;
    this.#generation++;
    channel.watchConnectivityState(connectivityState.READY, Number.POSITIVE_INFINITY, () => {
      if (this.#channel === channel) this.#isReady = false;
    });
  }

  get #lines(): readonly (LeanLine | undefined)[] {
    return [this.#small, this.#long, this.#streaming];
  }

  /**
   * When its connection is lost, the member is greeted again before its next call, as grpc-js may not have
   * noticed yet.
   */
  #newLine({ tls, logger }: LeanOptions): LeanLine {
    const { url, keepalive, dialTimeoutMs: timeoutMs } = this.#options;
    const pingAfterTicks = Math.max(1, Math.ceil(keepalive.intervalMs / TICK_MS));
    const lostAfterTicks = Math.max(1, Math.ceil(keepalive.timeoutMs / TICK_MS));
    const { signal } = this.#closed;
    return new LeanLine({
      dial: { url, tls, timeoutMs, signal, pingAfterTicks, lostAfterTicks },
      logger,
      onDialed: () => this.#generation++,
      onLost: () => {
        this.#isReady = false;
      },
    });
  }

  /**
   * Connects and waits for any answer of the health service: it proves that the peer's process
   * runs, while a TCP connection only proves that its kernel does.
   * @returns the reason when the member is unusable
   */
  #greet(channel: Channel): Promise<unknown> {
    return new Promise((resolve) => {
      const plan = { channel, path: HEALTH_CHECK, metadata: this.#metadataFor(undefined) };
      const onEnd = (failure: unknown) => {
        const isConnected = channel.getConnectivityState(false) === connectivityState.READY;
        const isMute =
          failure instanceof RpcError && failure.status === GRPC_STATUS.deadlineExceeded;
        if (isConnected && !isMute) resolve(undefined);
        else resolve(failure ?? new Error("the connection was lost"));
      };
      new UnaryCall(plan, encodeEmpty(), onEnd, Date.now() + this.#options.dialTimeoutMs);
    });
  }

  #newChannel(): Channel {
    const { keepalive } = this.#options;
    const credentials = this.#options.credentials();
    this.#credentials = credentials;
    return new Channel(targetOf(this.url), credentials, {
      ...CHANNEL_OPTIONS,
      "grpc.keepalive_time_ms": keepalive.intervalMs,
      "grpc.keepalive_timeout_ms": keepalive.timeoutMs,
    });
  }

  #forget(): void {
    this.#isReady = false;
    this.#channel?.close();
    this.#channel = undefined;
  }

  /** @throws {RpcError} when not connected */
  #plan(path: string, token: string | undefined, traceparent?: string): CallPlan {
    if (this.#channel === undefined) throw notConnected(this.url);
    const metadata = this.#metadataFor(token);
    if (traceparent === undefined) return { channel: this.#channel, path, metadata };
    const traced = metadata.clone();
    traced.set("traceparent", traceparent);
    return { channel: this.#channel, path, metadata: traced };
  }

  /** Made once per token: grpc-js already copies it for every call. */
  #metadataFor(token: string | undefined): Metadata {
    if (this.#metadata !== undefined && this.#metadata.token === token) {
      return this.#metadata.metadata;
    }
    const metadata = new Metadata();
    // A member that is cut off from its cluster then refuses at once instead of letting us wait.
    metadata.set("hasleader", "true");
    if (token !== undefined) metadata.set("token", token);
    this.#metadata = { token, metadata };
    return metadata;
  }
}

/** Options for all channels, with reasons; the defaults of grpc-js are made for the open network. */
const CHANNEL_OPTIONS: ChannelOptions = {
  // EndpointPool retries, as it knows which calls may be repeated. Without a retry buffer grpc-js
  // does not keep the message either, which is cheaper.
  "grpc.enable_retries": 0,
  "grpc.per_rpc_retry_buffer_size": 0,
  "grpc.enable_channelz": 0,
  "grpc.service_config_disable_resolution": 1,
  // The environment's HTTP proxy is for the outside world; etcd is local.
  "grpc.enable_http_proxy": 0,
  // Calls and watches have separate connections, and so has each store of a process.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.max_receive_message_length": MESSAGE_BYTES_MAX,
  "grpc-node.flow_control_window": WINDOW_BYTES,
};

/** How grpc-js names an endpoint. */
export function targetOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const defaultPort = protocol === "https:" ? HTTPS_PORT : HTTP_PORT;
  return `${hostname}:${port === "" ? defaultPort : port}`;
}

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

function notConnected(url: string, cause?: unknown): RpcError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new RpcError(GRPC_STATUS.unavailable, `cannot connect to ${url}${detail}`, {
    isSent: false,
    cause,
  });
}
