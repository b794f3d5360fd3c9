/**
 * One HTTP/2 connection to one etcd member, and gRPC calls over it. Takes encoded messages, gives
 * encoded answers; knows no etcd message. EndpointPool owns connections and ticks them.
 *
 * A member that is paused or cut off keeps its sockets open and says nothing. So while anything is
 * awaited, silence is answered by a probe (a call of the gRPC health service), and a probe without
 * an answer ends the connection: every call on it fails at once, and its users go elsewhere. These
 * are ordinary calls, not HTTP/2 pings, because etcd drops clients that ping more often than it likes.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from "node:http2";
import { isIP } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Clock } from "../base/clock.js";
import { GRPC_STATUS, RpcError } from "./errors.js";
import { MessageReader } from "./message-reader.js";
import { encodeEmpty } from "./messages.js";

/** Files of a TLS connection, already read. */
export interface EtcdTls {
  /** Certificates that etcd's certificate must go back to; absent = those that Node trusts. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
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

/**
 * How often EndpointPool ticks a connection. All times below are counted in ticks, not measured, so
 * that a process that was itself stopped for a while does not blame its peers.
 */
export const TICK_MS = 500;
/** Silence after which a probe is sent: 1.5 s. */
const IDLE_TICKS_MAX = 3;
/** How long a probe may be without an answer: 2 s. It is served from memory, never from the disk. */
const PROBE_TICKS_MAX = 4;
/** How long a unary call may take, whatever its signal says: 10 s, above etcd's own 7 s. */
const CALL_TICKS_MAX = 20;

/** How much a peer may send ahead of our reading, per call and per connection. */
const STREAM_WINDOW_BYTES = 8 * 1024 * 1024;
const SESSION_WINDOW_BYTES = 64 * 1024 * 1024;
/** Node's bound (in MB) on what a session may hold, above the largest answer that we take. */
const SESSION_MEMORY_MB = 2_048;

/** HTTP/2 has 2^30 stream numbers for us on one connection; a new one is begun long before. */
const REQUESTS_MAX = 2 ** 29;

const HTTPS_PORT = 443;

const HEALTH_CHECK = "/grpc.health.v1.Health/Check";

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_STATUS } = constants;
const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants;

/** Shared, because an Error with its stack for each call that goes well would cost 3 µs. */
const STATUS_OK = new RpcError(GRPC_STATUS.ok, "ok", { isSent: true });

interface PendingCall {
  ticks: number;
  fail(error: RpcError): void;
}

export class EtcdConnection {
  readonly #url: string;
  readonly #tls: EtcdTls | undefined;
  readonly #dialTimeoutMs: number;
  readonly #clock: Clock;
  #session: ClientHttp2Session | undefined;
  #opening: Promise<void> | undefined;
  #generation = 0;
  #requests = 0;
  #isClosed = false;
  readonly #calls = new Set<PendingCall>();
  #streams = 0;
  #isHeard = false;
  #idleTicks = 0;
  #probeTicks: number | undefined;

  constructor(options: {
    readonly url: string;
    readonly tls: EtcdTls | undefined;
    readonly dialTimeoutMs: number;
    readonly clock: Clock;
  }) {
    this.#url = options.url;
    this.#tls = options.tls;
    this.#dialTimeoutMs = options.dialTimeoutMs;
    this.#clock = options.clock;
  }

  get url(): string {
    return this.#url;
  }

  /** Grows with each new connection: what was learnt about the member may hold no longer. */
  get generation(): number {
    return this.#generation;
  }

  get isReady(): boolean {
    const session = this.#session;
    return session !== undefined && !session.closed && !session.destroyed;
  }

