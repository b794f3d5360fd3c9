/**
 * Connections: which are open, and how each is left without losing a request.
 *
 * A replica that is told to end goes through three states; each connection does so by itself:
 *
 *   serving ── leave() ──> leaving ── closeQuiet() ──> gone
 *
 * - leaving, HTTP/1.1: whatever is asked is answered, with `Connection: close`, so that the client opens
 *   its next connection elsewhere. Nothing is closed that is not being answered.
 * - leaving, HTTP/2: GOAWAY names the last stream that is answered (RFC 9113, 6.8). A later one, which has
 *   crossed it on the wire, is known to be unprocessed, so clients send it again. The notice that refuses
 *   nothing, which might precede it, Node.js does not offer. A connection that is opened meanwhile is
 *   served one stream before that.
 * - gone: what has been quiet for a while is closed, right after all that the kernel had received was
 *   read. A request that crosses the end on the wire is lost on HTTP/1.1, whoever serves (RFC 9112, 9.3.1);
 *   the wait before makes that as rare as a client that is silent for long and speaks in that moment.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../storage/base/clock.js";

/** Each turn of the event loop reads first what has come, so a request rarely meets its connection's end. */
const CLOSED_PER_TURN = 16;
/** After our end the client has this long to end its side. */
const LINGER_MS = 1_000;

interface Http1Connection {
  /** The newest; answers keep their order, so when it is over all are. */
  response: ServerResponse | undefined;
  /** Bytes read when it was last looked at. */
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
      response: undefined,
      bytesRead: -1,
      quietSinceMs: undefined,
      endedAtMs: undefined,
    });
    socket.once("close", () => this.#http1.delete(socket));
  }

  addHttp2(session: ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    if (this.#isLeaving) session.once("stream", () => session.close());
  }

  /** It speaks another protocol from now on, and ends as that does. */
  forget(socket: TLSSocket): void {
    this.#http1.delete(socket);
  }

  /** A request begins. False: its connection was ended before it came, so nobody would see the answer. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.httpVersionMajor >= 2) return true;
    const connection = this.#http1.get(request.socket as TLSSocket);
    if (connection === undefined) return true;
    if (connection.endedAtMs !== undefined) return false;
    connection.response = response;
    if (this.#isLeaving) response.shouldKeepAlive = false;
    return true;
  }

  /** What is under way on the request's connection goes on; the next request comes on another one. */
  sendAway(request: IncomingMessage, response: ServerResponse): void {
    if (request.httpVersionMajor < 2) response.shouldKeepAlive = false;
    else (request as unknown as Http2ServerRequest).stream.session?.close();
  }

  /** From now on every client is asked to go elsewhere; nothing is closed yet. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    for (const session of this.#sessions) session.close();
    for (const [socket, connection] of this.#http1) this.#isQuiet(socket, connection);
  }

  /**
   * Closes what has been quiet for `quietMs`, a few in each turn. To be called again and again: it is by
   * two looks that one knows of quiet.
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

  /** Whether nothing was under way at the last look and nothing has come since. */
  #isQuiet(socket: TLSSocket, connection: Http1Connection): boolean {
    const { response } = connection;
    if (response !== undefined && !response.closed) {
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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
