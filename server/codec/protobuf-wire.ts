/**
 * WireCodec: reads and writes one type of the schema model in the Protobuf wire format. This is the
 * contract of this folder's Protobuf codecs, with the codecs of scalars and of special encodings. The
 * other side is always the JSON form: base64 for bytes, RFC 3339 for times, bigint for integers beyond
 * 2^53. docs/dev/facts.md ("What follows for Protobuf") has the rules.
 */
import { isUtf8 } from "node:buffer";
import { toUSVString } from "node:util";
import type { Reader, Writer } from "protobufjs/minimal.js";
import type { Steps } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import type { BuiltinName, ScalarName } from "../schema/model.js";
import { parseJson } from "../schema/parse-json.js";
import { canonicalQuantity, QUANTITY_RULE } from "../schema/quantity.js";
import { canonicalDuration } from "../schema/time-text.js";
import { stringifyJson } from "./json.js";
import { budgetOf, ProtobufFailure, type ReadingBudget } from "./protobuf-reader.js";
import {
  integerTranscoder,
  parsing,
  stringTranscoder,
  type Transcode,
  transcodeBool,
  transcodeBytes,
  transcodeRaw,
} from "./protobuf-transcode.js";

export const VARINT = 0;
const FIXED64 = 1;
export const LENGTH_DELIMITED = 2;

/**
 * Nesting limit of messages. Real objects have less than a tenth; a hostile body can nest recursive
 * types arbitrarily, and must not exhaust the stack of recursive code.
 */
export const MESSAGE_DEPTH_MAX = 300;

export interface WireCodec {
  readonly wireType: number;
  /** Writes what follows the tag. */
  write(writer: Writer, value: JsonValue): void;
  /**
   * Reads what follows the tag. `null` means that the value counts as absent (the zero time).
   * @param previous the value of an earlier occurrence of the field: messages are merged into it
   * @throws {ProtobufFailure} and errors of protobufjs
   */
  read(reader: Reader, depth: number, previous?: JsonValue): JsonValue;
  /** Like `read`, in steps; absent = the value is short, or cannot be cut. */
  readInSteps?(reader: Reader, depth: number, previous?: JsonValue): Steps<JsonValue>;
  /** Like `write`, from the value's text; if absent, the value must be parsed. */
  readonly transcode?: Transcode;
  /** The value of an absent field; a new one each time. */
  zero(): JsonValue;
}

/** Whether the bytes were refused, by us or by protobufjs, whose errors have no class. */
export function isUnreadable(error: unknown): error is Error {
  if (error instanceof ProtobufFailure) return true;
  return error instanceof Error && (error.constructor === Error || error instanceof RangeError);
}

/** The codec's transcoder, or one that parses. */
export function transcodeOf(codec: WireCodec): Transcode {
  return codec.transcode ?? parsing((writer, value) => codec.write(writer, value));
}

export function tagOf(number: number, wireType: number): number {
  return (number << 3) | wireType;
}

/** Limits the reader to the message that begins here. Returns the old end for `leaveMessage`. */
export function enterMessage(reader: Reader): number {
  const end = reader.size() + reader.pos;
  const outer = reader.len;
  if (end > outer) throw unexpectedEnd();
  // The reader checks bounds against `len`, so nothing inside can read beyond.
  reader.len = end;
  return outer;
}

export function leaveMessage(reader: Reader, outer: number): void {
  reader.len = outer;
}

export function unexpectedEnd(): ProtobufFailure {
  return new ProtobufFailure("unexpected EOF");
}

export function wrongWireType(wireType: number, field: string): ProtobufFailure {
  return new ProtobufFailure(`proto: wrong wireType = ${wireType} for field ${field}`);
}

/** Like the codec's `read`, in steps if it has them. */
export function* readInSteps(
  codec: WireCodec,
  reader: Reader,
  depth: number,
  previous?: JsonValue,
): Steps<JsonValue> {
  if (codec.readInSteps === undefined) return codec.read(reader, depth, previous);
  return yield* codec.readInSteps(reader, depth, previous);
}