  /** Connects if need be. Callers share one attempt. @throws {RpcError} not sent */
  open(): Promise<void> {
    if (this.isReady) return Promise.resolve();
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /**
   * One request, one answer. The connection must be ready.
   * @throws {RpcError} @throws the signal's reason
   */
  unary(path: string, message: Buffer, token: string | undefined, signal: AbortSignal) {
    return new Promise<Buffer>((resolve, reject) => {
      const stream = this.#request(path, token);
      if (stream === undefined) return reject(notConnected(this.#url));
      let answer: Buffer | undefined;
      let isSettled = false;
      const settle = () => {
        isSettled = true;
        this.#calls.delete(call);
        signal.removeEventListener("abort", onAbort);
      };
      const call: PendingCall = {
        ticks: 0,
        fail(error) {
          if (isSettled) return;
          settle();
          stream.close(NGHTTP2_CANCEL);
          reject(error);
        },
      };
      const onAbort = () => {
        if (isSettled) return;
        settle();
        stream.close(NGHTTP2_CANCEL);
        reject(signal.reason);
      };
      this.#calls.add(call);
      signal.addEventListener("abort", onAbort);
      this.#receive(stream, {
        onMessage: (received) => {
          answer = received;
        },
        onEnd: (status) => {
          if (isSettled) return;
          settle();
          if (status === STATUS_OK && answer !== undefined) resolve(answer);
          else reject(status);
        },
      });
      stream.end(message);
    });
  }

  /** A call with many messages in both directions. @throws {RpcError} when not connected */
  stream(path: string, token: string | undefined, handlers: StreamHandlers): GrpcStream {
    const stream = this.#request(path, token);
    if (stream === undefined) throw notConnected(this.#url);
    let isOpen = true;
    this.#streams++;
    const end = (): boolean => {
      if (!isOpen) return false;
      isOpen = false;
      this.#streams--;
      return true;
    };
    this.#receive(stream, {
      onMessage: (message) => {
        if (isOpen) handlers.onMessage(message);
      },
      onEnd: (status) => {
        if (end()) handlers.onEnd(status);
      },
    });
    return {
      send: (message) => {
        if (isOpen && !stream.destroyed && !stream.closed) stream.write(message);
      },
      pause: () => void stream.pause(),
      resume: () => void stream.resume(),
      close: () => {
        if (end()) stream.close(NGHTTP2_CANCEL);
      },
    };
  }

