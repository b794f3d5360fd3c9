/**
 * ProtobufCodecs: the Protobuf form of every kind of the facts, in both directions between bytes and the
 * JSON form. Decoded values go through the same ObjectCodec as JSON bodies, so unknown kinds, defaults
 * and checks share one path. No code is generated; codecs are compiled on first use
 * (docs/dev/decisions/0007-protobuf-from-facts.md).
 */

import { isUtf8 } from "node:buffer";
import { default as protobuf } from "protobufjs/minimal.js";
import type { Steps } from "../../storage/base/steps.js";
import { isJsonObject } from "../api/json-object.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import {
  formatGroupVersion,
  type GroupVersion,
  type GroupVersionKind,
  parseGroupVersion,
} from "../api/names.js";
import { badRequest } from "../api/status.js";
import { JsonSyntaxError } from "../schema/json-parser.js";
import type { Facts, StructType } from "../schema/model.js";
import { parseInSteps, parseJson } from "../schema/parse-json.js";
import { type BodyLimits, limitsOf } from "./body-values.js";
import {
  createEnvelopeFrame,
  decodeEnvelope,
  ENVELOPE_FIELDS_MAX,
  type Envelope,
  type EnvelopeFrame,
  hasEnvelopePrefix,
} from "./protobuf-envelope.js";
import { openReader, ProtobufFailure, ReadingBudget } from "./protobuf-reader.js";
import { createProtobufCompiler, type MessageCodec } from "./protobuf-struct.js";
import { UnusualText } from "./protobuf-transcode.js";
import { isUnreadable, MESSAGE_DEPTH_MAX, readText } from "./protobuf-wire.js";

export interface ProtobufCodec {
  /**
   * The JSON form of the message in an envelope, without kind and apiVersion.
   * @throws {StatusError} 400 if the bytes are not a message of the kind
   */
  decode(raw: Uint8Array): JsonObject;
  /** The message alone, from the JSON form of a stored object. */
  encode(object: JsonValue): Buffer;
  /**
   * Encodes the object's JSON text. The bytes are a view until the next encoding: use or copy them at
   * once.
   */
  encodeText(json: Buffer): Buffer;
  /** The message in its envelope: a complete body. */
  encodeObject(object: JsonValue): Buffer;
  /** The bytes around the message; for a list kind, used by protobuf-stream.ts. */
  readonly frame: EnvelopeFrame;
}

export interface ProtobufCodecs {
  /** The codec of a kind of the facts; undefined if the kind or its Protobuf form does not exist. */
  forKind(group: string, version: string, kind: string): ProtobufCodec | undefined;
  /**
   * The JSON form of an object in its envelope, with kind and apiVersion as sent.
   * @param expected the kind, if the envelope does not state it
   * @throws {StatusError} 400 if it is not an object of a kind of the facts, 413 for too many values
   */
  decodeObject(body: Buffer, expected: GroupVersionKind, limits?: BodyLimits): JsonObject;
  /** The same in steps, for a long body. */
  decodeObjectInSteps(
    body: Buffer,
    expected: GroupVersionKind,
    limits?: BodyLimits,
  ): Steps<JsonObject>;
}

/** Kinds in requests and answers of every group-version. */
const SHARED_FILE = "meta.v1";
const WATCH_EVENT = "WatchEvent";
/** Kinds that are returned as v1 without a group, although no resource has them. */
const ANSWERED: ReadonlySet<string> = new Set([
  "Status",
  "APIVersions",
  "APIGroupList",
  "APIGroup",
  "APIResourceList",
]);

/** A larger writer is not kept for the next object. */
const KEPT_WRITER_BYTES_MAX = 1024 * 1024;

