/**
 * Header blocks: the names and values that begin a stream. All blocks of one direction are one zlib
 * stream (section 2.6.10 of SPDY/3.1), so they are written and read in order.
 *
 * Ours are framed but not compressed: they are few and short, and compressing text beside secrets
 * reveals these by length (CRIME).
 */
import { createInflate, type Inflate } from "node:zlib";
import { DICTIONARY_ID, HEADER_DICTIONARY } from "./dictionary.js";

export type StreamHeaders = Readonly<Record<string, string>>;

/** Size limit of a decompressed block, against bombs. */
const BLOCK_BYTES_MAX = 64 * 1024;
/** Size limit of a stored deflate block (RFC 1951 section 3.2.4). */
const STORED_BYTES_MAX = 0xffff;
/** Deflate with a 32 KiB window and a preset dictionary (RFC 1950). */
const ZLIB_HEADER = [0x78, 0xbb];

/** An empty block makes readers flush their output. */
const FLUSH = Buffer.from([0, 0, 0, 0xff, 0xff]);

export class HeaderBlockWriter {
  #isFirst = true;

  /** @throws {RangeError} if the headers exceed a block */
  write(headers: StreamHeaders): Buffer {
    const plain = encodePairs(Object.entries(headers));
    if (plain.length > STORED_BYTES_MAX) throw new RangeError("the headers are too long");
    const start = this.#isFirst ? Buffer.alloc(6) : Buffer.alloc(0);
    if (this.#isFirst) {
      start.set(ZLIB_HEADER);
      start.writeUInt32BE(DICTIONARY_ID, 2);
    }
    this.#isFirst = false;
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(plain.length, 1);
    stored.writeUInt16LE(~plain.length & 0xffff, 3);
    return Buffer.concat([start, stored, plain, FLUSH]);
  }
}

export class HeaderBlockReader {
  readonly #inflate: Inflate = createInflate({ dictionary: HEADER_DICTIONARY });
  #pieces: Buffer[] = [];
  #bytes = 0;
  #failure: Error | undefined;
  #fail: (error: Error) => void = () => {};

  constructor() {
    this.#inflate.on("data", (piece: Buffer) => {
      this.#bytes += piece.length;
      if (this.#bytes <= BLOCK_BYTES_MAX) this.#pieces.push(piece);
      else this.#inflate.destroy();
    });
    this.#inflate.on("error", (error) => {
      this.#failure = error;
      this.#fail(error);
    });
  }

  /** One at a time. @throws {Error} for an invalid header block; the reader is then unusable */
  async read(block: Buffer): Promise<StreamHeaders> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#pieces = [];
    this.#bytes = 0;
    await new Promise<void>((resolve, reject) => {
      this.#fail = reject;
      this.#inflate.write(block, (error) => (error ? reject(error) : resolve()));
    });
    if (this.#bytes > BLOCK_BYTES_MAX) throw new Error("a header block is too long");
    return decodePairs(Buffer.concat(this.#pieces));
  }

  close(): void {
    this.#inflate.destroy();
  }
}

function encodePairs(pairs: readonly (readonly [string, string])[]): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(pairs.length);
  const texts = pairs.flatMap(([name, value]) => [
    withLength(name.toLowerCase()),
    withLength(value),
  ]);
  return Buffer.concat([count, ...texts]);
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(`\0\0\0\0${text}`);
  bytes.writeUInt32BE(bytes.length - 4);
  return bytes;
}

function decodePairs(bytes: Buffer): StreamHeaders {
  let at = 0;
  const next = (): number => {
    if (at + 4 > bytes.length) throw new Error("a header block ends too early");
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = next();
    if (at + length > bytes.length) throw new Error("a header block ends too early");
    at += length;
    return bytes.toString("utf8", at - length, at);
  };
  const headers: Record<string, string> = Object.create(null);
  for (let left = next(); left > 0; left--) {
    const name = text();
    headers[name.toLowerCase()] = text();
  }
  return headers;
}
