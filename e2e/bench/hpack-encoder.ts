/**
 * Header blocks as client-go and nghttp2 encode them (RFC 7541): a field that the connection had before is an index,
 * any other one a literal that both sides remember. Without Huffman coding.
 */
import { STATIC_TABLE } from "../../storage/etcd/hpack.js";

/** What the server lets a client's table hold unless its settings say otherwise (section 6.5.2 of RFC 9113). */
const TABLE_BYTES_MAX = 4_096;
/** Counted for each entry besides its name and value (section 4.1). */
const ENTRY_BYTES = 32;
/** Indices by "name value", and by name alone: the first one. */
const STATIC_FIELDS = new Map(STATIC_TABLE.map((entry, at) => [entry, at + 1]));
const STATIC_NAMES = new Map(
  STATIC_TABLE.map((entry, at): [string, number] => [entry.split(" ")[0] ?? "", at + 1]).reverse(),
);

const INDEXED = { flag: 0x80, bits: 7 };
const REMEMBERED = { flag: 0x40, bits: 6 };
const TEXT = { flag: 0, bits: 7 };

export class HpackEncoder {
  /** Entries by "name value": the how many-th that was remembered, from 1 on. */
  readonly #numbers = new Map<string, number>();
  #remembered = 0;
  #bytes = 0;

  /** @param fields names in lower case */
  encode(fields: readonly (readonly [name: string, value: string])[]): Buffer {
    return Buffer.concat(fields.flatMap(([name, value]) => this.#encodeField(name, value)));
  }

  #encodeField(name: string, value: string): readonly Buffer[] {
    const field = `${name} ${value}`;
    const number = this.#numbers.get(field);
    // The newest entry is the first behind the static table.
    const index =
      STATIC_FIELDS.get(field) ??
      (number === undefined ? undefined : STATIC_TABLE.length + 1 + this.#remembered - number);
    if (index !== undefined) return [integer(INDEXED, index)];
    this.#remember(field);
    const known = STATIC_NAMES.get(name);
    return [
      integer(REMEMBERED, known ?? 0),
      ...(known === undefined ? text(name) : []),
      ...text(value),
    ];
  }

  #remember(field: string): void {
    this.#numbers.set(field, ++this.#remembered);
    this.#bytes += bytesOf(field);
    for (const oldest of this.#numbers.keys()) {
      if (this.#bytes <= TABLE_BYTES_MAX) break;
      this.#numbers.delete(oldest);
      this.#bytes -= bytesOf(oldest);
    }
  }
}

function bytesOf(field: string): number {
  return Buffer.byteLength(field, "latin1") - 1 + ENTRY_BYTES;
}

function text(value: string): readonly Buffer[] {
  const bytes = Buffer.from(value, "latin1");
  return [integer(TEXT, bytes.length), bytes];
}

/** An integer in the lower bits of the first byte, and in more if they are all ones (section 5.1). */
function integer({ flag, bits }: { readonly flag: number; readonly bits: number }, value: number) {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.of(flag | value);
  const bytes = [flag | most];
  let rest = value - most;
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}