/** Reads the members of a message with few known field numbers. */
export function readMembers(
  reader: Reader,
  codecs: readonly (WireCodec | undefined)[],
  depth: number,
): (JsonValue | undefined)[] {
  const members: (JsonValue | undefined)[] = [];
  const outer = enterMessage(reader);
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    const [number, wireType] = [tag >>> 3, tag & 7];
    const codec = codecs[number];
    if (codec === undefined) reader.skipType(wireType, 0, number);
    else if (codec.wireType !== wireType) throw wrongWireType(wireType, String(number));
    else members[number] = codec.read(reader, depth, members[number]);
  }
  leaveMessage(reader, outer);
  return members;
}

/** The same in steps. */
export function* readMembersInSteps(
  reader: Reader,
  codecs: readonly (WireCodec | undefined)[],
  depth: number,
): Steps<(JsonValue | undefined)[]> {
  const members: (JsonValue | undefined)[] = [];
  const outer = enterMessage(reader);
  while (reader.pos < reader.len) {
    if (budgetOf(reader).endsStep()) yield;
    const tag = reader.tag();
    const [number, wireType] = [tag >>> 3, tag & 7];
    const codec = codecs[number];
    if (codec === undefined) reader.skipType(wireType, 0, number);
    else if (codec.wireType !== wireType) throw wrongWireType(wireType, String(number));
    else members[number] = yield* readInSteps(codec, reader, depth, members[number]);
  }
  leaveMessage(reader, outer);
  return members;
}

/** A replacement character indicates invalid UTF-8, unless it was sent as such. */
const REPLACEMENT = "\ufffd";

export function readString(reader: Reader): string {
  const size = reader.size();
  const start = reader.pos;
  const end = start + size;
  if (end > reader.len) throw unexpectedEnd();
  reader.pos = end;
  if (size === 0) return "";
  const bytes = reader.buf as Buffer;
  const text = bytes.toString("utf8", start, end);
  if (text.includes(REPLACEMENT) && !isUtf8(bytes.subarray(start, end))) {
    throw new ProtobufFailure("string field contains invalid UTF-8");
  }
  return text;
}

/** A view of the bytes, not a copy. */
export function readBytes(reader: Reader): Buffer {
  const size = reader.size();
  const start = reader.pos;
  const end = start + size;
  if (end > reader.len) throw unexpectedEnd();
  reader.pos = end;
  return (reader.buf as Buffer).subarray(start, end);
}

/** Safe integers as numbers, all others as bigint. */
function readInt64(reader: Reader): number | bigint {
  const first = reader.buf[reader.pos];
  if (first !== undefined && first < 128 && reader.pos < reader.len) {
    reader.pos++;
    return first;
  }
  const { low, high } = reader.int64() as { low: number; high: number };
  const value = high * 2 ** 32 + (low >>> 0);
  if (Number.isSafeInteger(value)) return value;
  return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low >>> 0));
}

function writeInt64(writer: Writer, value: number | bigint): void {
  if (typeof value === "number") {
    writer.int64(value);
    return;
  }
  const low = Number(BigInt.asIntN(32, value));
  const high = Number(BigInt.asIntN(32, value >> 32n));
  writer.int64({ low, high, unsigned: false });
}

/** A lone surrogate, which JSON allows, has no UTF-8 form. */
function writeString(writer: Writer, text: string): void {
  writer.string(toUSVString(text));
}

const stringCodec: WireCodec = {
  wireType: LENGTH_DELIMITED,
  write: (writer, value) => writeString(writer, value as string),
  read: readString,
  transcode: stringTranscoder(writeString),
  zero: () => "",
};

const int64Codec: WireCodec = {
  wireType: VARINT,
  write: (writer, value) => writeInt64(writer, value as number | bigint),
  read: readInt64,
  transcode: integerTranscoder((writer, value) => writer.int64(value)),
  zero: () => 0,
};

const int32Codec: WireCodec = {
  wireType: VARINT,
  write: (writer, value) => {
    writer.int32(value as number);
  },
  read: (reader) => reader.int32(),
  transcode: integerTranscoder((writer, value) => writer.int32(value)),
  zero: () => 0,
};

const bytesCodec: WireCodec = {
  wireType: LENGTH_DELIMITED,
  write: (writer, value) => {
    writer.bytes(Buffer.from(value as string, "base64"));
  },
  read: (reader) => readBytes(reader).toString("base64"),
  transcode: transcodeBytes,
  zero: () => "",
};