export function createProtobufCodecs({ model }: Pick<Facts, "model">): ProtobufCodecs {
  const compiler = createProtobufCompiler(model, decodeEmbedded);
  const codecs = new Map<string, ProtobufCodec>();
  let writer = protobuf.Writer.create();

  function typeOf({ group, version }: GroupVersion, kind: string): StructType | undefined {
    const own = model.kind(group, version, kind);
    if (own !== undefined) return own.noProtobuf ? undefined : own;
    // Option kinds have the version of the resource that they are for.
    const file = model.files.get(SHARED_FILE);
    const shared = file?.types.get(kind);
    if (shared?.form !== "struct" || shared.noProtobuf) return undefined;
    // Metadata in an older version of its own group is the same message.
    return shared.isOptions ||
      group === file?.group ||
      kind === WATCH_EVENT ||
      (group === "" && ANSWERED.has(kind))
      ? shared
      : undefined;
  }

  function forKind(group: string, version: string, kind: string): ProtobufCodec | undefined {
    const key = `${group}/${version}/${kind}`;
    let codec = codecs.get(key);
    if (codec === undefined) {
      const type = typeOf({ group, version }, kind);
      if (type === undefined) return undefined;
      codec = createCodec(compiler.struct(type), { group, version, kind });
      codecs.set(key, codec);
    }
    return codec;
  }

  function createCodec(message: MessageCodec, gvk: GroupVersionKind): ProtobufCodec {
    const frame = createEnvelopeFrame(formatGroupVersion(gvk), gvk.kind);
    const write = (put: (to: typeof writer) => void, isShared = false) => {
      const to = writer;
      try {
        put(to);
        return to.finish(isShared) as Buffer;
      } finally {
        // A failed or large writer is not kept.
        if (to.buf.length > KEPT_WRITER_BYTES_MAX || (to.states?.length ?? 0) > 0) {
          writer = protobuf.Writer.create();
        } else {
          to.reset();
        }
      }
    };
    return {
      frame,
      decode: (raw) => decodeMessage(message, raw, 0, gvk, new ReadingBudget(raw.length)),
      encode: (object) => write((to) => message.writeMembers(to, object as JsonObject)),
      encodeText(json) {
        try {
          if (isUtf8(json)) return write((to) => message.transcodeMembers(to, json, 0), true);
        } catch (error) {
          if (!(error instanceof UnusualText || error instanceof JsonSyntaxError)) throw error;
        }
        const object = parseJson(json) as JsonObject;
        return write((to) => message.writeMembers(to, object), true);
      },
      encodeObject: (object) =>
        write((to) => {
          to.raw(frame.head);
          message.write(to, object);
          to.raw(frame.foot);
        }),
    };
  }

  function decodeObject(
    body: Buffer,
    expected: GroupVersionKind,
    limits: BodyLimits = limitsOf(expected.kind),
  ): JsonObject {
    const budget = new ReadingBudget(body.length, { limits });
    return decodeInEnvelope(decodeEnvelope(body, expected.kind), expected, 0, budget);
  }

  function* decodeObjectInSteps(
    body: Buffer,
    expected: GroupVersionKind,
    limits: BodyLimits = limitsOf(expected.kind),
  ): Steps<JsonObject> {
    const budget = new ReadingBudget(body.length, { limits });
    const envelope = decodeEnvelope(body, expected.kind);
    const { kind, apiVersion, ...groupVersion } = typeSent(envelope, expected);
    const gvk = { ...groupVersion, kind };
    const message = messageIn(envelope, gvk);
    let object: JsonObject = {};
    try {
      if (message === undefined) object = objectIn(yield* textInSteps(envelope.raw, budget));
      else yield* message.readMembersInSteps(openReader(envelope.raw, budget), object, 0);
    } catch (error) {
      throw asRefusal(error, gvk);
    }
    return { kind, apiVersion, ...object };
  }

  function decodeInEnvelope(
    envelope: Envelope,
    expected: GroupVersionKind | undefined,
    depth: number,
    budget: ReadingBudget,
  ): JsonObject {
    const { kind, apiVersion, ...groupVersion } = typeSent(envelope, expected);
    const gvk = { ...groupVersion, kind };
    const message = messageIn(envelope, gvk);
    const object =
      message === undefined
        ? objectIn(refusing(gvk, () => readText(envelope.raw, depth, budget)))
        : decodeMessage(message, envelope.raw, depth, gvk, budget);
    return { kind, apiVersion, ...object };
  }

  /** The message of an envelope's content; undefined = it is JSON. @throws {StatusError} 400 */
  function messageIn(
    { contentEncoding, contentType }: Envelope,
    gvk: GroupVersionKind,
  ): MessageCodec | undefined {
    if (contentEncoding !== "") {
      throw badRequest(`content encoding ${JSON.stringify(contentEncoding)} is not supported`);
    }
    if (contentType === "application/json") return undefined;
    const type = typeOf(gvk, gvk.kind);
    if (type === undefined) {
      throw badRequest(
        `no kind ${JSON.stringify(gvk.kind)} is registered for version ${JSON.stringify(formatGroupVersion(gvk))}`,
      );
    }
    return compiler.struct(type);
  }

  /** The content of a RawExtension: JSON, or an object in its own envelope. */
  function decodeEmbedded(bytes: Buffer, depth: number, budget: ReadingBudget): JsonValue {
    if (!hasEnvelopePrefix(bytes)) return readText(bytes, depth, budget);
    if (depth > MESSAGE_DEPTH_MAX) throw new ProtobufFailure("exceeded max depth");
    budget.takeFields(ENVELOPE_FIELDS_MAX);
    return decodeInEnvelope(decodeEnvelope(bytes, "Object"), undefined, depth + 1, budget);
  }

  return { forKind, decodeObject, decodeObjectInSteps };
}

function decodeMessage(
  message: MessageCodec,
  raw: Uint8Array,
  depth: number,
  gvk: GroupVersionKind,
  budget: ReadingBudget,
): JsonObject {
  return refusing(gvk, () => {
    const bytes = Buffer.isBuffer(raw)
      ? raw
      : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
    const out: JsonObject = {};
    message.readMembers(openReader(bytes, budget), out, depth);
    return out;
  });
}

/** What an object in an envelope is, as it was sent. @throws {StatusError} 400 */
function typeSent(envelope: Envelope, expected: GroupVersionKind | undefined) {
  const kind = envelope.kind || expected?.kind;
  const apiVersion =
    envelope.apiVersion || (expected === undefined ? "" : formatGroupVersion(expected));
  const groupVersion = parseGroupVersion(apiVersion);
  if (kind === undefined) throw badRequest("Object 'Kind' is missing in a protobuf envelope");
  if (groupVersion === undefined) {
    throw badRequest(`unexpected GroupVersion string: ${apiVersion}`);
  }
  return { ...groupVersion, kind, apiVersion };
}

function objectIn(value: JsonValue): JsonObject {
  if (!isJsonObject(value)) throw badRequest("the content of the envelope is no JSON object");
  return value;
}

function* textInSteps(bytes: Buffer, budget: ReadingBudget): Steps<JsonValue> {
  const text = bytes.toString("utf8");
  budget.takeText(text);
  return yield* parseInSteps(text);
}

/** Runs `read` and turns refused bytes into the client's error. */
function refusing<T>(gvk: GroupVersionKind, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw asRefusal(error, gvk);
  }
}

function asRefusal(error: unknown, { version, kind }: GroupVersionKind): unknown {
  if (!(error instanceof JsonSyntaxError) && !isUnreadable(error)) return error;
  return badRequest(
    `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${error.message}`,
  );
}
