/**
 * A ResponseSink over a WebSocket (RFC 6455): each write is one message. For watches of clients that
 * cannot read a body incrementally, such as scripts in a browser (S1-WATCH-26). The request has been
 * authenticated and authorized like any other; messages from the client are discarded.
 */
import type { Socket } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import type { Naming } from "../api/naming.js";
import { badRequest, forbiddenPath } from "../api/status.js";
import type { RequestContext, RequestState } from "../request/request-state.js";
import type { Upgrade } from "../request/upgrade.js";
import type { ResponseSink, SharedChunk } from "./sink.js";

export interface WebSocketOptions {
  /** Whether messages are text; otherwise they are binary. */
  readonly isText: boolean;
  /** Bytes at the start of each write that a message does not need, such as its length. */
  readonly framingBytes?: number;
  /** The sub-protocol whose messages are binary. */
  readonly binaryProtocol: string;
  /** The sub-protocol whose messages are base64 text. */
  readonly base64Protocol: string;
  /** Whether the sub-protocol changes the messages. Otherwise one may be offered, which is echoed. */
  readonly obeysProtocols: boolean;
}

/**
 * For a watch, whose messages are events in the negotiated encoding whatever sub-protocol the client offers.
 * @param contentType of the events
 */
export function watchSocketOptions(naming: Naming, contentType: string): WebSocketOptions {
  const isText = contentType.startsWith("application/json");
  const framingBytes = contentType.includes("protobuf") ? LENGTH_BYTES : 0;
  return { ...webSocketOptions(naming), isText, framingBytes, obeysProtocols: false };
}

/** Before each event of a Protobuf stream. */
const LENGTH_BYTES = 4;

/** For bytes, with the sub-protocols that clients of the existing system offer. */
export function webSocketOptions({ groupDomain }: Naming): WebSocketOptions {
  return {
    isText: false,
    obeysProtocols: true,
    binaryProtocol: `binary.${groupDomain}`,
    base64Protocol: `base64.binary.${groupDomain}`,
  };
}

/** Limit for client messages, which are not expected. */
const CLIENT_MESSAGE_BYTES_MAX = 4 * 1024;
/** A client that sends pings without reading the pongs is disconnected. */
const PONG_BACKLOG_BYTES_MAX = 64 * 1024;
/** Frames that a client may send at once, as nobody needs them, and how many more each second: 64 KiB are thousands of pings. */
const CLIENT_FRAMES_MAX = 200;
const CLIENT_FRAMES_PER_SECOND = 10;
/** RFC 6455 section 7.4.1: a normal closure. */
const CLOSE_NORMAL = 1000;
/** How long a client that broke the protocol has to read why; what it sends meanwhile is thrown away. */
const REASON_READ_MS = 1_000;

/** Answers with 101 and takes over the connection. @throws {StatusError} 400, 403 */
export function openWebSocketSink(
  ctx: RequestContext,
  upgrade: Upgrade,
  options: WebSocketOptions,
): ResponseSink {
  refuseForeignOrigin(ctx);
  if (!options.obeysProtocols && protocolsOffered(ctx).length > 1) {
    throw badRequest("a WebSocket of a watch may offer one subprotocol");
  }
  const socket = acceptWebSocket(ctx, upgrade, options);
  ctx.status = 101;
  ctx.respond = false;
  return new WebSocketSink(ctx, socket, upgrade.socket, options);
}

/**
 * A page of another site can make a browser open a WebSocket, and the browser presents its user's
 * certificate. A token, by contrast, is sent deliberately.
 */
export function refuseForeignOrigin(ctx: RequestContext): void {
  const { origin, host, authorization } = ctx.req.headers;
  if (origin === undefined || authorization !== undefined) return;
  const isOwn = URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
  if (!isOwn) throw forbiddenPath(`origin ${JSON.stringify(origin)} is not allowed`);
}

/** The subprotocols of a WebSocket. */
export function protocolsOffered({ req }: Pick<RequestContext, "req">): readonly string[] {
  const header = req.headers["sec-websocket-protocol"] ?? "";
  return header === "" ? [] : header.split(",").map((protocol) => protocol.trim());
}

