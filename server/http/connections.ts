/**
 * Connections: tracks the open ones, and closes each without losing a request.
 *
 * A replica that shuts down goes through three states; each connection does so by itself:
 *
 *   serving ── leave() ──> leaving ── closeQuiet() ──> gone
 *
 * - leaving, HTTP/1.1: every request is answered with `Connection: close`, so that the client opens its
 *   next connection elsewhere. An idle connection is not closed yet.
 * - leaving, HTTP/2: GOAWAY names the last stream that is answered (RFC 9113, 6.8). A later stream that
 *   crossed it on the wire is known to be unprocessed, so clients send it again. Node.js does not offer the
 *   preceding graceful GOAWAY. A connection opened meanwhile is served one stream before that.
 * - gone: connections that have been quiet for a while are closed, right after all received data was read.
 *   A request that crosses the close on the wire is lost on HTTP/1.1 with any server (RFC 9112, 9.3.1); the
 *   quiet period makes that very rare.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2Session, ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../storage/base/clock.js";
import { nextTurn } from "../../storage/base/next-turn.js";
import type { Http2Request } from "../request/http2-request.js";
import { answerUnderWay } from "./answer-under-way.js";

/** Each turn of the event loop reads received data first, so a request rarely crosses a close. */
const CLOSED_PER_TURN = 16;
/** After our end the client has this long to end its side. */
const LINGER_MS = 1_000;

/** Refers to no request: each would survive V8's young collections until the next one comes (decision 59). */
interface Http1Connection {
  /** Bytes read at the last check. */
  bytesRead: number;
  quietSinceMs: number | undefined;
  endedAtMs: number | undefined;
}

export class Connections {
  readonly #clock: Clock;
  readonly #http1 = new Map<TLSSocket, Http1Connection>();
  readonly #sessions = new Set<ServerHttp2Session>();
  #isLeaving = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  addHttp1(socket: TLSSocket): void {
    this.#http1.set(socket, {
      bytesRead: -1,
      quietSinceMs: undefined,
      endedAtMs: undefined,
    });
    socket.once("close", () => this.#http1.delete(socket));
  }

  addHttp2(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    if (this.#isLeaving) session.once("stream", () => closeSoon(session));
  }

  /** The connection changes its protocol, which then ends it. */
  forget(socket: TLSSocket): void {
    this.#http1.delete(socket);
  }

  /** A request begins. False: its connection has already been ended, so an answer would be lost. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    if ("stream" in request) return true;
    const connection = this.#http1.get(request.socket as TLSSocket);
    if (connection === undefined) return true;
    if (connection.endedAtMs !== undefined) return false;
    if (this.#isLeaving) response.shouldKeepAlive = false;
    return true;
  }

  /**
   * Finishes the responses under way on the connection; the client's next request uses another one.
   */
  sendAway(request: IncomingMessage, response: ServerResponse): void {
    if (!("stream" in request)) response.shouldKeepAlive = false;
    else endConnection(request);
  }

  /** Asks every client to go elsewhere from now on; closes nothing yet. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    for (const session of this.#sessions) session.close();
    for (const [socket, connection] of this.#http1) this.#isQuiet(socket, connection);
  }

  /** What is not over yet, for the log. */
  get open(): { http1: number; http2: number; answersUnderWay: number; paused: number } {
    const sockets = [...this.#http1.keys()];
    return {
      http1: sockets.length,
      http2: this.#sessions.size,
      answersUnderWay: sockets.filter((socket) => answerUnderWay(socket) !== undefined).length,
      paused: sockets.filter((socket) => socket.isPaused()).length,
    };
  }

  /**
   * Closes connections that have been quiet for `quietMs`, a few per turn. Must be called repeatedly, as
   * quiet is detected by comparing two checks.
   */
  async closeQuiet(quietMs: number): Promise<void> {
    for (const session of this.#sessions) session.close();
    let looked = 0;
    for (const [socket, connection] of [...this.#http1]) {
      if (looked++ % CLOSED_PER_TURN === 0) await nextTurn();
      if (connection.endedAtMs !== undefined) {
        if (this.#msSince(connection.endedAtMs) > LINGER_MS) socket.destroy();
      } else if (this.#isQuiet(socket, connection) && this.#isLongAgo(connection, quietMs)) {
        connection.endedAtMs = this.#clock.monotonic();
        socket.end();
      }
    }
  }

  /** Whether nothing was under way at the last check and nothing has arrived since; of a paused one nobody knows. */
  #isQuiet(socket: TLSSocket, connection: Http1Connection): boolean {
    if (socket.isPaused() || answerUnderWay(socket) !== undefined) {
      connection.quietSinceMs = undefined;
      return false;
    }
    if (connection.quietSinceMs !== undefined && connection.bytesRead === socket.bytesRead) {
      return true;
    }
    connection.bytesRead = socket.bytesRead;
    connection.quietSinceMs = this.#clock.monotonic();
    return false;
  }

  #isLongAgo({ quietSinceMs }: Http1Connection, quietMs: number): boolean {
    return quietSinceMs !== undefined && this.#msSince(quietSinceMs) >= quietMs;
  }

  #msSince(ms: number): number {
    return this.#clock.monotonic() - ms;
  }
}

/**
 * The connection of the request gets no further ones: GOAWAY now, and it closes when the answers under way
 * are complete. Only HTTP/2's.
 */
export function endConnection(request: IncomingMessage): void {
  // The version does not tell: a request line of HTTP/1 may name any.
  if (!("stream" in request)) return;
  closeSoon((request as unknown as Http2Request).stream.session);
}

/**
 * Requests are announced while Node.js is inside the parser of the session's frames, and closing it there
 * works on memory that the parser goes on using.
 */
function closeSoon(session: Http2Session | undefined): void {
  if (session !== undefined) setImmediate(() => session.close());
}
