/**
 * One HTTP/2 connection for gRPC calls, directly on the socket: constant header blocks, no library object per
 * call, and one write for all calls of an event loop turn. It takes unary calls that fit (a small request, a
 * free stream), streams such as watches, and leaves the others to grpc-js beside it. Like grpc-calls.ts, it
 * reports for each failure whether the server can have seen the request. Run by EtcdConnection, which
 * ticks it.
 *
 * A call is *unsent* until its frames are written, then *open* until its trailers come:
 *
 *     begin -> unsent -> (turn ends, window and stream are there) -> open -> onEnd(undefined, answer)
 *                |                                                     |
 *                | connection lost: not sent, certainly harmless       | lost, reset: outcome unknown
 *                | GOAWAY before it                                    | refused, beyond GOAWAY: harmless
 */
import type { Socket } from "node:net";
import { GRPC_STATUS } from "./errors.js";
import type { StreamHandlers } from "./grpc-calls.js";
import { decodeHeaders } from "./hpack.js";
import {
  CONNECTION_PREFACE,
  ERROR_CODE,
  encodeGoaway,
  encodeNumberFrame,
  encodePing,
  encodeSettings,
  encodeSettingsAck,
  FLAG,
  FRAME,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  FrameReader,
  Http2Error,
  SETTING,
  withoutPadding,
} from "./http2-frames.js";
import { LeanCall, type OnEnd } from "./lean-call.js";
import { type LeanExchange, STREAM_WINDOW_BYTES } from "./lean-exchange.js";
import { LeanStream } from "./lean-stream.js";
import { OpenStreams } from "./open-streams.js";
import { RequestHeaders } from "./request-headers.js";

export interface LeanConnectionOptions {
  /** "127.0.0.1:2379" */
  readonly authority: string;
  readonly isTls: boolean;
  /** Ticks of silence while an answer is awaited: before a ping, and after it. */
  readonly pingAfterTicks: number;
  readonly lostAfterTicks: number;
  /** Called once, when no call can begin any more. */
  readonly onClose: (connection: LeanConnection, reason: Error) => void;
}

/** One request of a call. */
export interface LeanRequest {
  readonly path: string;
  readonly message: Buffer;
  /** The call's W3C Trace Context; undefined = it is not traced. */
  readonly traceparent?: string | undefined;
}

/** The largest request that is taken, with the gRPC prefix: three frames. Larger ones are rare. */
const REQUEST_BYTES_MAX = 3 * FRAME_BYTES_MAX;
/** Open and unsent calls together. Beyond it grpc-js queues the calls. */
const CALLS_MAX = 1_024;
/** The peer's window on the connection before we acknowledge reads. */
const CONNECTION_WINDOW_BYTES = 2 * STREAM_WINDOW_BYTES;
/** A header block has a status and an error's text. */
const HEADERS_BYTES_MAX = 32 * 1024;
/**
 * Bytes that the kernel has not taken: a peer that reads so little gets no more requests for now.
 */
const UNWRITTEN_BYTES_MAX = 256 * 1024;

/** The initial window of every connection (RFC 9113, 6.5.2). */
const WINDOW_BYTES_DEFAULT = 65_535;
const WINDOW_BYTES_MAX = 2 ** 31 - 1;
/** The connection is replaced at this id: enough are left for the calls of one turn. */
const STREAM_ID_MAX = 2 ** 31 - 2 * CALLS_MAX;

/** Any 8 bytes. */
const PING_CONTENT = Buffer.from("keelson\0");

export class LeanConnection {
  readonly #socket: Socket;
  readonly #options: LeanConnectionOptions;
  readonly #reader = new FrameReader((...frame) => this.#onFrame(...frame));
  /** By stream. */
  readonly #open = new OpenStreams();
  #unsent: LeanExchange[] = [];
  /** Streams with messages to send. */
  readonly #talking = new Set<LeanStream>();
  /** Frames that belong to no call: answers to pings, windows, resets. */
  #control: Buffer[] = [];
  #isFlushPlanned = false;
  #isClosed = false;
  #isClosing = false;
  #nextStreamId = 1;
  #onReady: (() => void) | undefined;

