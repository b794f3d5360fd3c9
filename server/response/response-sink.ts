/**
 * ResponseSink: a response written in pieces, for streamed lists and watches. Opening one takes the
 * response away from Koa; apart from the http layer, only this file uses `ctx.res`.
 *
 * A watch event goes to hundreds of sockets, so over HTTP/1.1 the sink does the chunked framing
 * itself and writes one finished buffer to the socket: Node's own `res.write` makes three buffers
 * and an extra tick for each. A `SharedChunk` is framed once for all sinks. Figures are in
 * docs/dev/decisions/0006-transport-and-koa.md.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { Http2Response } from "../request/http2-response.js";
import {
  applyCommonHeaders,
  type RequestContext,
  type RequestState,
} from "../request/request-state.js";
import { upgradeOf } from "../request/upgrade.js";
import { CRLF, FRAME_TAIL_BYTES, frame, type ResponseSink, SharedChunk } from "./sink.js";
import { openWebSocketSink, type WebSocketOptions } from "./web-socket-sink.js";

/** Larger pieces are written in three parts instead of being copied into a frame. */
const FRAME_COPY_BYTES_MAX = 16 * 1024;

/** Of a large piece: encrypting so much takes some ten microseconds, and hundreds of streams may have some. */
const SLICE_BYTES = 64 * 1024;

const NO_BYTES = Buffer.alloc(0);

export interface SinkOptions {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Clients may request a WebSocket; absent = the response stays plain HTTP. */
  readonly webSocket?: WebSocketOptions;
}

/**
 * Sends status and headers now and takes over the body.
 * @throws {StatusError} 400, 403 for a WebSocket that cannot be opened
 */
export function openSink(
  ctx: RequestContext,
  { status, headers, webSocket }: SinkOptions,
): ResponseSink {
  const upgrade = webSocket === undefined ? undefined : upgradeOf(ctx.req);
  if (webSocket !== undefined && upgrade !== undefined) {
    return openWebSocketSink(ctx, upgrade, webSocket);
  }
  applyCommonHeaders(ctx);
  ctx.status = status;
  ctx.set(headers);
  ctx.respond = false;
  const { res } = ctx;
  const socket = res.socket as Socket | null;
  const headCork =
    ctx.req.httpVersionMajor === 1 && socket !== null ? new HeadCork(socket) : undefined;
  // Header values are bytes. Node writes them as such before a buffer, but as UTF-8 before the empty
  // string of `flushHeaders`, which would encode warnings twice.
  if (ctx.req.httpVersionMajor === 1) res.write(NO_BYTES);
  else ctx.flushHeaders();
  if (ctx.method === "HEAD") return openEmptySink(ctx);
  // A pipelined response that is still queued has no socket yet, and HTTP/1.0 has no chunks.
  const canFrame =
    ctx.req.httpVersionMajor === 1 && socket !== null && res.chunkedEncoding && res.headersSent;
  return canFrame && headCork !== undefined
    ? new ChunkedSink(ctx, socket, headCork)
    : new StreamSink(ctx);
}

/**
 * Holds the headers of a response until the end of the turn, so that they share a packet with the
 * handler's first writes. Corked pieces are copied together, which does not pay for a large one.
 */
class HeadCork {
  readonly #socket: Socket;
  #isOpen = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.cork();
    process.nextTick(() => this.open());
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#socket.uncork();
  }
}

/** The common part of both kinds: the end of a response. */
abstract class BaseSink {
  readonly isMessageBased = false;
  readonly #response: ServerResponse;
  protected readonly state: RequestState;
  #isClosed = false;

