/**
 * The contract of a response that is written piece by piece, and its pieces: chunks of HTTP/1.1 with
 * the frame around them, made once however many sinks they go to. response-sink.ts opens sinks.
 */

export interface ResponseSink {
  /**
   * Hands one piece to the transport; an empty one is nothing. False: the transport's buffer is
   * full and `onDrain` will tell; the piece is kept all the same. After `onClose` it is dropped.
   * @param flushed called when the operating system has it; perhaps also when it never will
   */
  write(chunk: Buffer | string | SharedChunk, flushed?: () => void): boolean;
  /**
   * As `write`, for a large piece in the middle of a memory that has FRAME_HEAD_BYTES to spare before
   * `start` and FRAME_TAIL_BYTES from `end` on, so that the frame is put around it where it is. The
   * memory is the transport's until `writableLength` is 0.
   */
  writeInPlace(memory: Buffer, start: number, end: number): boolean;
  /** Collects the writes up to `uncork` into one packet and one TLS record. */
  cork(): void;
  uncork(): void;
  /** Calls back each time that a full buffer has emptied. */
  onDrain(callback: () => void): void;
  /** Calls back once when the response is over, whoever ended it. At once when it already is. */
  onClose(callback: () => void): void;
  /** The regular end of the body. */
  end(): void;
  /** Ends the connection in the middle of the body, so that the client sees that it is cut short. */
  destroy(): void;
  /** Bytes handed over and not yet with the operating system. */
  readonly writableLength: number;
  readonly isClosed: boolean;
  /** Whether each write is a message of its own to the client, so that one must not hold several. */
  readonly isMessageBased: boolean;
}

/** The length of a chunk in up to eight hexadecimal digits, and CRLF. */
export const FRAME_HEAD_BYTES = 10;
/** CRLF. */
export const FRAME_TAIL_BYTES = 2;

export const CRLF = Buffer.from("\r\n", "latin1");

/** Bytes that go to many sinks: the frame around them is made once. Never changed after creation. */
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
      // One copy is enough: what is kept is the middle of the frame.
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