export const SCALAR_WIRE_CODECS: Readonly<Record<Exclude<ScalarName, "any">, WireCodec>> = {
  string: stringCodec,
  bytes: bytesCodec,
  int64: int64Codec,
  int32: int32Codec,
  bool: {
    wireType: VARINT,
    write: (writer, value) => {
      writer.bool(value === true);
    },
    read: (reader) => reader.bool(),
    transcode: transcodeBool,
    zero: () => false,
  },
  float64: {
    wireType: FIXED64,
    write: (writer, value) => {
      writer.double(Number(value));
    },
    read(reader) {
      const value = reader.double();
      if (!Number.isFinite(value)) throw new ProtobufFailure(`json: unsupported value: ${value}`);
      return value;
    },
    zero: () => 0,
  },
};

const TIMESTAMP = [undefined, int64Codec, int32Codec];
const SECONDS_TAG = tagOf(1, VARINT);
const NANOS_TAG = tagOf(2, VARINT);
/** The first and last second of RFC 3339; the first second of year 1 is the zero time. */
const SECONDS_MIN = -62_167_219_200;
const SECONDS_MAX = 253_402_300_799;
const SECONDS_ZERO = -62_135_596_800;

function writeTimestamp(writer: Writer, seconds: number, nanos: number): void {
  if (!Number.isInteger(seconds)) throw new TypeError("a stored time is not canonical");
  writer.fork().uint32(SECONDS_TAG).int64(seconds).uint32(NANOS_TAG).int32(nanos).ldelim();
}

/** undefined for the empty message. */
function readTimestamp(reader: Reader): { seconds: number; nanos: number } | undefined {
  const [, seconds, nanos] = readMembers(reader, TIMESTAMP, 0);
  if (seconds === undefined && nanos === undefined) return undefined;
  const value = { seconds: Number(seconds ?? 0), nanos: Number(nanos ?? 0) };
  if (value.seconds < SECONDS_MIN || value.seconds > SECONDS_MAX) {
    throw new ProtobufFailure("year outside of range [0,9999]");
  }
  if (value.nanos < 0 || value.nanos >= 1e9) throw new ProtobufFailure("nanos out of range");
  return value;
}

/** "2026-01-02T03:04:05", without the zone. */
function textOfSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 19);
}

const timeCodec: WireCodec = {
  wireType: LENGTH_DELIMITED,
  write(writer, value) {
    if (value === null) writer.uint32(0);
    else writeTimestamp(writer, Date.parse(value as string) / 1000, 0);
  },
  read(reader) {
    const time = readTimestamp(reader);
    if (time === undefined || time.seconds === SECONDS_ZERO) return null;
    return `${textOfSeconds(time.seconds)}Z`;
  },
  zero: () => null,
};

const microTimeCodec: WireCodec = {
  wireType: LENGTH_DELIMITED,
  write(writer, value) {
    if (value === null) {
      writer.uint32(0);
      return;
    }
    const text = value as string;
    const nanos = Number(text.slice(20, 26)) * 1000;
    writeTimestamp(writer, Date.parse(`${text.slice(0, 19)}Z`) / 1000, nanos);
  },
  read(reader) {
    const time = readTimestamp(reader);
    if (time === undefined) return null;
    const micros = Math.floor(time.nanos / 1000);
    if (time.seconds === SECONDS_ZERO && micros === 0) return null;
    return `${textOfSeconds(time.seconds)}.${String(micros).padStart(6, "0")}Z`;
  },
  zero: () => null,
};

const DURATION_PART = /(\d+)(?:\.(\d+))?(h|ms|m|s|µs|ns)/g;
const UNIT_DIGITS: Readonly<Record<string, number>> = { s: 9, ms: 6, µs: 3, ns: 0 };

/** Nanoseconds of a canonical duration such as "-1h0m0.5s". */
function nanosOf(text: string): bigint {
  let nanos = 0n;
  for (const [, whole = "0", fraction = "", unit = ""] of text.matchAll(DURATION_PART)) {
    if (unit === "h") nanos += BigInt(whole) * 3_600_000_000_000n;
    else if (unit === "m") nanos += BigInt(whole) * 60_000_000_000n;
    else nanos += BigInt(whole + fraction.padEnd(UNIT_DIGITS[unit] ?? 0, "0"));
  }
  return text.startsWith("-") ? -nanos : nanos;
}

