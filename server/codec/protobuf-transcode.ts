/**
 * Transcoders: from the compact JSON text of a stored object directly to the Protobuf wire format.
 * Unchanged text is copied; rare cases (escapes, long numbers, special encodings) are parsed piece by
 * piece. The output is byte-identical to that of the codecs in protobuf-wire.ts and protobuf-struct.ts.
 * Here are scalars, lists and maps; transcode-struct.ts has structs.
 *
 *     "web"    03 77 65 62      its length, and the same bytes
 *     80       50               a varint
 *     true     01
 */
import type { Writer } from "protobufjs/minimal.js";
import type { JsonValue } from "../api/meta.js";
import { parseJson } from "../schema/parse-json.js";
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endOfElement,
  endOfPlainString,
  endOfString,
  endOfValue,
  hasEscape,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json-bytes.js";

/** Writes what follows the tag for the non-null value at `at`; returns the position after it. */
export type Transcode = (writer: Writer, json: Buffer, at: number) => number;

/** The text is not in this API's form and must be parsed. Discard what was written so far. */
export class UnusualText extends Error {
  override readonly name = "UnusualText";
}

const BLANK = 0x20;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
/** Numbers with up to this many digits are safe integers. */
const SAFE_DIGITS_MAX = 15;
/** Shorter copies are cheaper in a loop. */
export const SHORT_COPY_BYTES = 64;

export function isNull(json: Buffer, at: number): boolean {
  return json[at] === LETTER_N;
}

/** Parses the value in the given range. */
export function parseRange(json: Buffer, start: number, end: number): JsonValue {
  return parseJson(json.toString("utf8", start, end));
}

/** Parses the value and passes it to `write`. */
export function parsing(write: (writer: Writer, value: JsonValue) => void): Transcode {
  return (writer, json, at) => {
    const end = endOfElementOrValue(json, at);
    const isPlainText = json[at] === QUOTE && !hasEscape(json, at, end);
    write(writer, isPlainText ? json.toString("utf8", at + 1, end - 1) : parseRange(json, at, end));
    return end;
  };
}

/** The position after a value of any kind. */
export function endOfElementOrValue(json: Buffer, at: number): number {
  const byte = json[at];
  if (byte === QUOTE || byte === OPEN_BRACE || byte === OPEN_BRACKET) return endOfValue(json, at);
  if (byte === undefined || byte <= BLANK) throw new UnusualText();
  // Literals and numbers end at the first foreign character.
  return Math.min(endOfElement(json, at), endOfValue(json, at));
}

/** Reserves `bytes` for writing in place. */
export function reserve(writer: Writer, bytes: number): void {
  if (writer.pos + bytes <= writer.buf.length) return;
  writer.raw(Buffer.allocUnsafe(bytes));
  writer.pos -= bytes;
}

/** Copies a part of the text, without a length prefix. */
export function copy(writer: Writer, json: Buffer, start: number, end: number): void {
  const bytes = end - start;
  reserve(writer, bytes);
  const { buf } = writer;
  let { pos } = writer;
  if (bytes > SHORT_COPY_BYTES) {
    json.copy(buf, pos, start, end);
    pos += bytes;
  } else {
    for (let at = start; at < end; at++) buf[pos++] = json[at] as number;
  }
  writer.pos = pos;
}

/** @param writeText writes a string with multi-character escapes */
export function stringTranscoder(writeText: (writer: Writer, text: string) => void): Transcode {
  return (writer, json, at) => {
    if (json[at] !== QUOTE) throw new UnusualText();
    const end = endOfPlainString(json, at);
    if (end !== undefined) {
      writer.uint32(end - at - 1);
      copy(writer, json, at + 1, end);
      return end + 1;
    }
    const after = copyUnescaped(writer, json, at + 1);
    if (after !== undefined) return after;
    const last = endOfString(json, at) + 1;
    writeText(writer, JSON.parse(json.toString("utf8", at, last)) as string);
    return last;
  };
}

