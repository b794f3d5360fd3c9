/**
 * Certificates of X.509 version 1, as old roots are: without extensions, so without a word on whether
 * they are authorities. No library makes them any more: one of version 3 is rewritten and signed again.
 */
import { type KeyObject, sign } from "node:crypto";

const SEQUENCE = 0x30;
const BIT_STRING = 0x03;
/** `version [0] EXPLICIT` and `extensions [3] EXPLICIT` of RFC 5280 section 4.1. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;

/** @param der a certificate that `key` signed with ECDSA and SHA-256 */
export function toFirstVersion(der: Uint8Array, key: KeyObject): Uint8Array {
  const [tbs, algorithm] = valuesOf(contentOf(Buffer.from(der))) as [Buffer, Buffer];
  const kept = valuesOf(contentOf(tbs)).filter(
    ({ 0: tag }) => tag !== VERSION && tag !== EXTENSIONS,
  );
  const body = wrap(SEQUENCE, ...kept);
  const signature = wrap(BIT_STRING, Buffer.from([0]), sign("sha256", body, key));
  return wrap(SEQUENCE, body, algorithm, signature);
}

/** The values that stand in a row, each with its header. */
function valuesOf(der: Buffer): Buffer[] {
  const values: Buffer[] = [];
  for (let rest = der; rest.length > 0; ) {
    const { header, length } = headerOf(rest);
    values.push(rest.subarray(0, header + length));
    rest = rest.subarray(header + length);
  }
  return values;
}

function contentOf(der: Buffer): Buffer {
  const { header, length } = headerOf(der);
  return der.subarray(header, header + length);
}

function headerOf(der: Buffer): { readonly header: number; readonly length: number } {
  const first = der[1] ?? 0;
  if (first < 0x80) return { header: 2, length: first };
  const bytes = first & 0x7f;
  return { header: 2 + bytes, length: der.readUIntBE(2, bytes) };
}

function wrap(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const long = Buffer.alloc(4);
  long.writeUInt32BE(content.length);
  const isShort = content.length < 0x80;
  const bytes = isShort ? Buffer.from([content.length]) : long.subarray(long.findIndex(Boolean));
  const header = isShort ? [tag] : [tag, 0x80 | bytes.length];
  return Buffer.concat([Buffer.from(header), bytes, content]);
}
