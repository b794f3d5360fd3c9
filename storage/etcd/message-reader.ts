/**
 * MessageReader: gRPC messages out of the pieces of a stream. A message is five bytes (compression flag and
 * length) and its content; pieces begin and end anywhere.
 *
 *   piece   [prefix a..a prefix b.]   a: given as it lies in the piece; b is announced as long, so it gets
 *   piece   [.b..b pre]               a buffer, which this piece fills: given; three bytes of a prefix
 *   piece   [fix c]                   c: given
 *
 * A message that lies in one piece is a view of it.
 */
import { assert } from "../base/assert.js";

/** The largest message of any answer: a range over everything in a very large etcd. */
export const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;

/** gRPC's prefix: one byte for compression, four for the length. */
export const PREFIX_BYTES = 5;

export class MessageReader {
  readonly #onMessage: (message: Buffer) => void;
  readonly #bytesMax: number;
  /** A prefix that was cut, as far as it has come; few are. */
  #prefix: Buffer | undefined;
  #prefixBytes = 0;
  /** The message whose prefix was read, as far as it has come. */
  #message: Buffer | undefined;
  #messageBytes = 0;

  /** @param bytesMax of one message */
  constructor(bytesMax: number, onMessage: (message: Buffer) => void) {
    this.#bytesMax = bytesMax;
    this.#onMessage = onMessage;
  }

  /** Whether a message has begun and not ended. */
  get isWithin(): boolean {
    return this.#prefixBytes > 0 || this.#message !== undefined;
  }

  /** @returns false for what nobody asked for: a compressed message, or one that is too long */
  push(piece: Buffer): boolean {
    let position = 0;
    while (position < piece.length) {
      if (this.#message !== undefined) {
        const copied = piece.copy(this.#message, this.#messageBytes, position);
        this.#messageBytes += copied;
        position += copied;
        assert(this.#messageBytes <= this.#message.length, "MessageHoldsItsPieces");
        if (this.#messageBytes === this.#message.length) this.#give(this.#message);
        continue;
      }
      let prefix = piece;
      let start = position;
      if (this.#prefixBytes > 0 || piece.length - position < PREFIX_BYTES) {
        this.#prefix ??= Buffer.alloc(PREFIX_BYTES);
        const end = Math.min(position + PREFIX_BYTES - this.#prefixBytes, piece.length);
        this.#prefixBytes += piece.copy(this.#prefix, this.#prefixBytes, position, end);
        position = end;
        if (this.#prefixBytes < PREFIX_BYTES) return true;
        prefix = this.#prefix;
        start = 0;
        this.#prefixBytes = 0;
      } else {
        position += PREFIX_BYTES;
      }
      const length = prefix.readUInt32BE(start + 1);
      if (prefix[start] !== 0 || length > this.#bytesMax) return false;
      if (length <= piece.length - position) {
        this.#give(piece.subarray(position, position + length));
        position += length;
      } else {
        this.#message = Buffer.allocUnsafe(length);
        this.#messageBytes = 0;
      }
    }
    return true;
  }

  #give(message: Buffer): void {
    this.#message = undefined;
    this.#onMessage(message);
  }
}