  /** Looks after calls that take too long and a peer that has fallen silent. Every TICK_MS. */
  tick(): void {
    for (const call of this.#calls) {
      if (++call.ticks < CALL_TICKS_MAX) continue;
      const message = `no answer within ${(CALL_TICKS_MAX * TICK_MS) / 1000} s`;
      call.fail(new RpcError(GRPC_STATUS.deadlineExceeded, message, { isSent: true }));
    }
    if (!this.isReady || this.#isHeard || this.#calls.size + this.#streams === 0) {
      this.#isHeard = false;
      this.#idleTicks = 0;
      this.#probeTicks = undefined;
    } else if (this.#probeTicks !== undefined) {
      if (++this.#probeTicks >= PROBE_TICKS_MAX) this.#drop(`${this.#url} does not answer`);
    } else if (++this.#idleTicks >= IDLE_TICKS_MAX) {
      this.#probe();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#drop("the connection was closed");
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) throw notConnected(this.#url);
    const socket = this.#openTlsSocket();
    const session = connect(this.#url, {
      ...(socket === undefined ? {} : { createConnection: () => socket }),
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
    });
    const timeout = new AbortController();
    let cause: unknown;
    session.on("error", (error) => {
      cause = error;
    });
    const opened = new Promise<boolean>((resolve) => {
      // Its settings prove that the peer runs; that TCP connects only proves that its kernel does.
      session.once("remoteSettings", () => resolve(true));
      session.once("close", () => resolve(false));
      // After a TLS alert (our certificate was refused) the session ends without a word of its own.
      socket?.once("error", (error) => {
        cause = error;
        resolve(false);
      });
      this.#clock.sleep(this.#dialTimeoutMs, timeout.signal).then(
        () => resolve(false),
        () => {},
      );
    });
    const isOpen = await opened;
    timeout.abort();
    if (!isOpen || this.#isClosed || session.destroyed) {
      session.destroy();
      throw notConnected(this.#url, cause);
    }
    session.setLocalWindowSize(SESSION_WINDOW_BYTES);
    this.#session = session;
    this.#requests = 0;
    this.#generation++;
    this.#isHeard = true;
  }

  #openTlsSocket(): TLSSocket | undefined {
    const { protocol, hostname, port } = new URL(this.#url);
    if (protocol !== "https:") return undefined;
    const host = hostname.replace(/^\[|\]$/g, "");
    return connectTls({
      ...this.#tls,
      host,
      port: port === "" ? HTTPS_PORT : Number(port),
      // An address is no server name (RFC 6066, 3); the certificate is checked all the same.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ALPNProtocols: ["h2"],
    });
  }

  #request(path: string, token: string | undefined): ClientHttp2Stream | undefined {
    if (!this.isReady) return undefined;
    const headers: Record<string, string> = {
      [HTTP2_HEADER_METHOD]: "POST",
      [HTTP2_HEADER_PATH]: path,
      "content-type": "application/grpc",
      te: "trailers",
      // A member that is cut off from its cluster refuses at once instead of letting us wait.
      hasleader: "true",
    };
    if (token !== undefined) headers.token = token;
    try {
      const stream = this.#session?.request(headers);
      // An orderly close: what is under way finishes, and the next call opens a new connection.
      if (++this.#requests >= REQUESTS_MAX) this.#session?.close();
      return stream;
    } catch {
      return undefined; // the session is going away
    }
  }

  /** Turns the events of an HTTP/2 stream into messages and one end. */
  #receive(stream: ClientHttp2Stream, handlers: StreamHandlers): void {
    const reader = new MessageReader(handlers.onMessage);
    let status: RpcError | undefined;
    let failure: unknown;
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      handlers.onEnd(status ?? lostStream(stream, failure));
    };
    stream.on("response", (headers) => {
      this.#isHeard = true;
      status = statusOf(headers) ?? httpFailure(headers);
    });
    stream.on("trailers", (headers) => {
      status = statusOf(headers) ?? status;
    });
    stream.on("data", (chunk: Buffer) => {
      this.#isHeard = true;
      try {
        reader.push(chunk);
      } catch (error) {
        failure = error;
        status = undefined;
        stream.close(NGHTTP2_CANCEL);
        end();
      }
    });
    stream.on("error", (error) => {
      failure = error;
    });
    stream.on("end", () => {
      if (status !== undefined) end();
    });
    stream.on("close", end);
  }

  #probe(): void {
    this.#probeTicks = 0;
    const stream = this.#request(HEALTH_CHECK, undefined);
    if (stream === undefined) return;
    // Any answer will do, also "unimplemented": what counts is that there is one.
    this.#receive(stream, { onMessage: () => {}, onEnd: () => {} });
    stream.end(encodeEmpty());
  }

  #drop(reason: string): void {
    const session = this.#session;
    this.#session = undefined;
    this.#isHeard = false;
    session?.destroy(new Error(reason));
  }
}

function notConnected(url: string, cause?: unknown): RpcError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new RpcError(GRPC_STATUS.unavailable, `cannot connect to ${url}${detail}`, {
    isSent: false,
    cause,
  });
}

/** The end of a stream on which no status came: the peer went away, or we hung up. */
function lostStream(stream: ClientHttp2Stream, cause: unknown): RpcError {
  const detail = cause instanceof Error ? `: ${cause.message}` : "";
  return new RpcError(GRPC_STATUS.unavailable, `the connection was lost${detail}`, {
    // A refused stream is one that the peer has not looked at (RFC 9113, 8.7).
    isSent: stream.rstCode !== NGHTTP2_REFUSED_STREAM,
    cause,
  });
}

function statusOf(headers: IncomingHttpHeaders): RpcError | undefined {
  const status = headers["grpc-status"];
  if (status === undefined) return undefined;
  if (status === "0") return STATUS_OK;
  return new RpcError(Number(status), decodeMessage(headers["grpc-message"]), { isSent: true });
}

/** An answer that is not gRPC at all, as a proxy in between gives. */
function httpFailure(headers: IncomingHttpHeaders): RpcError | undefined {
  const status: unknown = headers[HTTP2_HEADER_STATUS];
  if (status === undefined || Number(status) === 200) return undefined;
  return new RpcError(GRPC_STATUS.unavailable, `HTTP status ${String(status)}`, { isSent: true });
}

/** gRPC percent-encodes its messages. */
function decodeMessage(message: string | string[] | undefined): string {
  const text = String(message ?? "");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
