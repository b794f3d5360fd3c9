/**
 * One call of a LeanConnection: its request, and the answer received so far, one message in any number of
 * DATA frames; then trailers carry the status. Knows no socket.
 */
import type { Abortable } from "../base/abort-hub.js";
import { AnswerTooLong, GRPC_STATUS, RpcError } from "./errors.js";
import { FLAG, FRAME, FRAME_HEADER_BYTES, writeFrameHeader } from "./http2-frames.js";
import {
  ANSWER_BYTES_MAX,
  failureOfHttp,
  type LeanExchange,
  STREAM_WINDOW_BYTES,
} from "./lean-exchange.js";
import { MessageReader, PREFIX_BYTES } from "./message-reader.js";

/** Called once, with the failure or the answer. */
export type OnEnd = (failure: unknown, answer: Buffer | undefined) => void;

export class LeanCall implements LeanExchange, Abortable {
  readonly isEndless = false;
  readonly #headers: Buffer;
  readonly #message: Buffer;
  readonly #onEnd: OnEnd;
  readonly #giveUp: (call: LeanCall) => void;
  readonly #reader = new MessageReader(ANSWER_BYTES_MAX, (message) => this.#take(message));
  #answer: Buffer | undefined;
  #hasMany = false;
  #windowBytes = 0;
  #isOver = false;
  /** 0 = unsent. */
  streamId = 0;
  /** Whether the answer has begun. */
  hasHeaders = false;
  sendWindowBytes = 0;
  /** How often EtcdConnection's timer has found it under way. */
  ticks = 0;

  constructor(options: {
    /** An encoded header block. */
    readonly headers: Buffer;
    readonly message: Buffer;
    readonly onEnd: OnEnd;
    /** Called when the caller no longer wants the answer. */
    readonly giveUp: (call: LeanCall) => void;
  }) {
    this.#headers = options.headers;
    this.#message = options.message;
    this.#onEnd = options.onEnd;
    this.#giveUp = options.giveUp;
  }

  get isSent(): boolean {
    return this.streamId !== 0;
  }

  /** The bytes that count against the peer's window. */
  get contentBytes(): number {
    return PREFIX_BYTES + this.#message.length;
  }

  frameBytes(frameBytesMax: number): number {
    const frames = 1 + Math.ceil(this.contentBytes / frameBytesMax);
    return frames * FRAME_HEADER_BYTES + this.#headers.length + this.contentBytes;
  }

  /** Writes all frames of the request, of `frameBytes` in all. @returns the position behind them */
  write(buffer: Buffer, start: number, frameBytesMax: number): number {
    const { streamId } = this;
    const head = { type: FRAME.headers, flags: FLAG.endHeaders, streamId };
    let position = writeFrameHeader(buffer, start, head, this.#headers.length);
    position += this.#headers.copy(buffer, position);
    let rest = this.contentBytes;
    let taken = 0;
    for (let prefix = PREFIX_BYTES; rest > 0; prefix = 0) {
      const bytes = Math.min(rest, frameBytesMax);
      rest -= bytes;
      const data = { type: FRAME.data, flags: rest === 0 ? FLAG.endStream : 0, streamId };
      position = writeFrameHeader(buffer, position, data, bytes);
      if (prefix > 0) {
        buffer[position] = 0;
        buffer.writeUInt32BE(this.#message.length, position + 1);
        position += prefix;
      }
      const copied = this.#message.copy(buffer, position, taken, taken + bytes - prefix);
      position += copied;
      taken += copied;
    }
    return position;
  }

  receive(content: Buffer, windowBytes: number): boolean {
    this.#windowBytes += windowBytes;
    return this.#windowBytes <= STREAM_WINDOW_BYTES && this.#reader.push(content);
  }

  succeed(): void {
    const isOne = this.#answer !== undefined && !this.#hasMany && !this.#reader.isWithin;
    if (isOne) this.#end(undefined, this.#answer);
    else this.fail(GRPC_STATUS.internal, "not one message in the answer");
  }

  fail(status: number, message: string, isSent = true): void {
    this.#end(new RpcError(status, message, { isSent }), undefined);
  }

  failTooLong(): void {
    this.#end(new AnswerTooLong(), undefined);
  }

  failHttp(httpStatus?: string): void {
    this.fail(...failureOfHttp(httpStatus));
  }

  lose(reason: Error): void {
    const options = { isSent: this.isSent, cause: reason };
    this.#end(new RpcError(GRPC_STATUS.unavailable, reason.message, options), undefined);
  }

  /** Cancels the call with that reason. */
  abort(reason: unknown): void {
    if (this.#isOver) return;
    this.#giveUp(this);
    this.#end(reason, undefined);
  }

  #end(failure: unknown, answer: Buffer | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnd(failure, answer);
  }

  #take(message: Buffer): void {
    this.#hasMany = this.#answer !== undefined;
    this.#answer = message;
  }
}
