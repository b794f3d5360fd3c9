/**
 * parseCbor: CBOR bytes to JSON values. Refuses what JSON cannot express or an object must not have:
 * duplicate keys, numbers beyond int64 and double, NaN, invalid UTF-8, unbounded nesting. Byte strings
 * become strings; tags 21 to 23 give the text form of their bytes (RFC 8949 section 3.4.5.2); other tags
 * are ignored.
 */
import type { JsonObject, JsonValue } from "../api/meta.js";

/** Deeper data is not an object of the API; each level costs stack. */
const CBOR_DEPTH_MAX = 1000;

/** Major types, RFC 8949 section 3.1. */
const MAJOR = Object.freeze({
  unsigned: 0,
  negative: 1,
  bytes: 2,
  text: 3,
  array: 4,
  map: 5,
  tag: 6,
  simple: 7,
});

const INDEFINITE = 31;
const BREAK = 0xff;

const TAG_BASE64URL = 21n;
const TAG_BASE64 = 22n;
const TAG_BASE16 = 23n;
const TAG_BIGNUMS: ReadonlySet<bigint> = new Set([2n, 3n]);
const TEXT_FORMS: ReadonlyMap<bigint, BufferEncoding> = new Map([
  [TAG_BASE64URL, "base64url"],
  [TAG_BASE64, "base64"],
  [TAG_BASE16, "hex"],
]);

const INT64_MAX = 2n ** 63n - 1n;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class CborSyntaxError extends SyntaxError {
  override readonly name = "CborSyntaxError";
  /** Position of the error, in bytes. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(`${message} at byte ${offset}`);
    this.offset = offset;
  }
}

/** The one value in `bytes`. @throws {CborSyntaxError} */
export function parseCbor(bytes: Buffer): JsonValue {
  return new Parser(bytes).document();
}

interface Head {
  readonly major: number;
  readonly info: number;
  /** Count, value or tag number; 0 if `info` is complete. */
  readonly argument: bigint;
}

class Parser {
  readonly #bytes: Buffer;
  #at = 0;
  #depth = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  document(): JsonValue {
    const value = this.#value(undefined);
    if (this.#at < this.#bytes.length) throw this.#error("unexpected data after the value");
    return value;
  }

  /** @param form the text form of byte strings, if a tag gives it */
  #value(form: BufferEncoding | undefined): JsonValue {
    const head = this.#head();
    switch (head.major) {
      case MAJOR.unsigned:
        if (head.argument > INT64_MAX) throw this.#error("integer beyond 64 bits");
        return toInteger(head.argument);
      case MAJOR.negative:
        if (head.argument > INT64_MAX) throw this.#error("integer beyond 64 bits");
        return toInteger(-1n - head.argument);
      case MAJOR.bytes:
      case MAJOR.text:
        return this.#string(head, form);
      case MAJOR.array:
        return this.#nested(() => this.#array(head, form));
      case MAJOR.map:
        return this.#nested(() => this.#map(head, form));
      case MAJOR.tag:
        if (TAG_BIGNUMS.has(head.argument)) throw this.#error("integer beyond 64 bits");
        return this.#nested(() => this.#value(TEXT_FORMS.get(head.argument) ?? form));
      default:
        return this.#simple(head);
    }
  }

  #array(head: Head, form: BufferEncoding | undefined): JsonValue[] {
    const items: JsonValue[] = [];
    while (this.#hasMore(head, items.length)) items.push(this.#value(form));
    return items;
  }

  #map(head: Head, form: BufferEncoding | undefined): JsonObject {
    const object: JsonObject = {};
    for (let count = 0; this.#hasMore(head, count); count++) {
      const keyHead = this.#head();
      if (keyHead.major !== MAJOR.bytes && keyHead.major !== MAJOR.text) {
        throw this.#error("a key that is no string");
      }
      const key = this.#string(keyHead, undefined);
      if (Object.hasOwn(object, key)) throw this.#error(`duplicate key ${JSON.stringify(key)}`);
      // Defined, not assigned: "__proto__" is an ordinary key.
      Object.defineProperty(object, key, {
        value: this.#value(form),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return object;
  }

  #hasMore({ info, argument }: Head, count: number): boolean {
    if (info !== INDEFINITE) {
      // Every item takes at least one byte, so a count beyond the rest is invalid.
      if (argument - BigInt(count) > BigInt(this.#bytes.length - this.#at)) {
        throw this.#error("unexpected end of data");
      }
      return BigInt(count) < argument;
    }
    if (this.#bytes[this.#at] !== BREAK) return true;
    this.#at++;
    return false;
  }

  #string(head: Head, form: BufferEncoding | undefined): string {
    const content = head.info === INDEFINITE ? this.#pieces(head.major) : this.#take(head.argument);
    if (form !== undefined && head.major === MAJOR.bytes) return content.toString(form);
    try {
      return utf8.decode(content);
    } catch {
      throw this.#error("text that is not UTF-8");
    }
  }

  /** A string in chunks of the same major type and of definite length. */
  #pieces(major: number): Buffer {
    const pieces: Buffer[] = [];
    for (;;) {
      if (this.#bytes[this.#at] === BREAK) {
        this.#at++;
        return Buffer.concat(pieces);
      }
      const head = this.#head();
      if (head.major !== major || head.info === INDEFINITE) {
        throw this.#error("a piece of another type in a string");
      }
      pieces.push(this.#take(head.argument));
    }
  }

  #simple({ info, argument }: Head): JsonValue {
    switch (info) {
      case 20:
        return false;
      case 21:
        return true;
      case 22:
        return null;
      case 25:
        return this.#finite(toHalf(Number(argument)));
      case 26:
        return this.#finite(this.#bytes.readFloatBE(this.#at - 4));
      case 27:
        return this.#finite(this.#bytes.readDoubleBE(this.#at - 8));
      default:
        throw this.#error("a simple value that JSON does not have");
    }
  }

  #finite(value: number): number {
    if (!Number.isFinite(value)) throw this.#error("a number that is not finite");
    return value;
  }

  #head(): Head {
    const first = this.#bytes[this.#at];
    if (first === undefined) throw this.#error("unexpected end of data");
    this.#at++;
    const major = first >> 5;
    const info = first & 0x1f;
    if (info < 24) return { major, info, argument: BigInt(info) };
    if (info <= 27) {
      const size = 1 << (info - 24);
      const content = this.#take(BigInt(size));
      const argument = size === 8 ? content.readBigUInt64BE() : BigInt(content.readUIntBE(0, size));
      return { major, info, argument };
    }
    const mayBeIndefinite = major >= MAJOR.bytes && major <= MAJOR.map;
    if (info === INDEFINITE && mayBeIndefinite) return { major, info, argument: 0n };
    this.#at--;
    throw this.#error("malformed data");
  }

  #take(length: bigint): Buffer {
    const end = BigInt(this.#at) + length;
    if (end > BigInt(this.#bytes.length)) throw this.#error("unexpected end of data");
    const content = this.#bytes.subarray(this.#at, Number(end));
    this.#at = Number(end);
    return content;
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > CBOR_DEPTH_MAX) throw this.#error("exceeded max depth");
    const value = parse();
    this.#depth--;
    return value;
  }

  #error(message: string): CborSyntaxError {
    return new CborSyntaxError(message, this.#at);
  }
}

/** As in lossless JSON: bigint only where a number would be inexact. */
function toInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** RFC 8949 appendix D. */
function toHalf(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (fraction + 1024) * 2 ** (exponent - 25);
}
