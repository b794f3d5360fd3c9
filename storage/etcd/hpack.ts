/**
 * HPACK (RFC 7541) as far as a stateless gRPC client needs it: a decoder without a dynamic table, which
 * our SETTINGS forbid the peer to use, and an encoder that writes literals only. A header block
 * therefore always means the same, and equal bytes are equal headers. Used by LeanConnection.
 */
import { ERROR_CODE, Http2Error } from "./http2-frames.js";

/** The static table from index 1 on; "name" or "name value". */
export const STATIC_TABLE: readonly string[] = [
  ":authority",
  ":method GET",
  ":method POST",
  ":path /",
  ":path /index.html",
  ":scheme http",
  ":scheme https",
  ":status 200",
  ":status 204",
  ":status 206",
  ":status 304",
  ":status 400",
  ":status 404",
  ":status 500",
  "accept-charset",
  "accept-encoding gzip, deflate",
  ...["accept-language", "accept-ranges", "accept", "access-control-allow-origin", "age", "allow"],
  ...["authorization", "cache-control", "content-disposition", "content-encoding"],
  ...["content-language", "content-length", "content-location", "content-range", "content-type"],
  ...["cookie", "date", "etag", "expect", "expires", "from", "host", "if-match"],
  ...["if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "last-modified"],
  ...["link", "location", "max-forwards", "proxy-authenticate", "proxy-authorization", "range"],
  ...["referer", "refresh", "retry-after", "server", "set-cookie", "strict-transport-security"],
  ...["transfer-encoding", "user-agent", "vary", "via", "www-authenticate"],
];

/** Bytes that an integer may take after its prefix: up to 2^28, far above any length here. */
const INTEGER_BYTES_MAX = 4;

/** Fields of one block; a peer that sends more is not a gRPC server. */
const FIELDS_MAX = 256;

/** Decodes a block; the last of repeated fields counts. @throws {Http2Error} */
export function decodeHeaders(block: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  const reader = new BlockReader(block);
  let count = 0;
  while (!reader.isAtEnd) {
    if (++count > FIELDS_MAX) throw malformed("too many fields");
    const first = reader.peek();
    if (first >= 0x80) {
      const [name, value] = staticField(reader.integer(7));
      headers.set(name, value);
    } else if (first >= 0x40 || first < 0x20) {
      // A literal. Incremental indexing has no effect with a table of size 0.
      const index = reader.integer(first >= 0x40 ? 6 : 4);
      const name = index === 0 ? reader.text() : staticField(index)[0];
      headers.set(name, reader.text());
    } else if (reader.integer(5) !== 0) {
      throw malformed("a dynamic table that was not allowed");
    }
  }
  return headers;
}

/** A block of literals that no hop may index; names in lower case. */
export function encodeHeaders(fields: readonly (readonly [name: string, value: string])[]): Buffer {
  const parts: Buffer[] = [];
  for (const [name, value] of fields) {
    // Never indexed, not even by proxies: one of the values may be a token.
    parts.push(Buffer.from([0x10]), encodeText(name), encodeText(value));
  }
  return Buffer.concat(parts);
}

function encodeText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length: number[] = [];
  if (bytes.length < 0x7f) {
    length.push(bytes.length);
  } else {
    length.push(0x7f);
    let rest = bytes.length - 0x7f;
    for (; rest >= 0x80; rest >>>= 7) length.push((rest & 0x7f) | 0x80);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

function staticField(index: number): readonly [name: string, value: string] {
  const entry = STATIC_TABLE[index - 1];
  if (entry === undefined) throw malformed(`no field at index ${index}`);
  const space = entry.indexOf(" ");
  return space < 0 ? [entry, ""] : [entry.slice(0, space), entry.slice(space + 1)];
}

class BlockReader {
  readonly #block: Buffer;
  #position = 0;

  constructor(block: Buffer) {
    this.#block = block;
  }

  get isAtEnd(): boolean {
    return this.#position >= this.#block.length;
  }

  peek(): number {
    const byte = this.#block[this.#position];
    if (byte === undefined) throw malformed("it ends within a field");
    return byte;
  }

  /** An integer in the lower `bits` of the next byte and, where these are all ones, in those after it. */
  integer(bits: number): number {
    const mask = 2 ** bits - 1;
    let value = this.#take() & mask;
    if (value < mask) return value;
    for (let count = 0; count < INTEGER_BYTES_MAX; count++) {
      const byte = this.#take();
      value += (byte & 0x7f) * 2 ** (7 * count);
      if (byte < 0x80) return value;
    }
    throw malformed("an integer that is too large");
  }

  text(): string {
    const isHuffman = this.peek() >= 0x80;
    const length = this.integer(7);
    const start = this.#position;
    const end = start + length;
    if (end > this.#block.length) throw malformed("it ends within a text");
    this.#position = end;
    const bytes = this.#block.subarray(start, end);
    return isHuffman ? decodeHuffman(bytes) : bytes.toString("latin1");
  }

  #take(): number {
    const byte = this.peek();
    this.#position++;
    return byte;
  }
}

/**
 * The length in bits of each byte's Huffman code, "A" for 5 bits, "B" for 6 and so on (appendix B). The
 * code is canonical: codes of one length are in the order of the bytes, and a longer code begins where the
 * shorter ones end, so the lengths define it. The last one, EOS, is not a byte.
 */
const CODE_LENGTHS =
  "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJB" +
  "KABABABBBACCBBBABCBAABCCCCCKGJIXPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRS" +
  "VVPORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ";
const BITS_MIN = 5;
const BITS_MAX = 30;
const EOS = 256;

interface CodesOfLength {
  /** The first code of this length. */
  readonly first: number;
  /** The symbols of the codes from `first` on. */
  readonly symbols: readonly number[];
}

/** By length in bits. */
const CODES: readonly CodesOfLength[] = toCodes();

function toCodes(): CodesOfLength[] {
  const codes: CodesOfLength[] = [];
  let next = 0;
  for (let bits = 0; bits <= BITS_MAX; bits++) {
    const letter = String.fromCharCode("A".charCodeAt(0) + bits - BITS_MIN);
    const symbols = [...CODE_LENGTHS].flatMap((one, symbol) => (one === letter ? [symbol] : []));
    codes.push({ first: next, symbols });
    next = (next + symbols.length) * 2;
  }
  return codes;
}

/** @throws {Http2Error} */
function decodeHuffman(bytes: Buffer): string {
  // The shortest code has 5 bits.
  const text = Buffer.allocUnsafe(Math.ceil((bytes.length * 8) / BITS_MIN));
  let length = 0;
  let code = 0;
  let bits = 0;
  for (const byte of bytes) {
    for (let shift = 7; shift >= 0; shift--) {
      code = code * 2 + ((byte >> shift) & 1);
      bits++;
      const found = CODES[bits];
      if (found === undefined) throw malformed("no such Huffman code");
      const symbol = found.symbols[code - found.first];
      if (symbol === undefined) continue;
      if (symbol === EOS) throw malformed("the end within a text");
      text[length++] = symbol;
      code = 0;
      bits = 0;
    }
  }
  // The last byte is padded with the beginning of EOS, which is all ones.
  if (bits > 7 || code !== 2 ** bits - 1) throw malformed("a text that ends within a code");
  return text.toString("latin1", 0, length);
}

function malformed(detail: string): Http2Error {
  return new Http2Error(ERROR_CODE.compression, `a header block with ${detail}`);
}
