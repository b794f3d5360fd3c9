/**
 * Transcodes a struct. Its members are written as they come, and nearly always they come in the order of their numbers; where
 * they do not, or where one is missing that is always written, the output is put in order afterwards.
 *
 *     {"port":80,"name":"web"}           name = 1, port = 2, weight = 3, which is always written
 *     10 50 | 0a 03 77 65 62             as they come: parts 2 and 1
 *     0a 03 77 65 62 | 10 50 | 18 00     in order, with the zero of what is missing
 */
import type { Writer } from "protobufjs/minimal.js";
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  endOfString,
  hasEscape,
  OPEN_BRACE,
  QUOTE,
} from "./json-bytes.js";
import {
  copy,
  endOfElementOrValue,
  isNull,
  reserve,
  SHORT_COPY_BYTES,
  type Transcode,
  UnusualText,
} from "./protobuf-transcode.js";

/** One member of a struct. */
export interface TranscodedField {
  readonly name: string;
  readonly number: number;
  /** Written for a missing or null member. */
  readonly zero: Uint8Array | undefined;
  /** Writes tag and value. */
  readonly transcode: Transcode;
}

/** Writes the members of the object at `at`, without a length prefix. */
export type TranscodeMembers = Transcode;

/**
 * @param fields in the order of their numbers
 * @param declared the same in the usual order of the text
 */
export function structTranscoder(
  fields: readonly TranscodedField[],
  declared: readonly TranscodedField[],
): TranscodeMembers {
  const keys = declared.map(({ name }) => Buffer.from(`"${name}":`));
  const always = fields.filter(({ zero }) => zero !== undefined);

  // The first letter and the colon's position distinguish nearly all keys.
  const letters = Uint8Array.from(keys, (key) => key[1] as number);
  const colons = Uint16Array.from(keys, (key) => key.length - 1);

  function findIn(json: Buffer, at: number, from: number, to: number): number {
    const letter = json[at + 1];
    for (let index = from; index < to; index++) {
      if (letters[index] !== letter || json[at + (colons[index] as number)] !== COLON) continue;
      if (startsWith(json, at, keys[index] as Buffer)) return index;
    }
    return -1;
  }

  /** The index of the field with the key at `at`; members come in order, so the search starts at `next`. */
  function find(json: Buffer, at: number, next: number): number {
    const index = findIn(json, at, next, keys.length);
    return index >= 0 ? index : findIn(json, at, 0, next);
  }

  return (writer, json, start) => {
    if (json[start] !== OPEN_BRACE) throw new UnusualText();
    const begin = writer.pos;
    const parts: Part[] = [];
    let at = start + 1;
    if (json[at] === QUOTE) {
      let next = 0;
      for (;;) {
        const index = find(json, at, next);
        const field = declared[index];
        if (field === undefined) {
          at = skipMember(json, at);
        } else {
          next = index + 1;
          at += (keys[index] as Buffer).length;
          if (isNull(json, at)) {
            at += "null".length;
          } else {
            const from = writer.pos;
            at = field.transcode(writer, json, at);
            parts.push({ number: field.number, from, to: writer.pos });
          }
        }
        if (json[at] !== COMMA) break;
        at++;
        if (json[at] !== QUOTE) throw new UnusualText();
      }
    }
    if (json[at] !== CLOSE_BRACE) throw new UnusualText();
    arrange(writer, begin, parts, always);
    return at + 1;
  };
}

/** The position of a written field. */
interface Part {
  readonly number: number;
  readonly from: number;
  readonly to: number;
}

function startsWith(json: Buffer, at: number, key: Buffer): boolean {
  for (let index = 0; index < key.length; index++) {
    if (json[at + index] !== key[index]) return false;
  }
  return true;
}

/** The position after an unknown member. */
function skipMember(json: Buffer, at: number): number {
  const end = endOfString(json, at);
  // With escapes it could still be a field's name.
  if (json[end + 1] !== COLON || hasEscape(json, at, end)) throw new UnusualText();
  return endOfElementOrValue(json, end + 2);
}

/** Sorts the output since `begin` by field number and adds missing fields. */
function arrange(
  writer: Writer,
  begin: number,
  parts: Part[],
  always: readonly TranscodedField[],
): void {
  // Counts the leading `parts` already in place, and the `always` fields among or after them.
  let kept = 0;
  let missing = 0;
  for (; kept < parts.length; kept++) {
    const { number } = parts[kept] as Part;
    if (kept > 0 && number <= (parts[kept - 1] as Part).number) break;
    const expected = always[missing]?.number ?? Number.POSITIVE_INFINITY;
    if (expected < number) break;
    if (expected === number) missing++;
  }
  if (kept === parts.length) {
    for (; missing < always.length; missing++) putZero(writer, always[missing]);
    return;
  }
  rearrange(writer, begin, parts, always);
}

/** Insertion sort: there are few parts, mostly in order. */
function sortByNumber(parts: Part[]): void {
  for (let index = 1; index < parts.length; index++) {
    const part = parts[index] as Part;
    let at = index;
    for (; at > 0 && (parts[at - 1] as Part).number > part.number; at--) {
      parts[at] = parts[at - 1] as Part;
    }
    parts[at] = part;
  }
}

/** Scratch space for reordering; its contents are valid within one call only. */
const SCRATCH_BYTES = 16 * 1024;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/** A copy of the output since `begin`. */
function copyOf({ buf, pos }: Writer, begin: number): Buffer {
  const bytes = pos - begin;
  if (bytes > SCRATCH_BYTES) return Buffer.from(buf.subarray(begin, pos));
  if (bytes > SHORT_COPY_BYTES) (buf as Buffer).copy(scratch, 0, begin, pos);
  else for (let at = 0; at < bytes; at++) scratch[at] = buf[begin + at] as number;
  return scratch;
}

function putZero(writer: Writer, field: TranscodedField | undefined): void {
  const zero = field?.zero;
  if (zero === undefined) return;
  reserve(writer, zero.length);
  for (let at = 0; at < zero.length; at++) writer.buf[writer.pos++] = zero[at] as number;
}

function rearrange(
  writer: Writer,
  begin: number,
  parts: Part[],
  always: readonly TranscodedField[],
): void {
  const written = copyOf(writer, begin);
  sortByNumber(parts);
  writer.pos = begin;
  let missing = 0;
  let last = 0;
  for (const { number, from, to } of parts) {
    // A duplicate member: the parser decides which one wins.
    if (number === last) throw new UnusualText();
    last = number;
    for (; (always[missing]?.number ?? number) < number; missing++)
      putZero(writer, always[missing]);
    if (always[missing]?.number === number) missing++;
    copy(writer, written, from - begin, to - begin);
  }
  for (; missing < always.length; missing++) putZero(writer, always[missing]);
}