  constructor(ctx: RequestContext) {
    this.state = ctx.state;
    this.#response = ctx.res;
    if (isOver(ctx.res)) this.#isClosed = true;
    else {
      ctx.res.once("close", () => {
        this.#isClosed = true;
      });
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  onClose(callback: () => void): void {
    if (this.#isClosed) queueMicrotask(callback);
    else this.#response.once("close", callback);
  }

  end(): void {
    if (!this.#isClosed) this.#response.end();
  }

  destroy(): void {
    if (!this.#isClosed) this.#response.destroy();
  }
}

/** HTTP/1.1: frames chunks itself and writes to the socket below the response. */
class ChunkedSink extends BaseSink implements ResponseSink {
  readonly #socket: Socket;
  readonly #headCork: HeadCork;
  #onDrain: (() => void) | undefined;
  /** What waits for the socket to drain: a large piece, and what was written behind it. */
  #slices: Slices[] = [];
  #endsLater = false;

  constructor(ctx: RequestContext, socket: Socket, headCork: HeadCork) {
    super(ctx);
    this.#socket = socket;
    this.#headCork = headCork;
    // The response writes nothing itself any more, but it still receives the socket's drain event.
    this.onClose(() => {
      this.#slices = [];
      if (this.#onDrain !== undefined) socket.off("drain", this.#onDrain);
    });
  }

  get writableLength(): number {
    return this.#slices.reduce((sum, { left }) => sum + left, this.#socket.writableLength);
  }

  write(chunk: Buffer | string | SharedChunk, flushed?: () => void): boolean {
    if (this.isClosed) return false;
    if (this.#slices.length > 0) return this.#writeBehind(chunk, flushed);
    const socket = this.#socket;
    if (chunk instanceof SharedChunk) {
      if (chunk.bytes.length === 0) return true;
      this.state.bytesSent += chunk.bytes.length;
      return socket.write(chunk.framed, flushed);
    }
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, "utf8") : chunk;
    if (bytes.length === 0) return true;
    this.state.bytesSent += bytes.length;
    if (bytes.length <= FRAME_COPY_BYTES_MAX) return socket.write(frame(bytes), flushed);
    socket.cork();
    socket.write(`${bytes.length.toString(16)}\r\n`, "latin1");
    socket.write(bytes);
    const hasRoom = socket.write(CRLF, flushed);
    socket.uncork();
    return hasRoom;
  }

  writeInPlace(memory: Buffer, start: number, end: number): boolean {
    if (this.isClosed) return false;
    if (start === end) return true;
    if (this.#slices.length > 0) {
      return this.#writeBehind(Buffer.from(memory.subarray(start, end)), undefined);
    }
    this.#headCork.open();
    this.state.bytesSent += end - start;
    const head = `${(end - start).toString(16)}\r\n`;
    memory.write(head, start - head.length, "latin1");
    memory[end] = 0x0d;
    memory[end + 1] = 0x0a;
    return this.#socket.write(memory.subarray(start - head.length, end + FRAME_TAIL_BYTES));
  }

  writeLong(parts: readonly Buffer[], flushed?: () => void): boolean {
    if (this.isClosed) return false;
    if (this.#onDrain === undefined) this.onDrain(() => {});
    const slices = new Slices(parts, flushed);
    // An empty chunk would be the end of the body.
    if (slices.left === 0) return true;
    this.#slices.push(slices);
    return this.#slices.length === 1 && this.#writeOn();
  }

  override end(): void {
    if (this.#slices.length > 0) this.#endsLater = true;
    else super.end();
  }

  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  onDrain(callback: () => void): void {
    if (this.isClosed) return;
    if (this.#onDrain !== undefined) this.#socket.off("drain", this.#onDrain);
    this.#onDrain = () => {
      if (this.#writeOn()) callback();
    };
    this.#socket.on("drain", this.#onDrain);
  }

  #writeBehind(chunk: Buffer | string | SharedChunk, flushed: (() => void) | undefined): boolean {
    const piece = chunk instanceof SharedChunk ? chunk.bytes : chunk;
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    if (bytes.length > 0) this.#slices.push(new Slices([bytes], flushed));
    return false;
  }

  /** Passes on what waits, as far as there is room. Returns false if there is none for more. */
  #writeOn(): boolean {
    for (let slices = this.#slices[0]; slices !== undefined; slices = this.#slices[0]) {
      const hasRoom = this.#writeSlice(slices);
      if (slices.left === 0) this.#slices.shift();
      if (!hasRoom) {
        if (this.#slices.length === 0) this.#endIfDue();
        return false;
      }
    }
    this.#endIfDue();
    return !this.isClosed;
  }

  #writeSlice(slices: Slices): boolean {
    const socket = this.#socket;
    const before = slices.left;
    const buffers = slices.take();
    const bytes = before - slices.left;
    this.state.bytesSent += bytes;
    socket.cork();
    socket.write(`${bytes.toString(16)}\r\n`, "latin1");
    for (const buffer of buffers) socket.write(buffer);
    const hasRoom = socket.write(CRLF, slices.left === 0 ? slices.flushed : undefined);
    socket.uncork();
    return hasRoom;
  }

  #endIfDue(): void {
    if (this.#endsLater) super.end();
  }
}

/** A large piece, of which a slice at a time is passed on. */
class Slices {
  readonly flushed: (() => void) | undefined;
  left = 0;
  readonly #parts: readonly Buffer[];
  #part = 0;
  #at = 0;

  constructor(parts: readonly Buffer[], flushed: (() => void) | undefined) {
    this.#parts = parts;
    this.flushed = flushed;
    for (const { length } of parts) this.left += length;
  }

  /** The next slice: views of the parts. */
  take(): readonly Buffer[] {
    const slice: Buffer[] = [];
    for (let room = SLICE_BYTES; room > 0 && this.left > 0; ) {
      const part = this.#parts[this.#part] as Buffer;
      const piece = part.subarray(this.#at, this.#at + room);
      slice.push(piece);
      room -= piece.length;
      this.left -= piece.length;
      this.#at += piece.length;
      if (this.#at < part.length) continue;
      this.#part++;
      this.#at = 0;
    }
    return slice;
  }
}

/** HTTP/2 streams, HTTP/1.0 and pipelined responses: Node does the framing. */
class StreamSink extends BaseSink implements ResponseSink {
  /** The HTTP/2 stream itself, if any. */
  readonly #stream: Writable;
  #onDrain: (() => void) | undefined;

  constructor(ctx: RequestContext) {
    super(ctx);
    const response = ctx.res as ServerResponse | Http2Response;
    this.#stream = ("stream" in response ? response.stream : response) as Writable;
  }

  get writableLength(): number {
    return this.#stream.writableLength;
  }

  write(chunk: Buffer | string | SharedChunk, flushed?: () => void): boolean {
    if (this.isClosed) return false;
    const piece = chunk instanceof SharedChunk ? chunk.bytes : chunk;
    if (piece.length === 0) return true;
    this.state.bytesSent += typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    return this.#stream.write(piece, flushed);
  }

  writeInPlace(memory: Buffer, start: number, end: number): boolean {
    return this.write(memory.subarray(start, end));
  }

  writeLong(parts: readonly Buffer[], flushed?: () => void): boolean {
    const last = parts.length - 1;
    let hasRoom = true;
    for (const [at, part] of parts.entries()) {
      hasRoom = this.write(part, at === last ? flushed : undefined);
    }
    return hasRoom;
  }

  cork(): void {
    this.#stream.cork();
  }

  uncork(): void {
    this.#stream.uncork();
  }

  onDrain(callback: () => void): void {
    if (this.#onDrain !== undefined) this.#stream.off("drain", this.#onDrain);
    this.#onDrain = callback;
    this.#stream.on("drain", callback);
  }
}

/** HEAD: only the headers are sent; the handler's writes are ignored. */
function openEmptySink(ctx: RequestContext): ResponseSink {
  ctx.res.end();
  const base = new StreamSink(ctx);
  return {
    write: () => true,
    writeInPlace: () => true,
    cork() {},
    uncork() {},
    onDrain() {},
    onClose: (callback) => base.onClose(callback),
    end() {},
    destroy() {},
    writableLength: 0,
    isMessageBased: false,
    get isClosed() {
      return base.isClosed;
    },
  };
}

function isOver(response: ServerResponse): boolean {
  return response.closed || response.destroyed;
}