  /** The peer's limits. */
  #streamsMax = CALLS_MAX;
  #requestWindowBytes = WINDOW_BYTES_DEFAULT;
  #frameBytesMax = FRAME_BYTES_MAX;
  #sendWindowBytes = WINDOW_BYTES_DEFAULT;
  /** The window that we granted and the peer has not used. */
  #receiveWindowBytes = CONNECTION_WINDOW_BYTES;

  /**
   * A header block that continues in CONTINUATION frames; no other frame may come before its end.
   */
  #continued: { streamId: number; flags: number; parts: Buffer[]; bytes: number } | undefined;
  /** The last blocks that meant OK: without state, the same bytes mean the same again. */
  #okHeaders: Buffer | undefined;
  #okTrailers: Buffer | undefined;

  #silentTicks = 0;
  #isPinged = false;

  readonly #headers: RequestHeaders;

  /** @param socket connected, with h2 negotiated */
  constructor(socket: Socket, options: LeanConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#headers = new RequestHeaders(options.authority, options.isTls);
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#onData(chunk));
    socket.on("drain", () => this.#planFlush());
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy(new Error("the connection was closed by the peer")));
    const settings = encodeSettings([
      [SETTING.headerTableSize, 0],
      [SETTING.enablePush, 0],
      [SETTING.initialWindowSize, STREAM_WINDOW_BYTES],
      [SETTING.maxHeaderListSize, HEADERS_BYTES_MAX],
    ]);
    const increment = CONNECTION_WINDOW_BYTES - WINDOW_BYTES_DEFAULT;
    const window = encodeNumberFrame(FRAME.windowUpdate, 0, increment);
    socket.write(Buffer.concat([Buffer.from(CONNECTION_PREFACE), settings, window]));
  }

  /** Whether calls can begin. */
  get isOpen(): boolean {
    return !this.#isClosing;
  }

  /** Resolves when the peer has sent its settings: its process runs, not only its kernel. */
  untilReady(): Promise<void> {
    return new Promise((resolve) => {
      this.#onReady = resolve;
    });
  }

