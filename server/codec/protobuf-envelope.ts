/**
 * The Protobuf envelope of an object (S1-PB-01..06): a four-byte prefix, then the message `Unknown` with
 * the object's type and its message. Pure; handles bytes, knows no type.
 */
import { default as protobuf } from "protobufjs/minimal.js";
import { badRequest } from "../api/status.js";
import { openReader, ProtobufFailure, ReadingBudget } from "./protobuf-reader.js";
import {
  isUnreadable,
  LENGTH_DELIMITED,
  readBytes,
  readMembers,
  readString,
  SCALAR_WIRE_CODECS,
  tagOf,
  wrongWireType,
} from "./protobuf-wire.js";

/** "k8s" and a zero byte. Only an incompatible envelope would change it (S1-PB-12). */
export const ENVELOPE_PREFIX: readonly number[] = Object.freeze([0x6b, 0x38, 0x73, 0x00]);

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object's message; a view of the input. */
  readonly raw: Buffer;
  /** "" = none. */
  readonly contentEncoding: string;
  /** "" = Protobuf. */
  readonly contentType: string;
}

export function hasEnvelopePrefix(bytes: Uint8Array): boolean {
  return ENVELOPE_PREFIX.every((byte, index) => bytes[index] === byte);
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const TYPE_META = [undefined, SCALAR_WIRE_CODECS.string, SCALAR_WIRE_CODECS.string];

const EMPTY = Buffer.alloc(0);

/** An envelope has four; what is more is skipped, as later versions may add some. */
export const ENVELOPE_FIELDS_MAX = 1_000;

/**
 * @param kind the expected kind, for the message
 * @throws {StatusError} 400 without the prefix or a valid envelope
 */
export function decodeEnvelope(bytes: Buffer, kind: string): Envelope {
  try {
    return readEnvelope(bytes);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${kind}): ${error.message}`,
    );
  }
}

function readEnvelope(bytes: Buffer): Envelope {
  if (bytes.length === 0) throw new ProtobufFailure("empty data");
  if (!hasEnvelopePrefix(bytes)) {
    throw new ProtobufFailure(
      `provided data does not appear to be a protobuf message, expected prefix [${ENVELOPE_PREFIX.join(" ")}]`,
    );
  }
  const reader = openReader(
    bytes,
    new ReadingBudget(bytes.length, { fieldsMax: ENVELOPE_FIELDS_MAX }),
  );
  reader.pos = ENVELOPE_PREFIX.length;
  const envelope: Writable<Envelope> = {
    apiVersion: "",
    kind: "",
    raw: EMPTY,
    contentEncoding: "",
    contentType: "",
  };
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    const [number, wireType] = [tag >>> 3, tag & 7];
    if (number > 4 || number === 0) {
      reader.skipType(wireType, 0, number);
      continue;
    }
    if (wireType !== LENGTH_DELIMITED) throw wrongWireType(wireType, String(number));
    switch (number) {
      case 1: {
        const [, apiVersion, kind] = readMembers(reader, TYPE_META, 0);
        if (apiVersion !== undefined) envelope.apiVersion = apiVersion as string;
        if (kind !== undefined) envelope.kind = kind as string;
        break;
      }
      case 2:
        envelope.raw = readBytes(reader);
        break;
      case 3:
        envelope.contentEncoding = readString(reader);
        break;
      case 4:
        envelope.contentType = readString(reader);
        break;
    }
  }
  return envelope;
}

/** The bytes around the message of every object of one kind. */
export interface EnvelopeFrame {
  /** Prefix, type, and the tag of `raw`; its length and the message follow. */
  readonly head: Buffer;
  /** The two empty fields at the end: no encoding, Protobuf. */
  readonly foot: Buffer;
}

export function createEnvelopeFrame(apiVersion: string, kind: string): EnvelopeFrame {
  const head = protobuf.Writer.create()
    .uint32(tagOf(1, LENGTH_DELIMITED))
    .fork()
    .uint32(tagOf(1, LENGTH_DELIMITED))
    .string(apiVersion)
    .uint32(tagOf(2, LENGTH_DELIMITED))
    .string(kind)
    .ldelim()
    .uint32(tagOf(2, LENGTH_DELIMITED))
    .finish();
  const foot = [tagOf(3, LENGTH_DELIMITED), 0, tagOf(4, LENGTH_DELIMITED), 0];
  return { head: Buffer.from([...ENVELOPE_PREFIX, ...head]), foot: Buffer.from(foot) };
}
