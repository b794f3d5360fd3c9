/**
 * Listener: the one port of a replica, HTTPS only, with HTTP/2 and HTTP/1.1 by ALPN.
 *
 * The TLS server is Node's https server, so that HTTP/1.1 has all of its limits (headers, timeouts,
 * idle connections); connections that chose h2 go to an http2 server that does not listen itself.
 * Client certificates are requested but optional: each request decides what they prove. Nothing
 * that a client sends ends the process.
 */
import {
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttpsServer, type Server } from "node:https";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { assert } from "../../storage/base/assert.js";
import type { Clock } from "../../storage/base/clock.js";
import type { Logger } from "../../storage/base/logger.js";
import type { Metrics } from "../metrics/metrics.js";
import { countChunks, countFrames } from "./chunked-bodies.js";
import { answerClientError, answerConnect } from "./client-error.js";
import { Connections } from "./connections.js";
import { type Handshake, HandshakeTurns } from "./handshake-turns.js";
import { takeStream } from "./http2-streams.js";
import { PeerConduct } from "./peer-conduct.js";
import { PeerConducts } from "./peer-conducts.js";
import { PipelinedTurns } from "./pipelined-turns.js";
import { ReadingTurns } from "./reading-turns.js";
import type { RequestListener } from "./request-listener.js";
import { StreamTurns } from "./stream-turns.js";
import { answerUpgrade } from "./upgrade.js";

/** Long selectors and tokens fit; a flood of headers does not. kube-apiserver has 1 MiB. */
const HEADER_BYTES_MAX = 128 * 1024;
const HEADERS_COUNT_MAX = 500;
/** kube-apiserver's ReadHeaderTimeout. */
const HEADERS_TIMEOUT_MS = 32_000;
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** kube-apiserver's IdleTimeout; shorter ones make clients write into closing connections. */
const IDLE_TIMEOUT_MS = 90_000;
/** Added to the request timeout, as the body's reader gives the better answer. */
const BODY_TIMEOUT_EXTRA_MS = 15_000;
const TIMEOUT_CHECK_INTERVAL_MS = 5_000;
/** Detects peers that vanished silently, so that their watches end. */
const TCP_KEEP_ALIVE_DELAY_MS = 30_000;
/** kube-apiserver's --http2-max-streams-per-connection. */
const HTTP2_STREAMS_MAX = 250;
/** Resets that a connection may send at once; the default of Node.js is 1,000. PeerConduct allows 250 of unanswered requests, but acts only after all that was read at once. */
const HTTP2_RESETS_MAX = 500;
const HTTP2_RESETS_PER_SECOND = 50;
/** Malformed frames of one connection; Node.js takes 1,000. Some make the server reset streams. */
const HTTP2_INVALID_FRAMES_MAX = 100;
/** Memory for lists under way on one connection; further streams are refused. */
const HTTP2_SESSION_MEGABYTES_MAX = 64;
const HTTP2_WINDOW_BYTES = 256 * 1024;
const CLOSE_POLL_MS = 50;

