/**
 * parseCbor: CBOR bytes to JSON values. Refuses what JSON cannot express or an object must not have:
 * duplicate keys, numbers beyond int64 and double, NaN, invalid UTF-8, unbounded nesting. Byte strings
 * become strings; tags 21 to 23 give the text form of their bytes (RFC 8949 section 3.4.5.2); other tags
 * are ignored. It counts what it reads, in steps: an item may be one byte, so a body of 3 MB has room for three
 * million.
 */
import { isUtf8 } from "node:buffer";
import { finishNow, type Steps } from "../../storage/base/steps.js";
import type { JsonArray, JsonObject, JsonValue } from "../api/meta.js";
import { cutPath } from "../api/shown-value.js";
import { setOwn } from "../schema/json-parser.js";
import { type BodyLimits, refuseMembers, refuseValues } from "./body-values.js";

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

const TAG_BIGNUMS: ReadonlySet<number> = new Set([2, 3]);
const TEXT_FORMS: ReadonlyMap<number, BufferEncoding> = new Map([
  [21, "base64url"],
  [22, "base64"],
  [23, "hex"],
]);

const INT64_MAX = 2n ** 63n - 1n;

export class CborSyntaxError extends SyntaxError {
  override readonly name = "CborSyntaxError";
  /** Position of the error, in bytes. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(`${message} at byte ${offset}`);
    this.offset = offset;
  }
}

/** What was a body once, or was written by ourselves. */
const NO_LIMITS: BodyLimits = {
  values: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
};

/** The one value in `bytes`. @throws {CborSyntaxError} */
export function parseCbor(bytes: Buffer): JsonValue {
  return finishNow(cborSteps(bytes, NO_LIMITS));
}

/** Values that are read between two yields: a millisecond's work. */
const STEP_VALUES = 1_000;

/**
 * Like `parseCbor`, in steps.
 * @throws {StatusError} 413 at the first value, tag or piece of a string that is too many, or member of an object
 */
export function* cborSteps(bytes: Buffer, limits: BodyLimits): Steps<JsonValue> {
  const parser = new Parser(bytes, limits);
  while (!parser.read(STEP_VALUES)) yield;
  return parser.value;
}

/** A container that is not whole yet. */
interface Open {
  readonly container: JsonObject | JsonArray;
  /** The items or members that it has in all; infinite = until a break. */
  readonly count: number;
  /** Those that have begun. */
  begun: number;
  /** Of the value that is read. */
  key: string;
  /** The text form of byte strings, if a tag gives it. */
  readonly form: BufferEncoding | undefined;
}

class Parser {
  readonly #bytes: Buffer;
  readonly #limits: BodyLimits;
  #at = 0;
  #counted = 0;
  /** The innermost last. */
  readonly #open: Open[] = [];
  // The head that was read last; its argument is a count, a value or a tag number, inexact beyond 2^53.
  #major = 0;
  #info = 0;
  #argument = 0;
  value: JsonValue = null;