/** A message with only field 1. */
function boxed(
  inner: WireCodec,
  toWire: (value: JsonValue) => JsonValue,
  fromWire: (value: JsonValue) => JsonValue,
  zero: JsonValue,
): WireCodec {
  const members = [undefined, inner];
  const tag = tagOf(1, inner.wireType);
  return {
    wireType: LENGTH_DELIMITED,
    write(writer, value) {
      writer.fork().uint32(tag);
      inner.write(writer, toWire(value));
      writer.ldelim();
    },
    read(reader, depth) {
      const value = readMembers(reader, members, depth)[1];
      return value === undefined ? zero : fromWire(value);
    },
    zero: () => zero,
  };
}

const durationCodec = boxed(
  int64Codec,
  (text) => BigInt.asIntN(64, nanosOf(text as string)),
  (nanos) => {
    const text = canonicalDuration(`${nanos as number | bigint}ns`);
    if (text === undefined) throw new ProtobufFailure("duration out of range");
    return text;
  },
  "0s",
);

const quantityCodec = boxed(
  stringCodec,
  (text) => text,
  (text) => {
    // JSON may have blanks around a quantity, or none at all.
    const canonical = /^\S+$/.test(text as string) ? canonicalQuantity(text as string) : undefined;
    if (canonical === undefined) throw new ProtobufFailure(QUANTITY_RULE);
    return canonical;
  },
  "0",
);

const INT_OR_STRING = [undefined, int64Codec, int32Codec, stringCodec];

const intOrStringCodec: WireCodec = {
  wireType: LENGTH_DELIMITED,
  write(writer, value) {
    const isText = typeof value === "string";
    writer
      .fork()
      .uint32(tagOf(1, VARINT))
      .uint32(isText ? 1 : 0)
      .uint32(tagOf(2, VARINT))
      .int32(isText ? 0 : (value as number))
      .uint32(tagOf(3, LENGTH_DELIMITED))
      .string(isText ? value : "")
      .ldelim();
  },
  read(reader, depth) {
    const [, type = 0, number = 0, text = ""] = readMembers(reader, INT_OR_STRING, depth);
    if (type === 0) return number;
    if (type === 1) return text;
    throw new ProtobufFailure("impossible IntOrString.Type");
  },
  zero: () => 0,
};

/** Decodes the bytes of an embedded object into its JSON form. */
export type EmbeddedDecoder = (bytes: Buffer, depth: number, budget: ReadingBudget) => JsonValue;

/** JSON text. @throws {JsonSyntaxError} and a StatusError for too many values */
export function readText(bytes: Buffer, _depth: number, budget: ReadingBudget): JsonValue {
  const text = bytes.toString("utf8");
  budget.takeText(text);
  return parseJson(text);
}

/**
 * JSON text in a bytes field: any value, or an object in its own envelope.
 * @param decode decodes the bytes; default: JSON
 */
export function rawWireCodec(decode: EmbeddedDecoder = readText): WireCodec {
  const bytes: WireCodec = { ...bytesCodec, read: (reader, depth) => textOrNull(reader, depth) };
  const members = [undefined, bytes];
  const textOrNull = (reader: Reader, depth: number) => {
    const content = readBytes(reader);
    return content.length === 0 ? null : decode(content, depth, budgetOf(reader));
  };
  return {
    wireType: LENGTH_DELIMITED,
    write(writer, value) {
      if (value === null) {
        writer.uint32(0);
        return;
      }
      const text = stringifyJson(value);
      writer.fork().uint32(tagOf(1, LENGTH_DELIMITED)).string(text).ldelim();
    },
    read: (reader, depth) => readMembers(reader, members, depth)[1] ?? null,
    transcode: transcodeRaw,
    zero: () => null,
  };
}

/** Codecs of types with special encodings; `decode` handles embedded objects. */
export function builtinWireCodecs(
  decode: EmbeddedDecoder,
): Readonly<Record<Exclude<BuiltinName, "Unknown">, WireCodec>> {
  return {
    Time: timeCodec,
    MicroTime: microTimeCodec,
    Duration: durationCodec,
    Quantity: quantityCodec,
    IntOrString: intOrStringCodec,
    FieldsV1: rawWireCodec(),
    RawExtension: rawWireCodec(decode),
  };
}
