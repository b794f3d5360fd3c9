/**
 * GzipMember: one gzip file (RFC 1952) of pieces that were compressed by themselves, at different times
 * and perhaps for somebody else. Each piece is a sequence of deflate blocks that looks back at nothing
 * before it and ends on a byte, so pieces can stand behind one another in any order; only checksum and
 * length of the whole are reckoned anew, from those of the pieces.
 *
 *   head(10) | stored "{"kind":.." | piece | stored "," | piece | ... | stored "]}" | empty last block | CRC, length
 *
 * Pure but for its running checksum; the one who asks puts the bytes where they belong.
 */
import { constants, deflateRaw } from "node:zlib";
import { crc32, joinCrcs, shiftOf } from "./crc32.js";

/** Magic, deflate, no flags, no time, fastest compression, unknown system. */
export const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255]);
/** A stored block that is the last one, without bytes. */
const LAST_BLOCK = Buffer.from([1, 0, 0, 0xff, 0xff]);
const FOOT_BYTES = 8;
/** What the length of a stored block can say (RFC 1951 section 3.2.4). */
const STORED_BYTES_MAX = 0xffff;
const STORED_HEAD_BYTES = 5;

/** The fastest level: the next ones take half as long again for a few per cent. */
const LEVEL = constants.Z_BEST_SPEED;
/** Most pieces come out of the compressor at once. */
const OUTPUT_BYTES = 64 * 1024;

export interface GzipPiece {
  /** Deflate blocks that look back at nothing before them and end on a byte. */
  readonly deflated: Buffer;
  /** Of the text before compression. */
  readonly bytes: number;
  readonly crc: number;
  readonly shift: number;
}

/** Compresses a text by itself, on a thread of the platform's pool. It must not change meanwhile. */
export function deflatePiece(text: Buffer): Promise<GzipPiece> {
  // A full flush ends the blocks on a byte and is no end of the stream.
  const options = {
    level: LEVEL,
    finishFlush: constants.Z_FULL_FLUSH,
    chunkSize: OUTPUT_BYTES,
  };
  return new Promise((resolve, reject) => {
    deflateRaw(text, options, (error, result) => {
      if (error) return reject(error);
      // What the compressor gives is a view of a larger buffer.
      const deflated = Buffer.allocUnsafeSlow(result.length);
      result.copy(deflated);
      const bytes = text.length;
      resolve({ deflated, bytes, crc: crc32(text), shift: shiftOf(bytes) });
    });
  });
}

/** A short text as it is, in deflate's own clothes: what compressing it would save is not worth it. */
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

  /** Bytes of text so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The piece comes next. */
  add({ bytes, crc, shift }: GzipPiece): void {
    this.#crc = joinCrcs(this.#crc, crc, shift);
    this.#bytes += bytes;
  }

  /** What stands behind the last piece. */
  end(): Buffer {
    const foot = Buffer.alloc(FOOT_BYTES);
    foot.writeUInt32LE(this.#crc, 0);
    // Modulo 2^32, as the format has it.
    foot.writeUInt32LE(this.#bytes % 2 ** 32, 4);
    return Buffer.concat([LAST_BLOCK, foot]);
  }
}
