/**
 * The part of the Protobuf wire format that etcd's hot messages need: varints, length-delimited
 * fields, skipping unknown fields. Takes and returns Buffers; knows no message. Written by hand
 * because a reader that copies nothing and decodes int64 as numbers is several times as fast as a
 * general one (docs/dev/decisions/0003-etcd-client.md).
 */
import { StorageError } from "../kv/errors.js";
import { type Revision, toRevision } from "../kv/store.js";

/** Wire types of Protobuf that proto3 messages use. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;

/** A varint of ten bytes is a negative int64: the only negative number in etcd's answers is -1. */
const VARINT_BYTES_MAX = 10;

/** How many bytes a non-negative whole number takes as a varint. */
export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size++;
  return size;
}

/** How many bytes a length-delimited field with a number below 16 takes, with its tag. */
export function fieldSize(contentBytes: number): number {
  return 1 + varintSize(contentBytes) + contentBytes;
}

/** Writes fields into a Buffer of exactly the size that the caller computed. */
export class ProtobufWriter {
  readonly buffer: Buffer;
  #position = 0;

  constructor(bytes: number) {
    this.buffer = Buffer.allocUnsafe(bytes);
  }

  varint(field: number, value: number): void {
    this.#byte((field << 3) | VARINT);
    this.#rawVarint(value);
  }

  /** An int64 that may exceed 2^53, such as a lease id. */
  bigVarint(field: number, value: bigint): void {
    this.#byte((field << 3) | VARINT);
    let rest = BigInt.asUintN(64, value);
    while (rest >= 128n) {
      this.#byte(Number(rest & 127n) | 128);
      rest >>= 7n;
    }
    this.#byte(Number(rest));
  }

  text(field: number, value: string, bytes: number): void {
    this.open(field, bytes);
    this.#position += this.buffer.write(value, this.#position, bytes, "utf8");
  }

  bytes(field: number, value: Uint8Array): void {
    this.open(field, value.length);
    this.buffer.set(value, this.#position);
    this.#position += value.length;
  }

  /** Starts a nested message (or bytes) of the given size. */
  open(field: number, bytes: number): void {
    this.#byte((field << 3) | BYTES);
    this.#rawVarint(bytes);
  }

  #byte(value: number): void {
    this.buffer[this.#position++] = value;
  }

  #rawVarint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#byte((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.#byte(rest);
  }
}

/**
 * A cursor over one message or a nested one: `end` moves while a nested message is read. Every read
 * past the end throws, so a truncated answer is never taken for a short one.
 */
export class ProtobufReader {
  readonly #buffer: Buffer;
  #position: number;
  #end: number;
  /** Wire type of the field that `next` returned last. */
  #wireType = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
    this.#position = 0;
    this.#end = buffer.length;
  }

  /** The next field's number, or 0 at the end of the message. */
  next(): number {
    if (this.#position >= this.#end) return 0;
    const tag = this.varint();
    this.#wireType = tag & 7;
    return tag >>> 3;
  }

  /** A non-negative number up to 2^53-1; a larger or negative one yields a number above that. */
  varint(): number {
    let byte = this.#byte();
    if (byte < 128) return byte;
    let value = byte & 127;
    let factor = 128;
    for (let count = 1; count < VARINT_BYTES_MAX; count++) {
      byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
    throw malformed();
  }

  /** @throws {StorageError} Refused beyond 2^53-1, where numbers would be rounded */
  revision(): Revision {
    const value = this.varint();
    if (Number.isSafeInteger(value)) return toRevision(value);
    throw new StorageError("Refused", "the store's revision is beyond 2^53-1");
  }

  /** A uint64 as decimal text, for ids without arithmetic. */
  bigVarint(): string {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value.toString();
    }
    throw malformed();
  }

  text(): string {
    const start = this.#take(this.varint());
    return this.#buffer.toString("utf8", start, this.#position);
  }

  /** A view of the answer's memory, not a copy: it keeps the whole answer alive. */
  bytes(): Buffer {
    const start = this.#take(this.varint());
    return this.#buffer.subarray(start, this.#position);
  }

  /** Enters a nested message; pass the result to `leave` after `next` has returned 0. */
  enter(): number {
    const outerEnd = this.#end;
    const end = this.varint() + this.#position;
    if (end > outerEnd) throw malformed();
    this.#end = end;
    return outerEnd;
  }

  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  /** Skips the content of the field that `next` returned last. */
  skip(): void {
    if (this.#wireType === VARINT) this.varint();
    else if (this.#wireType === BYTES) this.#take(this.varint());
    else if (this.#wireType === FIXED64) this.#take(8);
    else if (this.#wireType === FIXED32) this.#take(4);
    else throw malformed();
  }

  #byte(): number {
    const byte = this.#position < this.#end ? this.#buffer[this.#position++] : undefined;
    if (byte === undefined) throw malformed();
    return byte;
  }

  #take(length: number): number {
    const start = this.#position;
    if (start + length > this.#end) throw malformed();
    this.#position = start + length;
    return start;
  }
}

function malformed(): StorageError {
  return new StorageError("Unavailable", "etcd's answer is not a well-formed message");
}