/** Keys, certificates and client authorities, all PEM. */
export interface ServingCredentials {
  readonly key: string;
  readonly cert: string;
  /** Authorities of client certificates; undefined: no certificate is requested. */
  readonly clientAuthorities: string | undefined;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  /** Undefined: no connection gets through its handshake. */
  readonly credentials: ServingCredentials | undefined;
  readonly requestTimeoutMs: number;
  /** The share of requests that ask their client to reconnect elsewhere. */
  readonly goawayChance: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export class Listener {
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #sockets = new Set<Socket>();
  /** Connections in their TLS handshake, by the client's address and port. */
  readonly #handshakes = new Map<string, OpenHandshake>();
  readonly #handshakeTurns = new HandshakeTurns();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #conducts: PeerConducts;
  readonly #reading = new ReadingTurns();
  readonly #closing = new AbortController();

  private constructor(server: Server, { clock, logger }: ListenerOptions) {
    this.#server = server;
    this.#logger = logger;
    this.#clock = clock;
    this.#connections = new Connections(clock);
    this.#conducts = new PeerConducts(clock);
  }

  /** Opens the port. @throws {Error} EADDRINUSE, EACCES and the like */
  static async open(options: ListenerOptions, onRequest: RequestListener): Promise<Listener> {
    const server = createServer(options);
    const listener = new Listener(server, options);
    const { goawayChance } = options;
    const connections = listener.#connections;
    const handle: RequestListener = (request, response) => {
      if (!connections.begin(request, response)) {
        request.socket.destroy();
        return;
      }
      listener.#conducts.glance();
      if (goawayChance > 0 && Math.random() < goawayChance) connections.sendAway(request, response);
      onRequest(request, response);
    };
    const reading = listener.#reading;
    const pipelined = new PipelinedTurns(handle, reading);
    server.on("request", (request, response) => {
      if (request.headers["transfer-encoding"] !== undefined) {
        countChunks(request, reading);
      }
      if (response.socket === null) pipelined.take(request, response);
      else handle(request, response);
    });
    server.on("upgrade", (request, socket, head) => {
      connections.forget(socket as TLSSocket);
      answerUpgrade(request, socket as TLSSocket, head, handle);
    });
    listener.#dispatch(options, handle);
    const [toTls, ...others] = server.listeners("connection");
    assert(toTls !== undefined && others.length === 0, "OneSecureConnectionListener");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      const peer = peerOf(socket);
      const handshake: OpenHandshake = {
        socket,
        begin: () => void toTls.call(server, socket),
        stopReading: () => stopReading(socket),
        startReading: () => startReading(socket),
        bytesRead: () => socket.bytesRead,
      };
      listener.#sockets.add(socket);
      listener.#handshakes.set(peer, handshake);
      socket.once("close", () => {
        listener.#sockets.delete(socket);
        listener.#handshakeTurns.done(handshake);
        if (listener.#handshakes.get(peer) === handshake) listener.#handshakes.delete(peer);
      });
      listener.#handshakeTurns.take(handshake);
    });
    await new Promise<void>((resolve, reject) => {
      const fail = (error: Error) => reject(explained(error, options));
      server.once("error", fail);
      server.listen({ host: options.host, port: options.port }, () => {
        server.off("error", fail);
        resolve();
      });
    });
    server.on("error", (error) => options.logger.error({ err: error }, "listener failed"));
    void listener.#conducts.run(listener.#closing.signal);
    return listener;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return (this.#server.address() as AddressInfo).address;
  }

  /** For new connections. @throws {Error} when they are invalid; the old ones stay in use */
  replaceCredentials(credentials: ServingCredentials): void {
    this.#server.setSecureContext(secureContext(credentials));
  }

  /** Continues to serve, and asks every client to send its next request elsewhere. */
  leave(): void {
    this.#connections.leave();
  }

  /**
   * Stops accepting, lets requests under way finish for at most `graceMs`, then cuts the rest. Idle
   * connections close once they have been quiet for `quietMs`, counted from `leave`.
   */
  async close(graceMs: number, quietMs = 0): Promise<void> {
    this.#connections.leave();
    // Not the https server's own close, which ends idle connections at once, even if a request is
    // arriving.
    const closed = new Promise<void>((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    const until = new AbortController();
    const ends = this.#endConnections({ graceMs, quietMs, signal: until.signal });
    await closed;
    until.abort();
    await ends;
    this.#closing.abort();
    // Also ends its timer.
    this.#server.close();
  }

  async #endConnections({ graceMs, quietMs, signal }: Ending): Promise<void> {
    const begunAtMs = this.#clock.monotonic();
    const cutAtMs = begunAtMs + graceMs;
    // The first check may be the one that starts the quiet period.
    await this.#connections.closeQuiet(quietMs);
    try {
      do {
        if (this.#clock.monotonic() - begunAtMs >= quietMs) this.#cutHandshakes();
        await this.#connections.closeQuiet(quietMs);
        await this.#clock.sleep(Math.min(CLOSE_POLL_MS, graceMs), signal);
      } while (this.#clock.monotonic() < cutAtMs);
    } catch {
      return; // Everything is closed.
    }
    const open = this.#connections.open;
    this.#logger.warn(
      { ...open, afterMs: graceMs },
      "connections are cut: their requests did not finish",
    );
    // Below TLS, so that connections in their handshake end too.
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A connection without a finished handshake has no requests. */
  #cutHandshakes(): void {
    for (const { socket } of this.#handshakes.values()) socket.destroy();
  }

  /** Sends each new connection to the protocol that it chose. */
  #dispatch(options: ListenerOptions, handle: RequestListener): void {
    const server = this.#server;
    const [toHttp1, ...others] = server.listeners("secureConnection");
    assert(toHttp1 !== undefined && others.length === 0, "OneSecureConnectionListener");
    const http2 = createHttp2Server({
      maxSessionMemory: HTTP2_SESSION_MEGABYTES_MAX,
      maxSessionInvalidFrames: HTTP2_INVALID_FRAMES_MAX,
      streamResetBurst: HTTP2_RESETS_MAX,
      streamResetRate: HTTP2_RESETS_PER_SECOND,
      settings: {
        enablePush: false,
        maxConcurrentStreams: HTTP2_STREAMS_MAX,
        maxHeaderListSize: HEADER_BYTES_MAX,
        initialWindowSize: HTTP2_WINDOW_BYTES,
      },
    });
    http2.on("sessionError", (error) => {
      options.logger.debug({ err: error }, "HTTP/2 session failed");
    });
    server.removeAllListeners("secureConnection");
    server.on("secureConnection", (socket: TLSSocket) => {
      const peer = peerOf(socket);
      const handshake = this.#handshakes.get(peer);
      this.#handshakes.delete(peer);
      if (handshake !== undefined) this.#handshakeTurns.done(handshake);
      if (socket.alpnProtocol === "h2") {
        http2.once("session", (session) => this.#track(session, socket, options, handle));
        http2.emit("connection", socket);
      } else {
        this.#connections.addHttp1(socket);
        this.#readInTurns(socket);
        toHttp1.call(server, socket);
        keepParsing(socket);
      }
    });
  }

  /** Adds a connection of HTTP/1.1; one that Node.js or a flow's backlog has paused stays paused. */
  #readInTurns(socket: TLSSocket): void {
    const reading = {
      stopReading: () => stopReading(socket),
      startReading: () => {
        if (!socket.isPaused()) startReading(socket);
      },
    };
    this.#reading.add(reading);
    socket.once("close", () => this.#reading.remove(reading));
  }

  #track(
    session: ServerHttp2Session,
    socket: TLSSocket,
    { metrics, logger }: ListenerOptions,
    handle: RequestListener,
  ): void {
    let streams = 0;
    const turns = new StreamTurns((opened) => takeStream(opened, handle), this.#reading);
    const reading = {
      stopReading: () => stopReading(socket),
      startReading: () => startReading(socket),
    };
    const conduct = new PeerConduct({
      session,
      socket,
      stopReading: () => {
        this.#reading.remove(reading);
        stopReading(socket);
      },
      streamWindowBytes: HTTP2_WINDOW_BYTES,
      clock: this.#clock,
      onEnd(reason) {
        metrics.http2ConnectionsEnded.cell(reason).value++;
        logger.debug({ reason, peer: peerOf(socket) }, "HTTP/2 connection ended for its conduct");
      },
    });
    const bodyTaken = (bytes: number) => conduct.bodyTaken(bytes);
    function onClose(this: ServerHttp2Stream): void {
      streams--;
      conduct.streamClosed(this);
    }
    this.#connections.addHttp2(session);
    session.on(
      "stream",
      (
        stream: ServerHttp2Stream,
        headers: IncomingHttpHeaders,
        _flags: number,
        rawHeaders: string[],
      ) => {
        streams++;
        conduct.streamBegun(stream, rawHeaders);
        this.#conducts.begun(conduct);
        if (!stream.endAfterHeaders) countFrames(stream, this.#reading);
        stream.on("close", onClose);
        turns.take({ stream, headers, rawHeaders, socket, bodyTaken });
      },
    );
    this.#conducts.add(conduct);
    this.#reading.add(reading);
    session.once("close", () => {
      this.#conducts.remove(conduct);
      this.#reading.remove(reading);
    });
    session.setTimeout(IDLE_TIMEOUT_MS, () => {
      // A quiet watch is not idle.
      if (streams === 0) session.close();
    });
  }
}

interface OpenHandshake extends Handshake {
  /** Below TLS. */
  readonly socket: Socket;
}

interface Ending {
  readonly graceMs: number;
  readonly quietMs: number;
  /** Aborted when all connections have ended. */
  readonly signal: AbortSignal;
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function createServer({ credentials, requestTimeoutMs, logger, metrics }: ListenerOptions): Server {
  const server = createHttpsServer({
    ...(credentials && secureContext(credentials)),
    ALPNProtocols: ["h2", "http/1.1"],
    requestCert: credentials?.clientAuthorities !== undefined,
    rejectUnauthorized: false,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // Node requires at least the headers' timeout.
    requestTimeout: Math.max(requestTimeoutMs + BODY_TIMEOUT_EXTRA_MS, HEADERS_TIMEOUT_MS),
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_DELAY_MS,
    noDelay: true,
  });
  server.maxHeadersCount = HEADERS_COUNT_MAX;
  server.on("clientError", answerClientError);
  server.on("connect", (_request, socket) => answerConnect(socket));
  const handshakeErrors = metrics.tlsHandshakeErrors.cell();
  server.on("tlsClientError", (error) => {
    handshakeErrors.value++;
    logger.debug({ err: error }, "TLS handshake failed");
  });
  return server;
}

/**
 * If an answer has not begun when the next request arrives, Node pauses both the socket and the parser.
 * Data that TLS has already decrypted then meets a paused parser, which reports a malformed request
 * (HPE_PAUSED) and closes the connection. Pausing the socket is enough: at most a record or two are
 * already decrypted.
 */
function keepParsing(socket: TLSSocket): void {
  const { parser } = socket as { parser?: { pause(): void } | null };
  if (parser) parser.pause = doNothing;
}

function doNothing(): void {}

/** Node.js lets nobody pause the socket of an HTTP/2 session; what a session, or a parser, reads is read by the socket's handle. */
function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as { _handle?: { readStop?(): void } | null };
  handle?.readStop?.();
}

function startReading(socket: Socket): void {
  const { _handle: handle } = socket as { _handle?: { readStart?(): void } | null };
  handle?.readStart?.();
}

/** @throws {Error} without certificate or key, which Node accepts and then fails every handshake */
function secureContext({ key, cert, clientAuthorities }: ServingCredentials) {
  if (!cert.includes("-----BEGIN")) throw new Error("the serving certificate file holds no PEM");
  if (!key.includes("-----BEGIN")) throw new Error("the file of the serving key holds no PEM");
  return {
    key,
    cert,
    minVersion: "TLSv1.2" as const,
    ...(clientAuthorities === undefined ? {} : { ca: clientAuthorities }),
  };
}

/** Why the port cannot be opened, and what to do about it. */
function explained(
  error: NodeJS.ErrnoException,
  { host, port }: Pick<ListenerOptions, "host" | "port">,
): Error {
  const place = `port ${port} of ${host}`;
  if (error.code === "EADDRINUSE") {
    const hint = "end it, or choose another port with --secure-port (0 = any free one)";
    return new Error(`${place} is in use by another process (EADDRINUSE): ${hint}`, {
      cause: error,
    });
  }
  if (error.code === "EACCES") {
    const hint = "ports below 1024 need a privilege; choose another with --secure-port";
    return new Error(`${place} may not be opened (EACCES): ${hint}`, { cause: error });
  }
  return error;
}
