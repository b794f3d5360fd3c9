/**
 * Cuts the bytes of a gRPC stream into messages (five bytes of prefix, then the content). A message
 * that came in one piece is given as a view of that piece; a larger one is gathered in one buffer of
 * its final size, so that no byte is copied twice.
 */
import { StorageError } from "../kv/errors.js";
import { MESSAGE_PREFIX_BYTES } from "./messages.js";

/** The largest answer taken: a range over everything that a very large etcd holds. */
const MESSAGE_BYTES_MAX = 512 * 1024 * 1024;

export class MessageReader {
  readonly #onMessage: (message: Buffer) => void;
  /** Bytes of a prefix that is not complete yet. */
  #prefix: Buffer | undefined;
  /** The message being gathered, and how much of it is there. */
  #message: Buffer | undefined;
  #filledBytes = 0;

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  /** @throws {StorageError} Refused: not a message that we take */
  push(received: Buffer): void {
    let chunk = received;
    if (this.#prefix !== undefined) {
      chunk = Buffer.concat([this.#prefix, chunk]);
      this.#prefix = undefined;
    }
    let position = 0;
    while (position < chunk.length) {
      if (this.#message === undefined) {
        if (chunk.length - position < MESSAGE_PREFIX_BYTES) {
          this.#prefix = chunk.subarray(position);
          return;
        }
        const length = lengthOf(chunk, position);
        position += MESSAGE_PREFIX_BYTES;
        if (chunk.length - position >= length) {
          this.#onMessage(chunk.subarray(position, position + length));
          position += length;
          continue;
        }
        this.#message = Buffer.allocUnsafeSlow(length);
        this.#filledBytes = 0;
      }
      const copied = chunk.copy(this.#message, this.#filledBytes, position);
      this.#filledBytes += copied;
      position += copied;
      if (this.#filledBytes === this.#message.length) {
        const message = this.#message;
        this.#message = undefined;
        this.#onMessage(message);
      }
    }
  }
}

function lengthOf(chunk: Buffer, position: number): number {
  if (chunk[position] !== 0) throw new StorageError("Refused", "etcd sent a compressed message");
  const length = chunk.readUInt32BE(position + 1);
  if (length > MESSAGE_BYTES_MAX) {
    throw new StorageError("Refused", `an answer of ${length} bytes is beyond our limit`);
  }
  return length;
}
