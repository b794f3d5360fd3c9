/**
 * CRC-32 as in gzip (RFC 1952 section 8): of bytes, and of two concatenated texts whose CRCs are
 * known. Pure.
 *
 * A CRC is the remainder of a polynomial over GF(2). Appending n bytes to a text multiplies it by
 * x^(8n), so the CRC of the concatenation is that product, modulo the generator, plus the CRC of the
 * second. A number holds a polynomial with its lowest power in the highest bit, as the CRC itself does.
 */
import * as zlib from "node:zlib";

const GENERATOR = 0xedb88320;
/** The polynomials 1 and x. */
const ONE = 0x80000000;
const X = 0x40000000;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = timesX(remainder);
  return remainder;
});

/** Missing before Node 20.15. */
const native = (zlib as { crc32?: Crc32 }).crc32;

/** @param data a text is taken as UTF-8 @param before the CRC of what precedes it */
type Crc32 = (data: Uint8Array | string, before?: number) => number;

export const crc32: Crc32 = native ?? crc32ByTable;

/** The same without Node's implementation. */
export function crc32ByTable(data: Uint8Array | string, before = 0): number {
  const bytes = typeof data === "string" ? Buffer.from(data) : data;
  let crc = before ^ 0xffffffff;
  for (const byte of bytes) crc = (TABLE[(crc ^ byte) & 0xff] as number) ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/** The factor for a CRC when this many bytes follow. Worth caching: it takes a microsecond. */
export function shiftOf(bytes: number): number {
  let power = ONE;
  let square = X;
  for (let bits = bytes * 8; bits > 0; bits = Math.floor(bits / 2)) {
    if (bits % 2 === 1) power = times(power, square);
    square = times(square, square);
  }
  return power;
}

/** The CRC of two concatenated texts. @param shift `shiftOf` the length of the second */
export function joinCrcs(first: number, second: number, shift: number): number {
  return (times(first, shift) ^ second) >>> 0;
}

/** The product of two polynomials modulo the generator. */
function times(a: number, b: number): number {
  let product = 0;
  let multiple = b;
  for (let power = ONE; power !== 0; power >>>= 1) {
    if ((a & power) !== 0) product ^= multiple;
    multiple = timesX(multiple);
  }
  return product >>> 0;
}

function timesX(a: number): number {
  return (a & 1) === 0 ? a >>> 1 : (a >>> 1) ^ GENERATOR;
}