  /** @returns undefined: the call does not fit here, grpc-js may send it */
  begin(request: LeanRequest, token: string | undefined, onEnd: OnEnd): LeanCall | undefined {
    if (!this.#hasRoom) return undefined;
    const { path, message, traceparent } = request;
    const headers = this.#headers.block(path, token, traceparent);
    if (headers.length > FRAME_BYTES_MAX) return undefined;
    const call = new LeanCall({ headers, message, onEnd, giveUp: this.#giveUp });
    const { contentBytes } = call;
    if (contentBytes > REQUEST_BYTES_MAX || contentBytes > this.#requestWindowBytes)
      return undefined;
    this.#unsent.push(call);
    this.#planFlush();
    return call;
  }

  /** Opens a call with messages both ways. @returns undefined: it does not fit here, grpc-js may open it */
  beginStream(
    path: string,
    token: string | undefined,
    handlers: StreamHandlers,
  ): LeanStream | undefined {
    const headers = this.#headers.block(path, token);
    if (!this.#hasRoom || headers.length > FRAME_BYTES_MAX) return undefined;
    const stream = new LeanStream(headers, this.#streamHost, handlers);
    this.#unsent.push(stream);
    this.#planFlush();
    return stream;
  }

  /**
   * Detects a peer that is silent while an answer is awaited: it is pinged, then given up. It is not pinged
   * otherwise, because etcd drops clients that ping while idle.
   */
  tick(): void {
    if (this.#isClosed) return;
    if (this.#open.size === 0) {
      this.#silentTicks = 0;
      this.#isPinged = false;
      return;
    }
    this.#silentTicks++;
    const { pingAfterTicks, lostAfterTicks } = this.#options;
    if (!this.#isPinged && this.#silentTicks >= pingAfterTicks) {
      this.#isPinged = true;
      this.#silentTicks = 0;
      this.#control.push(encodePing(PING_CONTENT, false));
      this.#planFlush();
    } else if (this.#isPinged && this.#silentTicks >= lostAfterTicks) {
      this.destroy(new Error("the peer does not answer a ping"));
    }
  }

  /** Fails every call under way. */
  destroy(reason: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTaking(reason);
    this.#socket.destroy();
    const calls = this.#open.values();
    this.#open.clear();
    for (const call of calls) call.lose(reason);
  }

  // ---- writing ----------------------------------------------------------------------------------

  /** Flushes at the end of the turn, so that all its calls leave in one write. */
  #planFlush(): void {
    if (this.#isFlushPlanned || this.#isClosed) return;
    this.#isFlushPlanned = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    this.#isFlushPlanned = false;
    if (this.#isClosed) return;
    const calls = this.#takeSendable();
    this.#takeMessages();
    let bytes = 0;
    for (const frame of this.#control) bytes += frame.length;
    for (const call of calls) bytes += call.frameBytes(this.#frameBytesMax);
    if (bytes === 0) return;

    const buffer = Buffer.allocUnsafe(bytes);
    let position = 0;
    for (const frame of this.#control) position += frame.copy(buffer, position);
    this.#control = [];
    for (const call of calls) {
      this.#openStream(call);
      position = call.write(buffer, position, this.#frameBytesMax);
    }
    this.#socket.write(buffer);
  };

  /** The next calls that fit into the free streams and the connection's window. */
  #takeSendable(): readonly LeanExchange[] {
    const unsent = this.#unsent;
    if (unsent.length === 0 || this.#socket.writableLength > UNWRITTEN_BYTES_MAX) return [];
    const streams = this.#streamsMax - this.#open.size;
    let count = 0;
    for (const call of unsent) {
      if (count >= streams || call.contentBytes > this.#sendWindowBytes) break;
      this.#sendWindowBytes -= call.contentBytes;
      count++;
    }
    this.#unsent = count === unsent.length ? [] : unsent.slice(count);
    return count === unsent.length ? unsent : unsent.slice(0, count);
  }

  /** Moves the next messages of open streams, as far as they fit into the windows. */
  #takeMessages(): void {
    for (const stream of this.#talking) {
      for (;;) {
        const frame = stream.nextFrame(this.#sendWindowBytes);
        if (frame === undefined) break;
        this.#sendWindowBytes -= frame.length - FRAME_HEADER_BYTES;
        this.#control.push(frame);
      }
      if (!stream.isTalking) this.#talking.delete(stream);
    }
  }

  #openStream(call: LeanExchange): void {
    call.streamId = this.#nextStreamId;
    call.sendWindowBytes = this.#requestWindowBytes - call.contentBytes;
    if (this.#talking.size > 0) this.#planFlush();
    this.#open.add(call);
    this.#nextStreamId += 2;
    if (this.#nextStreamId > STREAM_ID_MAX) this.#stopTaking(new Error("all streams are used up"));
  }

  // ---- reading ----------------------------------------------------------------------------------

  #onData(chunk: Buffer): void {
    if (this.#isClosed) return;
    this.#silentTicks = 0;
    this.#isPinged = false;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#socket.write(encodeGoaway(error.code));
      this.destroy(error);
    }
  }

  /** @throws {Http2Error} */
  #onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#isClosed) return;
    if (this.#continued !== undefined && type !== FRAME.continuation) {
      throw new Http2Error(ERROR_CODE.protocol, "another frame within a header block");
    }
    if (type === FRAME.data) this.#onDataFrame(flags, streamId, payload);
    else if (type === FRAME.headers) this.#onHeadersFrame(flags, streamId, payload);
    else if (type === FRAME.windowUpdate) this.#onWindowUpdate(streamId, payload);
    else if (type === FRAME.settings) this.#onSettings(flags, streamId, payload);
    else if (type === FRAME.ping) this.#onPing(flags, streamId, payload);
    else if (type === FRAME.rstStream) this.#onReset(streamId, payload);
    else if (type === FRAME.goaway) this.#onGoaway(streamId, payload);
    else if (type === FRAME.continuation) this.#onContinuation(flags, streamId, payload);
    else if (type === FRAME.pushPromise) throw protocolError("a push that was not allowed");
    // PRIORITY and extension frames are ignored, as the RFC requires.
  }

  #onDataFrame(flags: number, streamId: number, payload: Buffer): void {
    const call = this.#callOf(streamId);
    this.#receiveWindowBytes -= payload.length;
    if (this.#receiveWindowBytes < 0) {
      throw new Http2Error(ERROR_CODE.flowControl, "more than its window allows");
    }
    if (this.#receiveWindowBytes < CONNECTION_WINDOW_BYTES / 2) {
      const increment = CONNECTION_WINDOW_BYTES - this.#receiveWindowBytes;
      this.#receiveWindowBytes = CONNECTION_WINDOW_BYTES;
      this.#control.push(encodeNumberFrame(FRAME.windowUpdate, 0, increment));
      this.#planFlush();
    }
    // The caller gave up while the answer was on its way.
    if (call === undefined) return;
    if (!call.receive(withoutPadding(flags & FLAG.padded, payload), payload.length)) {
      this.#giveUp(call);
      call.failTooLong();
    } else if ((flags & FLAG.endStream) !== 0) {
      this.#closeAfterPeer(call);
      call.fail(GRPC_STATUS.internal, "the answer ended without a status");
    }
  }

  #onHeadersFrame(flags: number, streamId: number, payload: Buffer): void {
    // Checked even for a stream that nobody waits for any more, as its block may go on.
    this.#callOf(streamId);
    const block = withoutPadding(flags, payload);
    if ((flags & FLAG.endHeaders) !== 0) {
      this.#onHeaders((flags & FLAG.endStream) !== 0, streamId, block);
    } else {
      // Copied: the peer may take long to send the rest.
      this.#continued = { streamId, flags, parts: [Buffer.from(block)], bytes: block.length };
    }
  }

  #onContinuation(flags: number, streamId: number, payload: Buffer): void {
    const continued = this.#continued;
    if (continued?.streamId !== streamId) throw protocolError("a continuation of nothing");
    continued.parts.push(Buffer.from(payload));
    continued.bytes += payload.length;
    // Empty frames count as well, or they could go on for ever.
    if (continued.bytes > HEADERS_BYTES_MAX || continued.parts.length > HEADERS_BYTES_MAX / 1_024) {
      throw protocolError("headers without an end");
    }
    if ((flags & FLAG.endHeaders) === 0) return;
    this.#continued = undefined;
    const isEnd = (continued.flags & FLAG.endStream) !== 0;
    this.#onHeaders(isEnd, streamId, Buffer.concat(continued.parts));
  }

  #onHeaders(isEnd: boolean, streamId: number, block: Buffer): void {
    const call = this.#open.get(streamId);
    if (call === undefined) return;
    if (isEnd) {
      this.#onTrailers(call, block);
    } else if (call.hasHeaders) {
      throw protocolError("headers twice");
    } else if (this.#okHeaders?.equals(block)) {
      call.hasHeaders = true;
    } else {
      this.#onFirstHeaders(call, block);
    }
  }

  #onFirstHeaders(call: LeanExchange, block: Buffer): void {
    const httpStatus = decodeHeaders(block).get(":status");
    // An interim answer: the final one follows.
    if (httpStatus?.startsWith("1")) return;
    if (httpStatus === "200") {
      call.hasHeaders = true;
      this.#okHeaders = Buffer.from(block);
    } else {
      this.#giveUp(call);
      call.failHttp(httpStatus);
    }
  }

  /** The end of an answer, or all of it when only a status is sent. */
  #onTrailers(call: LeanExchange, block: Buffer): void {
    const isOk = call.hasHeaders && this.#okTrailers?.equals(block) === true;
    // Decoded first: an unreadable block ends the connection with all its open calls.
    const trailers = isOk ? undefined : decodeHeaders(block);
    this.#closeAfterPeer(call);
    const status = trailers?.get("grpc-status") ?? "";
    if (trailers === undefined) {
      call.succeed();
    } else if (!call.hasHeaders && trailers.get(":status") !== "200") {
      call.failHttp(trailers.get(":status"));
    } else if (status === "0") {
      if (call.hasHeaders) this.#okTrailers = Buffer.from(block);
      call.succeed();
    } else {
      const number = /^\d{1,2}$/.test(status) ? Number(status) : GRPC_STATUS.unknown;
      call.fail(number, decodeText(trailers.get("grpc-message") ?? `status ${status}`));
    }
  }

  #onWindowUpdate(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw frameSizeError("WINDOW_UPDATE");
    const increment = payload.readUInt32BE(0) & 0x7fffffff;
    if (streamId !== 0) {
      this.#widen(streamId, increment);
      return;
    }
    if (increment === 0) throw protocolError("a window update of 0");
    this.#sendWindowBytes += increment;
    if (this.#sendWindowBytes > WINDOW_BYTES_MAX) {
      throw new Http2Error(ERROR_CODE.flowControl, "a window beyond 2^31-1");
    }
    if (this.#unsent.length > 0 || this.#talking.size > 0) this.#planFlush();
  }

  /** Requests of calls fit into a stream's initial window; messages of streams may have to wait. */
  #widen(streamId: number, increment: number): void {
    const call = this.#callOf(streamId);
    if (call === undefined) return;
    call.sendWindowBytes += increment;
    if (call.sendWindowBytes > WINDOW_BYTES_MAX) {
      throw new Http2Error(ERROR_CODE.flowControl, "a window beyond 2^31-1");
    }
    if (this.#talking.size > 0) this.#planFlush();
  }

  #onSettings(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw protocolError("settings of a stream");
    if ((flags & FLAG.ack) !== 0) {
      if (payload.length !== 0) throw frameSizeError("SETTINGS");
      return;
    }
    if (payload.length % 6 !== 0) throw frameSizeError("SETTINGS");
    for (let position = 0; position < payload.length; position += 6) {
      this.#onSetting(payload.readUInt16BE(position), payload.readUInt32BE(position + 2));
    }
    this.#control.push(encodeSettingsAck());
    this.#planFlush();
    this.#onReady?.();
  }

  #onSetting(id: number, value: number): void {
    if (id === SETTING.maxConcurrentStreams) {
      this.#streamsMax = Math.min(value, CALLS_MAX);
    } else if (id === SETTING.initialWindowSize) {
      if (value > WINDOW_BYTES_MAX) {
        throw new Http2Error(ERROR_CODE.flowControl, "a window beyond 2^31-1");
      }
      const change = value - this.#requestWindowBytes;
      for (const call of this.#open.values()) call.sendWindowBytes += change;
      this.#requestWindowBytes = value;
    } else if (id === SETTING.maxFrameSize) {
      if (value < FRAME_BYTES_MAX || value >= 2 ** 24)
        throw protocolError("a frame size not allowed");
      this.#frameBytesMax = value;
    }
  }

  #onPing(flags: number, streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw protocolError("a ping of a stream");
    if (payload.length !== 8) throw frameSizeError("PING");
    if ((flags & FLAG.ack) !== 0) return;
    this.#control.push(encodePing(payload, true));
    this.#planFlush();
  }

  #onReset(streamId: number, payload: Buffer): void {
    if (payload.length !== 4) throw frameSizeError("RST_STREAM");
    const call = this.#callOf(streamId);
    if (call === undefined) return;
    const code = payload.readUInt32BE(0);
    const isRefused = code === ERROR_CODE.refusedStream;
    const message = isRefused ? "the stream was refused" : `the stream was reset, code ${code}`;
    this.#close(call);
    call.fail(GRPC_STATUS.unavailable, message, !isRefused);
  }

  /** The peer is about to close: it answers streams up to `streamId`, and has not seen later ones. */
  #onGoaway(streamId: number, payload: Buffer): void {
    if (streamId !== 0) throw protocolError("GOAWAY of a stream");
    if (payload.length < 8) throw frameSizeError("GOAWAY");
    const last = payload.readUInt32BE(0) & 0x7fffffff;
    this.#stopTaking(new Error(`the peer goes away, code ${payload.readUInt32BE(4)}`));
    for (const call of this.#open.values()) {
      if (call.streamId <= last) continue;
      this.#close(call);
      call.fail(GRPC_STATUS.unavailable, "the peer goes away", false);
    }
    if (this.#open.size === 0) this.destroy(new Error("the peer goes away"));
  }

  // ---- streams and their end --------------------------------------------------------------------

  /** The answer is no longer wanted, by the caller or by us. */
  readonly #giveUp = (call: LeanExchange): void => {
    if (call.streamId === 0) {
      this.#unsent = this.#unsent.filter((other) => other !== call);
    } else if (this.#open.get(call.streamId) !== undefined) {
      this.#control.push(encodeNumberFrame(FRAME.rstStream, call.streamId, ERROR_CODE.cancel));
      this.#planFlush();
      this.#close(call);
    }
  };

  readonly #streamHost = {
    talk: (stream: LeanStream): void => {
      this.#talking.add(stream);
      this.#planFlush();
    },
    renew: (stream: LeanStream, bytes: number): void => {
      this.#control.push(encodeNumberFrame(FRAME.windowUpdate, stream.streamId, bytes));
      this.#planFlush();
    },
    giveUp: this.#giveUp,
  };

  /** The peer has ended its half. Ours has ended with the request, but for a stream's. */
  #closeAfterPeer(call: LeanExchange): void {
    if (call.isEndless) this.#giveUp(call);
    else this.#close(call);
  }