function acceptWebSocket(ctx: RequestContext, upgrade: Upgrade, options: WebSocketOptions) {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    autoPong: false,
    // A frame in each turn: what the client has written ahead is thousands.
    allowSynchronousEvents: false,
    maxPayload: CLIENT_MESSAGE_BYTES_MAX,
    handleProtocols: (offered) => chooseProtocol([...offered], options),
  });
  let refusal: Error | undefined;
  let accepted: WebSocket | undefined;
  server.on("wsClientError", (error) => {
    refusal = error;
  });
  server.on("headers", (headers) => {
    const common = ctx.state.commonHeaders();
    for (let at = 0; at < common.length; at += 2) headers.push(`${common[at]}: ${common[at + 1]}`);
  });
  const { request, socket, head } = upgrade;
  server.handleUpgrade(request, socket, head, (webSocket) => {
    accepted = webSocket;
  });
  if (accepted === undefined) throw badRequest(refusal?.message ?? "the WebSocket was not opened");
  return accepted;
}

function chooseProtocol(
  offered: readonly string[],
  { binaryProtocol, base64Protocol }: WebSocketOptions,
): string | false {
  for (const known of [binaryProtocol, base64Protocol]) if (offered.includes(known)) return known;
  // A browser fails when none of its protocols is chosen; a single one is unambiguous.
  const [only] = offered;
  return offered.length === 1 && only !== undefined ? only : false;
}

class WebSocketSink implements ResponseSink {
  readonly isMessageBased = true;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #state: RequestState;
  readonly #isText: boolean;
  readonly #isBase64: boolean;
  readonly #framingBytes: number;
  #onDrain: (() => void) | undefined;
  #isClosed = false;

  constructor(
    ctx: RequestContext,
    webSocket: WebSocket,
    socket: Socket,
    options: WebSocketOptions,
  ) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#state = ctx.state;
    this.#isBase64 = options.obeysProtocols && webSocket.protocol === options.base64Protocol;
    this.#isText = options.isText;
    this.#framingBytes = options.framingBytes ?? 0;
    webSocket.on("error", () => this.#endSoon());
    const mayGoOn = frameAllowance(() => performance.now());
    webSocket.on("ping", (data) => {
      if (webSocket.readyState !== webSocket.OPEN) return;
      const isRead = socket.writableLength <= PONG_BACKLOG_BYTES_MAX;
      if (isRead && mayGoOn()) webSocket.pong(data);
      else webSocket.terminate();
    });
    webSocket.on("message", () => {
      if (!mayGoOn()) webSocket.terminate();
    });
    webSocket.once("close", () => {
      this.#isClosed = true;
      if (this.#onDrain !== undefined) socket.off("drain", this.#onDrain);
    });
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  writeInPlace(memory: Buffer, start: number, end: number): boolean {
    return this.write(memory.subarray(start, end));
  }

  write(chunk: Buffer | string | SharedChunk, flushed?: () => void): boolean {
    if (this.#isClosed || this.#webSocket.readyState !== this.#webSocket.OPEN) return false;
    const bytes = toBuffer(chunk).subarray(this.#framingBytes);
    if (bytes.length === 0) return true;
    this.#state.bytesSent += bytes.length;
    if (this.#isBase64) this.#webSocket.send(bytes.toString("base64"), flushed);
    else this.#webSocket.send(bytes, { binary: !this.#isText }, flushed);
    return !this.#socket.writableNeedDrain;
  }

  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  onDrain(callback: () => void): void {
    if (this.#isClosed) return;
    if (this.#onDrain !== undefined) this.#socket.off("drain", this.#onDrain);
    this.#onDrain = callback;
    this.#socket.on("drain", callback);
  }

  onClose(callback: () => void): void {
    if (this.#isClosed) queueMicrotask(callback);
    else this.#webSocket.once("close", callback);
  }

  end(): void {
    if (!this.#isClosed) this.#webSocket.close(CLOSE_NORMAL);
  }

  destroy(): void {
    this.#webSocket.terminate();
  }

  /** The library has sent the reason, which a socket that is destroyed at once may take along. */
  #endSoon(): void {
    const timer = setTimeout(() => this.#webSocket.terminate(), REASON_READ_MS);
    this.#webSocket.once("close", () => clearTimeout(timer));
  }
}

/** False for each frame that is one too many. */
export function frameAllowance(now: () => number): () => boolean {
  let left = CLIENT_FRAMES_MAX;
  let countedMs = now();
  return () => {
    if (left < 1) {
      const nowMs = now();
      const refilled = ((nowMs - countedMs) / 1_000) * CLIENT_FRAMES_PER_SECOND;
      left = Math.min(CLIENT_FRAMES_MAX, left + refilled);
      countedMs = nowMs;
    }
    if (left < 1) return false;
    left--;
    return true;
  };
}

function toBuffer(chunk: Buffer | string | SharedChunk): Buffer {
  if (typeof chunk === "string") return Buffer.from(chunk, "utf8");
  return Buffer.isBuffer(chunk) ? chunk : chunk.bytes;
}
