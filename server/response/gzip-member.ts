/**
 * GzipMember: one gzip file (RFC 1952) of pieces that were compressed separately, at different times
 * and perhaps for other requests. Each piece is a sequence of deflate blocks that refers to no earlier
 * data and ends on a byte boundary, so pieces can be concatenated in any order; only checksum and
 * length of the whole are computed, from those of the pieces.
 *
 *   head(10) | stored "{"kind":.." | piece | stored "," | piece | ... | stored "]}" | empty last block | CRC, length
 *
 * Pure except for its running checksum; the caller places the bytes.
 */
import { constants, deflateRaw } from "node:zlib";
import { crc32, joinCrcs, shiftOf } from "../../storage/base/crc32.js";

/** Magic, deflate, no flags, no time, fastest compression, unknown system. */
export const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** An empty final stored block. */
const LAST_BLOCK = Buffer.from([1, 0, 0, 0xff, 0xff]);
const FOOT_BYTES = 8;
/** The maximum length of a stored block (RFC 1951 section 3.2.4). */
const STORED_BYTES_MAX = 0xffff;
const STORED_HEAD_BYTES = 5;

/** The fastest level: the next ones take half as long again for a few per cent. */
const LEVEL = constants.Z_BEST_SPEED;
/** Large enough for most pieces. */
const OUTPUT_BYTES = 64 * 1024;

export interface GzipPiece {
  /** Deflate blocks that refer to no earlier data and end on a byte boundary. */
  readonly deflated: Buffer;
  /** Length of the uncompressed text. */
  readonly bytes: number;
  readonly crc: number;
  readonly shift: number;
}

/** Compresses a text separately, on the platform's thread pool. It must not change meanwhile. */
export function deflatePiece(text: Buffer): Promise<GzipPiece> {
  // A full flush ends the blocks on a byte boundary without ending the stream.
  const options = {
    level: LEVEL,
    finishFlush: constants.Z_FULL_FLUSH,
    chunkSize: OUTPUT_BYTES,
  };
  return new Promise((resolve, reject) => {
    deflateRaw(text, options, (error, result) => {
      if (error) return reject(error);
      // The compressor's result is a view of a larger buffer.
      const deflated = Buffer.allocUnsafeSlow(result.length);
      result.copy(deflated);
      const bytes = text.length;
      resolve({ deflated, bytes, crc: crc32(text), shift: shiftOf(bytes) });
    });
  });
}

/** A short text as an uncompressed deflate block: compressing it would save too little. */
export function storePiece(text: Buffer): GzipPiece {
  const blocks: Buffer[] = [];
  for (let at = 0; at < text.length; at += STORED_BYTES_MAX) {
    const part = text.subarray(at, at + STORED_BYTES_MAX);
    const head = Buffer.alloc(STORED_HEAD_BYTES);
    head.writeUInt16LE(part.length, 1);
    head.writeUInt16LE(~part.length & 0xffff, 3);
    blocks.push(head, part);
  }
  const bytes = text.length;
  return { deflated: Buffer.concat(blocks), bytes, crc: crc32(text), shift: shiftOf(bytes) };
}

export class GzipMember {
  #crc = 0;
  #bytes = 0;

  /** Uncompressed bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Appends a piece. */
  add({ bytes, crc, shift }: GzipPiece): void {
    this.#crc = joinCrcs(this.#crc, crc, shift);
    this.#bytes += bytes;
  }

  /** The bytes after the last piece. */
  end(): Buffer {
    const foot = Buffer.alloc(FOOT_BYTES);
    foot.writeUInt32LE(this.#crc, 0);
    // Modulo 2^32, as in the format.
    foot.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    return Buffer.concat([LAST_BLOCK, foot]);
  }
}