  constructor(bytes: Buffer, limits: BodyLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  /** Reads on, so many values at most. @returns whether the bytes have been read to their end */
  read(valuesMax: number): boolean {
    for (let left = valuesMax; left > 0; left--) {
      if (this.#next()) return true;
    }
    return false;
  }

  /** Reads a value, or the opening of one. @returns whether it was the last */
  #next(): boolean {
    let form = this.#open.at(-1)?.form;
    this.#head();
    this.#count();
    for (let tags = 1; this.#major === MAJOR.tag; tags++) {
      if (TAG_BIGNUMS.has(this.#argument)) throw this.#error("integer beyond 64 bits");
      if (this.#open.length + tags > CBOR_DEPTH_MAX) throw this.#error("exceeded max depth");
      form = TEXT_FORMS.get(this.#argument) ?? form;
      this.#head();
      this.#count();
    }
    switch (this.#major) {
      case MAJOR.array:
        return this.#opened([], form);
      case MAJOR.map:
        return this.#opened({}, form);
      default:
        return this.#place(this.#scalar(form));
    }
  }

  #count(): void {
    if (++this.#counted > this.#limits.values) throw refuseValues(this.#limits);
  }

  #opened(container: JsonObject | JsonArray, form: BufferEncoding | undefined): boolean {
    if (this.#open.length === CBOR_DEPTH_MAX) throw this.#error("exceeded max depth");
    const count = this.#info === INDEFINITE ? Number.POSITIVE_INFINITY : this.#argument;
    // Every item takes at least one byte, so a count beyond the rest is invalid.
    if (this.#info !== INDEFINITE && count > this.#bytes.length - this.#at) {
      throw this.#error("unexpected end of data");
    }
    const open: Open = { container, count, begun: 0, key: "", form };
    if (!this.#begins(open)) return this.#place(container);
    this.#open.push(open);
    return false;
  }

  /** Reads what stands before the next item or member. @returns false = the container is whole */
  #begins(open: Open): boolean {
    if (open.begun === open.count) return false;
    if (open.count === Number.POSITIVE_INFINITY && this.#bytes[this.#at] === BREAK) {
      this.#at++;
      return false;
    }
    open.begun++;
    if (Array.isArray(open.container)) return true;
    if (open.begun > this.#limits.members) throw refuseMembers(this.#limits);
    this.#head();
    if (this.#major !== MAJOR.bytes && this.#major !== MAJOR.text) {
      throw this.#error("a key that is no string");
    }
    open.key = this.#string(undefined);
    if (Object.hasOwn(open.container, open.key)) {
      throw this.#error(`duplicate key ${JSON.stringify(cutPath(open.key))}`);
    }
    return true;
  }

  /** Puts a whole value where it belongs, and closes the containers that end behind it. */
  #place(placed: JsonValue): boolean {
    for (let value = placed; ; ) {
      const open = this.#open.at(-1);
      if (open === undefined) {
        this.value = value;
        if (this.#at < this.#bytes.length) throw this.#error("unexpected data after the value");
        return true;
      }
      if (Array.isArray(open.container)) open.container.push(value);
      else setOwn(open.container, open.key, value);
      if (this.#begins(open)) return false;
      this.#open.pop();
      value = open.container;
    }
  }

  #scalar(form: BufferEncoding | undefined): JsonValue {
    switch (this.#major) {
      case MAJOR.unsigned:
        return Number.isSafeInteger(this.#argument) ? this.#argument : this.#large();
      case MAJOR.negative: {
        const value = -1 - this.#argument;
        return Number.isSafeInteger(value) ? value : -1n - this.#large();
      }
      case MAJOR.bytes:
      case MAJOR.text:
        return this.#string(form);
      default:
        return this.#simple();
    }
  }

  /** The argument beyond 2^53: bigint only where a number would be inexact, as in lossless JSON. */
  #large(): bigint {
    const argument = this.#bytes.readBigUInt64BE(this.#at - 8);
    if (argument > INT64_MAX) throw this.#error("integer beyond 64 bits");
    return argument;
  }

  #string(form: BufferEncoding | undefined): string {
    const as = this.#major === MAJOR.bytes ? form : undefined;
    if (this.#info === INDEFINITE) {
      const whole = this.#pieces();
      return this.#text(whole, 0, whole.length, as);
    }
    const start = this.#at;
    this.#skip();
    return this.#text(this.#bytes, start, this.#at, as);
  }

  #text(bytes: Buffer, start: number, end: number, form: BufferEncoding = "utf8"): string {
    const text = bytes.toString(form, start, end);
    // A replacement character indicates invalid UTF-8, unless it was sent as such.
    if (form === "utf8" && text.includes(REPLACEMENT) && !isUtf8(bytes.subarray(start, end))) {
      throw this.#error("text that is not UTF-8");
    }
    return text;
  }

  /** A string in chunks of the same major type and of definite length: they are measured, then copied. */
  #pieces(): Buffer {
    const major = this.#major;
    const start = this.#at;
    let size = 0;
    while (this.#piece(major)) {
      this.#count();
      this.#skip();
      size += this.#argument;
    }
    const whole = Buffer.allocUnsafe(size);
    this.#at = start;
    for (let to = 0; this.#piece(major); to += this.#argument) {
      this.#bytes.copy(whole, to, this.#at, this.#at + this.#argument);
      this.#skip();
    }
    return whole;
  }

  /** Reads the head of the next piece. @returns false = it was the break */
  #piece(major: number): boolean {
    if (this.#bytes[this.#at] === BREAK) {
      this.#at++;
      return false;
    }
    this.#head();
    if (this.#major !== major || this.#info === INDEFINITE) {
      throw this.#error("a piece of another type in a string");
    }
    return true;
  }

  #simple(): JsonValue {
    switch (this.#info) {
      case 20:
        return false;
      case 21:
        return true;
      case 22:
        return null;
      case 25:
        return this.#finite(toHalf(this.#argument));
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

  #head(): void {
    const first = this.#bytes[this.#at];
    if (first === undefined) throw this.#error("unexpected end of data");
    const major = first >> 5;
    const info = first & 0x1f;
    this.#major = major;
    this.#info = info;
    if (info < 24) {
      this.#at++;
      this.#argument = info;
    } else if (info <= 27) {
      const size = 1 << (info - 24);
      if (this.#bytes.length - this.#at - 1 < size) throw this.#error("unexpected end of data");
      this.#argument = this.#unsigned(this.#at + 1, size);
      this.#at += 1 + size;
    } else if (info === INDEFINITE && major >= MAJOR.bytes && major <= MAJOR.map) {
      this.#at++;
      this.#argument = 0;
    } else {
      throw this.#error("malformed data");
    }
  }

  #unsigned(at: number, size: number): number {
    if (size < 8) return this.#bytes.readUIntBE(at, size);
    return this.#bytes.readUInt32BE(at) * 2 ** 32 + this.#bytes.readUInt32BE(at + 4);
  }

  /** Goes behind the content of the string whose head was read. */
  #skip(): void {
    if (this.#argument > this.#bytes.length - this.#at) throw this.#error("unexpected end of data");
    this.#at += this.#argument;
  }

  #error(message: string): CborSyntaxError {
    return new CborSyntaxError(message, this.#at);
  }
}

const REPLACEMENT = "\ufffd";

/** RFC 8949 appendix D. */
function toHalf(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (fraction + 1024) * 2 ** (exponent - 25);
}
