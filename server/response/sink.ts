/**
 * The interface of a response written in pieces, and its pieces: HTTP/1.1 chunks whose frame is made
 * once for any number of sinks. response-sink.ts opens sinks.
 */

export interface ResponseSink {
  /**
   * Passes one piece to the transport; an empty one is ignored. False: the transport's buffer is
   * full and `onDrain` will be called; the piece is accepted all the same. After `onClose` it is
   * dropped.
   * @param flushed called when the operating system has it; perhaps also when it never will
   */
  write(chunk: Buffer | string | SharedChunk, flushed?: () => void): boolean;
  /**
   * Like `write`, for a large piece inside a buffer with FRAME_HEAD_BYTES to spare before `start` and
   * FRAME_TAIL_BYTES from `end` on, so that it is framed in place. The buffer belongs to the
   * transport until `writableLength` is 0.
   */
  writeInPlace(memory: Buffer, start: number, end: number): boolean;
  /**
   * Like `write`, for a large piece in parts that nobody changes: they are not copied together. The next slice is passed
   * when the transport has drained. Absent = each write is a message.
   */
  writeLong?(parts: readonly Buffer[], flushed?: () => void): boolean;
  /** Collects the writes up to `uncork` into one packet and one TLS record. */
  cork(): void;
  uncork(): void;
  /** Calls back each time a full buffer has drained. */
  onDrain(callback: () => void): void;
  /** Calls back once when the response is over, for whatever reason; at once if it already is. */
  onClose(callback: () => void): void;
  /** The regular end of the body. */
  end(): void;
  /** Closes the connection in the middle of the body, so that the client sees the truncation. */
  destroy(): void;
  /** Bytes accepted and not yet passed to the operating system. */
  readonly writableLength: number;
  readonly isClosed: boolean;
  /** Whether each write is a separate message to the client, so that writes must not be merged. */
  readonly isMessageBased: boolean;
}

/** The length of a chunk in up to eight hexadecimal digits, and CRLF. */
export const FRAME_HEAD_BYTES = 10;
/** CRLF. */
export const FRAME_TAIL_BYTES = 2;

export const CRLF = Buffer.from("\r\n", "latin1");

/** Bytes for many sinks, framed once. Immutable. */
export class SharedChunk {
  #bytes: Buffer;
  #framed: Buffer | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** The bytes as one HTTP/1.1 chunk. */
  get framed(): Buffer {
    if (this.#framed === undefined) {
      const { length } = this.#bytes;
      this.#framed = frame(this.#bytes);
      // The frame's middle replaces the bytes, so that only one copy is kept.
      const start = this.#framed.length - length - CRLF.length;
      this.#bytes = this.#framed.subarray(start, start + length);
    }
    return this.#framed;
  }
}

/** The bytes as one chunk of HTTP/1.1. */
export function frame(bytes: Buffer): Buffer {
  const header = `${bytes.length.toString(16)}\r\n`;
  const framed = Buffer.allocUnsafe(header.length + bytes.length + 2);
  framed.write(header, 0, "latin1");
  bytes.copy(framed, header.length);
  framed[framed.length - 2] = 0x0d;
  framed[framed.length - 1] = 0x0a;
  return framed;
}
