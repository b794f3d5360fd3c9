/**
 * One bidirectional call of a LeanConnection: messages both ways until somebody ends it, such as a watch. The
 * peer may be a window ahead of our reading; the window is renewed as messages are taken.
 *
 *   window 8 MiB   4 MiB came and were taken   renewed by 4 MiB
 *   paused         8 MiB come and are kept     not renewed: the peer waits
 *   resumed        all that was kept is given, and the window renewed by 8 MiB
 */
import { assert } from "../base/assert.js";
import { GRPC_STATUS, RpcError } from "./errors.js";
import { type GrpcStream, STATUS_OK, type StreamHandlers } from "./grpc-calls.js";
import {
  FLAG,
  FRAME,
  FRAME_BYTES_MAX,
  FRAME_HEADER_BYTES,
  writeFrameHeader,
} from "./http2-frames.js";
import { failureOfHttp, type LeanExchange, STREAM_WINDOW_BYTES } from "./lean-exchange.js";
import { MESSAGE_BYTES_MAX, MessageReader, PREFIX_BYTES } from "./message-reader.js";

/** What a stream asks of its connection. */
export interface LeanStreamHost {
  /** The stream has messages to send. */
  talk(stream: LeanStream): void;
  /** The peer may send so many bytes more on the stream. */
  renew(stream: LeanStream, bytes: number): void;
  /** The answer is no longer wanted. */
  giveUp(stream: LeanStream): void;
}

export class LeanStream implements LeanExchange, GrpcStream {
  readonly isEndless = true;
  /** Messages follow the opening in frames of their own. */
  readonly contentBytes = 0;
  streamId = 0;
  hasHeaders = false;
  sendWindowBytes = 0;
  readonly #headers: Buffer;
  readonly #host: LeanStreamHost;
  readonly #handlers: StreamHandlers;
  readonly #reader: MessageReader;
  readonly #unsent: Buffer[] = [];
  /** Messages that came while it was paused. Its end drops them. */
  readonly #kept: Buffer[] = [];
  #unrenewedBytes = 0;
  #isPaused = false;
  #isOver = false;

  /** @param headers an encoded header block */
  constructor(headers: Buffer, host: LeanStreamHost, handlers: StreamHandlers) {
    this.#headers = headers;
    this.#host = host;
    this.#handlers = handlers;
    this.#reader = new MessageReader(MESSAGE_BYTES_MAX, (message) => this.#take(message));
  }

  // ---- for its caller ---------------------------------------------------------------------------

  send(message: Buffer): void {
    assert(PREFIX_BYTES + message.length <= FRAME_BYTES_MAX, "StreamsSendSmallMessages");
    if (this.#isOver) return;
    this.#unsent.push(message);
    this.#host.talk(this);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    while (!this.#isPaused && !this.#isOver) {
      const message = this.#kept.shift();
      if (message === undefined) break;
      this.#handlers.onMessage(message);
    }
    this.#renew();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host.giveUp(this);
  }

  abort(reason: unknown): void {
    if (this.#isOver) return;
    this.close();
    const options = { isSent: true, cause: reason };
    this.#handlers.onEnd(new RpcError(GRPC_STATUS.unavailable, "the stream was given up", options));
  }

  /** Whether messages wait to be sent. */
  get isTalking(): boolean {
    return !this.#isOver && this.#unsent.length > 0;
  }

  // ---- for its connection -----------------------------------------------------------------------

  frameBytes(): number {
    return FRAME_HEADER_BYTES + this.#headers.length;
  }

  write(buffer: Buffer, start: number): number {
    const head = { type: FRAME.headers, flags: FLAG.endHeaders, streamId: this.streamId };
    const position = writeFrameHeader(buffer, start, head, this.#headers.length);
    return position + this.#headers.copy(buffer, position);
  }

  /** The frame of the next message. @returns undefined: none is to be sent, or it does not fit */
  nextFrame(windowBytes: number): Buffer | undefined {
    const message = this.#unsent[0];
    if (message === undefined || this.#isOver || this.streamId === 0) return undefined;
    const bytes = PREFIX_BYTES + message.length;
    if (bytes > Math.min(windowBytes, this.sendWindowBytes)) return undefined;
    this.#unsent.shift();
    this.sendWindowBytes -= bytes;
    const frame = Buffer.alloc(FRAME_HEADER_BYTES + bytes);
    const data = { type: FRAME.data, flags: 0, streamId: this.streamId };
    const position = writeFrameHeader(frame, 0, data, bytes);
    frame.writeUInt32BE(message.length, position + 1);
    message.copy(frame, position + PREFIX_BYTES);
    return frame;
  }

  receive(content: Buffer, windowBytes: number): boolean {
    this.#unrenewedBytes += windowBytes;
    if (this.#unrenewedBytes > STREAM_WINDOW_BYTES) return false;
    if (!this.#reader.push(content)) return false;
    this.#renew();
    return true;
  }

  succeed(): void {
    if (this.#reader.isWithin) this.fail(GRPC_STATUS.internal, "a message without its end");
    else this.#end(STATUS_OK);
  }

  fail(status: number, message: string, isSent = true): void {
    this.#end(new RpcError(status, message, { isSent }));
  }

  failTooLong(): void {
    this.fail(GRPC_STATUS.internal, "a message that is too long, or compressed");
  }

  failHttp(httpStatus?: string): void {
    this.fail(...failureOfHttp(httpStatus));
  }

  lose(reason: Error): void {
    const options = { isSent: this.streamId !== 0, cause: reason };
    this.#end(new RpcError(GRPC_STATUS.unavailable, reason.message, options));
  }

  #take(message: Buffer): void {
    if (this.#isOver) return;
    // The piece that it lies in is shared with others.
    if (this.#isPaused || this.#kept.length > 0) this.#kept.push(Buffer.from(message));
    else this.#handlers.onMessage(message);
  }

  #renew(): void {
    if (this.#isPaused || this.#isOver || this.#unrenewedBytes < STREAM_WINDOW_BYTES / 2) return;
    this.#host.renew(this, this.#unrenewedBytes);
    this.#unrenewedBytes = 0;
  }

  #end(status: RpcError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handlers.onEnd(status);
  }
}