/** The character for each single-letter escape, by its code. */
const ESCAPES = new Uint8Array(128);
for (const [letter, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"]) {
  ESCAPES[(letter as string).charCodeAt(0)] = (character as string).charCodeAt(0);
}
const LETTER_U = 0x75;
const ASCII_END = 0x80;

/**
 * Writes the escaped string that begins at `start`, with its length; returns the position after its
 * quote. For rare escapes it writes nothing and returns undefined.
 */
function copyUnescaped(writer: Writer, json: Buffer, start: number): number | undefined {
  const begin = writer.pos;
  writer.fork();
  // Unescaped text is shorter, and searching for the end is not worth it.
  reserve(writer, json.length - start);
  const { buf } = writer;
  let { pos } = writer;
  let at = start;
  for (let byte = json[at] as number; byte !== QUOTE; byte = json[++at] as number) {
    if (at >= json.length) throw new UnusualText();
    if (byte === BACKSLASH) {
      const letter = json[++at] as number;
      if (letter === LETTER_U) {
        byte = Number.parseInt(json.toString("latin1", at + 1, at + 5), 16);
        at += 4;
        if (byte >= ASCII_END) {
          // `reset` returns to the state at `fork`.
          writer.reset();
          writer.pos = begin;
          return undefined;
        }
      } else {
        byte = ESCAPES[letter] as number;
      }
    }
    buf[pos++] = byte;
  }
  writer.pos = pos;
  writer.ldelim();
  return at + 1;
}

/** @param write writes a safe integer */
export function integerTranscoder(write: (writer: Writer, value: number) => void): Transcode {
  return (writer, json, start) => {
    let at = start;
    const isNegative = json[at] === MINUS;
    if (isNegative) at++;
    const first = at;
    let value = 0;
    for (
      let byte = json[at] as number;
      byte >= DIGIT_0 && byte <= DIGIT_9;
      byte = json[at] as number
    ) {
      value = value * 10 + byte - DIGIT_0;
      at++;
    }
    const isWhole = json[at] === COMMA || json[at] === CLOSE_BRACE || json[at] === CLOSE_BRACKET;
    if (at === first || at - first > SAFE_DIGITS_MAX || !isWhole) throw new UnusualText();
    write(writer, isNegative ? -value : value);
    return at;
  };
}

export const transcodeBool: Transcode = (writer, json, at) => {
  const value = json[at] === LETTER_T;
  // A blank and "true" are as long as "false".
  if (!value && json[at] !== LETTER_F) throw new UnusualText();
  writer.bool(value);
  return at + (value ? "true" : "false").length;
};

/** Base64. */
export const transcodeBytes: Transcode = (writer, json, at) => {
  if (json[at] !== QUOTE) throw new UnusualText();
  const end = endOfString(json, at);
  if (hasEscape(json, at + 1, end)) throw new UnusualText();
  writer.bytes(Buffer.from(json.toString("latin1", at + 1, end), "base64"));
  return end + 1;
};

/** A message whose field 1 is the value's own text. */
export const transcodeRaw: Transcode = (writer, json, at) => {
  const end = endOfElementOrValue(json, at);
  writer
    .fork()
    .uint32(RAW_TAG)
    .uint32(end - at);
  copy(writer, json, at, end);
  writer.ldelim();
  return end;
};
const RAW_TAG = 0x0a;

/** Writes `tag` and each item; `zero` writes a null item. */
export function transcodeList(
  writer: Writer,
  json: Buffer,
  start: number,
  item: { readonly tag: number; readonly transcode: Transcode; zero(writer: Writer): void },
): number {
  if (json[start] !== OPEN_BRACKET) throw new UnusualText();
  let at = start + 1;
  if (json[at] === CLOSE_BRACKET) return at + 1;
  for (;;) {
    writer.uint32(item.tag);
    if (isNull(json, at)) {
      item.zero(writer);
      at += "null".length;
    } else {
      at = item.transcode(writer, json, at);
    }
    if (json[at] === CLOSE_BRACKET) return at + 1;
    if (json[at] !== COMMA) throw new UnusualText();
    at++;
  }
}

/**
 * Entries with string keys, in key order. @returns undefined, with nothing written, if the text has
 * another order or a rare case and must be parsed
 */
export function transcodeMap(
  writer: Writer,
  json: Buffer,
  start: number,
  entry: { readonly tag: number; readonly valueTag: number; readonly transcode: Transcode },
): number | undefined {
  const begin = writer.pos;
  const refuse = () => {
    writer.pos = begin;
    return undefined;
  };
  if (json[start] !== OPEN_BRACE) throw new UnusualText();
  let at = start + 1;
  if (json[at] === CLOSE_BRACE) return at + 1;
  let last: string | undefined;
  for (;;) {
    if (json[at] !== QUOTE) throw new UnusualText();
    const end = endOfString(json, at);
    if (json[end + 1] !== COLON) throw new UnusualText();
    if (hasEscape(json, at + 1, end) || isNull(json, end + 2)) return refuse();
    const key = json.toString("utf8", at + 1, end);
    if (last !== undefined && key <= last) return refuse();
    last = key;
    writer
      .uint32(entry.tag)
      .fork()
      .uint32(KEY_TAG)
      .uint32(end - at - 1);
    copy(writer, json, at + 1, end);
    writer.uint32(entry.valueTag);
    at = entry.transcode(writer, json, end + 2);
    writer.ldelim();
    if (json[at] === CLOSE_BRACE) return at + 1;
    if (json[at] !== COMMA) throw new UnusualText();
    at++;
  }
}
const KEY_TAG = 0x0a;
