/**
 * One call of a LeanConnection: its request, and the answer received so far. A gRPC message is five bytes
 * (compression flag and length) and its content, in any number of DATA frames; then trailers carry the
 * status. Knows no socket.
 */
import type { Abortable } from "../base/abort-hub.js";
import { AnswerTooLong, GRPC_STATUS, RpcError } from "./errors.js";
import { FLAG, FRAME, FRAME_HEADER_BYTES, writeFrameHeader } from "./http2-frames.js";
import { ANSWER_BYTES_MAX, failureOfHttp, type LeanExchange } from "./lean-exchange.js";
import { PREFIX_BYTES } from "./message-reader.js";

/** Called once, with the failure or the answer. */
export type OnEnd = (failure: unknown, answer: Buffer | undefined) => void;

export class LeanCall implements LeanExchange, Abortable {
  readonly isEndless = false;
  readonly #headers: Buffer;
  readonly #message: Buffer;
  readonly #onEnd: OnEnd;
  readonly #giveUp: (call: LeanCall) => void;
  /** The message, as far as it was received; undefined before its length is known. */
  #whole: Buffer | undefined;
  /** Pieces of an answer whose first one is shorter than the prefix. */
  #parts: Buffer[] | undefined;
  #receivedBytes = 0;
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

  /** Adds a piece of the answer. @returns whether the answer is still acceptable */
  receive(content: Buffer): boolean {
    const before = this.#receivedBytes;
    this.#receivedBytes += content.length;
    if (this.#receivedBytes > ANSWER_BYTES_MAX) return false;
    if (this.#whole !== undefined) {
      content.copy(this.#whole, before);
    } else if (before === 0 && content.length >= PREFIX_BYTES) {
      return this.#begin(content);
    } else if (content.length > 0) {
      this.#parts ??= [];
      this.#parts.push(content);
    }
    return true;
  }

  /** A message of one piece stays where it is; of a longer one all pieces are put where they will stay. */
  #begin(content: Buffer): boolean {
    const bytes = messageBytes(content);
    if (bytes > ANSWER_BYTES_MAX) return false;
    if (bytes <= content.length) {
      this.#whole = content;
    } else {
      this.#whole = Buffer.allocUnsafeSlow(bytes);
      content.copy(this.#whole);
    }
    return true;
  }

  /** The trailers report success. */
  succeed(): void {
    const answer = this.#whole ?? this.#join();
    const isOne = answer !== undefined && messageBytes(answer) === this.#receivedBytes;
    if (isOne && answer[0] === 0) this.#end(undefined, answer.subarray(PREFIX_BYTES));
    else this.fail(GRPC_STATUS.internal, "no message in the answer");
  }

  /** @param isSent whether etcd can have seen the request */
  fail(status: number, message: string, isSent = true): void {
    this.#end(new RpcError(status, message, { isSent }), undefined);
  }

  failTooLong(): void {
    this.#end(new AnswerTooLong(), undefined);
  }

  /** The answer is not gRPC. */
  failHttp(httpStatus?: string): void {
    this.fail(...failureOfHttp(httpStatus));
  }

  /** The connection can no longer serve the call. */
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

  #join(): Buffer | undefined {
    if (this.#parts === undefined || this.#receivedBytes < PREFIX_BYTES) return undefined;
    return Buffer.concat(this.#parts, this.#receivedBytes);
  }
}

/** The message's size including its prefix. */
function messageBytes(start: Buffer): number {
  return PREFIX_BYTES + start.readUInt32BE(1);
}