  /** The stream is over: another call may use its slot. */
  #close(call: LeanExchange): void {
    this.#open.delete(call.streamId);
    if (this.#unsent.length > 0) this.#planFlush();
    if (this.#isClosing && this.#open.size === 0) this.destroy(new Error("nothing is under way"));
  }

  /** @throws {Http2Error} a stream that never existed */
  #callOf(streamId: number): LeanExchange | undefined {
    const call = this.#open.get(streamId);
    if (call !== undefined) return call;
    if (streamId % 2 === 0 || streamId >= this.#nextStreamId) {
      throw protocolError(`a frame of stream ${streamId}, which nobody opened`);
    }
    return undefined;
  }

  /** Takes no further calls; unsent ones have certainly not been seen. */
  #stopTaking(reason: Error): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#options.onClose(this, reason);
    for (const call of this.#unsent.splice(0)) call.lose(reason);
    // They would keep the connection for ever, and nobody ticks it any more.
    for (const call of this.#open.values()) {
      if (!call.isEndless) continue;
      this.#giveUp(call);
      call.lose(reason);
    }
  }

  get #hasRoom(): boolean {
    const calls = this.#open.size + this.#unsent.length;
    return !this.#isClosing && calls < CALLS_MAX && this.#streamsMax > 0;
  }
}

/** gRPC percent-encodes everything but printable ASCII. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function protocolError(what: string): Http2Error {
  return new Http2Error(ERROR_CODE.protocol, what);
}

function frameSizeError(frame: string): Http2Error {
  return new Http2Error(ERROR_CODE.frameSize, `a ${frame} frame of a wrong length`);
}
