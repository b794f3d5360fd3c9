/**
 * Reads DER (X.690): the values of a certificate, one after the other, each checked to be encoded in the one way that
 * DER allows. Values are views of the bytes given, never copies. What is malformed is a MalformedDer.
 */

/** Tags of the universal class, with the bit of constructed values where they are constructed. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** A context-specific tag. */
export const context = (number: number): number => 0x80 | number;
export const constructed = (number: number): number => 0xa0 | number;

export class MalformedDer extends Error {
  override readonly name = "MalformedDer";
}

export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** With its tag and length. */
  readonly whole: Buffer;
}

export class DerReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#at >= this.#bytes.length;
  }

  nextIs(tag: number): boolean {
    return this.#bytes[this.#at] === tag;
  }

  /** @throws {MalformedDer} */
  any(): DerValue {
    const begin = this.#at;
    const tag = this.#byte();
    // No certificate needs tags above 30.
    if ((tag & 0x1f) === 0x1f) throw new MalformedDer("a tag of several bytes");
    const length = this.#length();
    const contentAt = this.#at;
    const end = contentAt + length;
    if (end > this.#bytes.length) throw new MalformedDer("a value longer than what is there");
    this.#at = end;
    return {
      tag,
      content: this.#bytes.subarray(contentAt, end),
      whole: this.#bytes.subarray(begin, end),
    };
  }

  /** @throws {MalformedDer} if the next value has another tag */
  value(tag: number): DerValue {
    if (!this.nextIs(tag)) throw new MalformedDer(`no value with tag ${tag}`);
    return this.any();
  }

  /** Reads the content of the next value. @throws {MalformedDer} */
  inside(tag: number): DerReader {
    return new DerReader(this.value(tag).content);
  }

  /** undefined if the next value has another tag. */
  optional(tag: number): DerValue | undefined {
    return this.nextIs(tag) ? this.any() : undefined;
  }

  /** @throws {MalformedDer} */
  boolean(): boolean {
    const { content } = this.value(TAG.boolean);
    const [byte] = content;
    if (content.length !== 1 || (byte !== 0 && byte !== 0xff)) throw new MalformedDer("a boolean");
    return byte === 0xff;
  }

  /** @throws {MalformedDer} also for more than 64 bits */
  integer(tag: number = TAG.integer): number {
    const value = checkedInteger(this.value(tag).content);
    if (value.length > 8) throw new MalformedDer("an integer of more than 64 bits");
    return Number(BigInt.asIntN(value.length * 8, BigInt(`0x${value.toString("hex")}`)));
  }

  /** Dotted. @throws {MalformedDer} */
  objectIdentifier(): string {
    return toDotted(this.value(TAG.objectIdentifier).content);
  }

  /** The bytes, and how many of the last one's bits do not count. @throws {MalformedDer} */
  bitString(): Buffer {
    const { content } = this.value(TAG.bitString);
    const padding = content[0] ?? 8;
    const last = content.at(-1) ?? 0;
    const isWhole = content.length > 1 ? (last & ((1 << padding) - 1)) === 0 : padding === 0;
    if (padding > 7 || !isWhole) throw new MalformedDer("a string of bits");
    return content.subarray(1);
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new MalformedDer("a value is cut off");
    this.#at++;
    return byte;
  }

  #length(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new MalformedDer("a length of no or many bytes");
    let length = 0;
    for (let index = 0; index < count; index++) length = length * 256 + this.#byte();
    if (length < 0x80 || length < 256 ** (count - 1)) throw new MalformedDer("a length too long");
    return length;
  }
}

/** Two's complement in as few bytes as possible. @throws {MalformedDer} */
export function checkedInteger(content: Buffer): Buffer {
  const [first, second = 0] = content;
  if (first === undefined) throw new MalformedDer("an empty integer");
  const isPadded =
    content.length > 1 && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
  if (isPadded) throw new MalformedDer("an integer too long");
  return content;
}

function toDotted(content: Buffer): string {
  const parts: number[] = [];
  let part = 0;
  let isComplete = false;
  for (const byte of content) {
    if (part === 0 && byte === 0x80) throw new MalformedDer("an identifier too long");
    part = part * 128 + (byte & 0x7f);
    if (part > Number.MAX_SAFE_INTEGER / 128) throw new MalformedDer("an identifier too large");
    isComplete = byte < 0x80;
    if (!isComplete) continue;
    parts.push(part);
    part = 0;
  }
  const [first] = parts;
  if (!isComplete || first === undefined) throw new MalformedDer("an identifier is cut off");
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...parts.slice(1)].join(".");
}
