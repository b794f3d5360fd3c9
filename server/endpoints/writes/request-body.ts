/**
 * The body of a write: its media type, its bytes, and the JSON value in it. Objects come as JSON,
 * YAML or Protobuf (S1-NEG-02, S1-PB-07).
 */
import type { JsonValue } from "../../api/meta.js";
import type { GroupVersionKind } from "../../api/names.js";
import type { Naming } from "../../api/naming.js";
import { badRequest, unsupportedMediaType } from "../../api/status.js";
import { CborSyntaxError, parseCbor } from "../../codec/cbor-parser.js";
import { findDuplicateKeys, parseJson, stringifyJson } from "../../codec/json.js";
import { JsonSyntaxError } from "../../codec/json-parser.js";
import { CBOR_TYPE, JSON_TYPE, YAML_TYPE } from "../../codec/media-types.js";
import type { ProtobufCodecs } from "../../codec/protobuf.js";
import { parseYaml, YamlSyntaxError } from "../../codec/yaml.js";
import { bodyMemory } from "../../flowcontrol/width.js";
import type { ObjectInput } from "../../registry/generic/decode-input.js";
import type { FieldValidation } from "../../registry/generic/registry.js";
import { readBody } from "../../request/read-body.js";
import type { RequestContext } from "../../request/request-state.js";
import { type BodyLimits, limitsOf, refuseLargeText, refuseLargeValue } from "./body-values.js";

export type BodyEncoding = "json" | "yaml" | "protobuf" | "cbor";

/** The decoders of objects in requests, besides JSON. */
export interface ObjectDecoders {
  readonly naming: Naming;
  readonly protobuf: Pick<ProtobufCodecs, "decodeObject">;
  /** Whether the kind has a Protobuf form. Default true. */
  readonly hasProtobuf?: boolean;
  /** Whether CBOR is accepted (gate CBORServingAndStorage, S1-NEG-04). */
  readonly hasCbor?: boolean;
}

/** "application/json; charset=utf-8" to "application/json"; "" if absent. */
export function mediaTypeOf(ctx: RequestContext): string {
  const header = ctx.get("content-type");
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** @throws {StatusError} 413, 400, and the signal's reason */
export async function readBytes(ctx: RequestContext): Promise<Buffer> {
  const { state } = ctx;
  if (state.body !== undefined) return state.body;
  const span = state.trace?.begin("read body");
  let bytes: Buffer;
  let failure: unknown;
  try {
    const reading = readBody(ctx.req, { waiting: state });
    bytes = reading instanceof Promise ? await reading : reading;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    span?.end(failure);
  }
  // Without a length from the client, an estimate was reserved.
  if (ctx.req.headers["content-length"] === undefined) {
    state.memory?.resize(bodyMemory(bytes.length));
  }
  if (bytes.length > 0) state.audit?.takeRequest(() => toJsonText(bytes, mediaTypeOf(ctx)));
  state.body = bytes;
  return bytes;
}

/**
 * The object in the body, with the findings of strict parsing. Without a media type the body is JSON
 * (S1-NEG-10).
 * @throws {StatusError} 415, 413, 400
 */
export async function readObject(
  ctx: RequestContext,
  expected: GroupVersionKind,
  fieldValidation: FieldValidation,
  decoders: ObjectDecoders,
): Promise<ObjectInput> {
  const encoding = encodingOf(ctx, decoders);
  const bytes = await readBytes(ctx);
  const input = decodeObject(bytes, encoding, expected, fieldValidation, decoders);
  ctx.state.audit?.takeIdentity(input.value);
  if (encoding !== "json") {
    // The audit log takes its own copy, because strategies may change the object.
    ctx.state.audit?.takeRequest(() =>
      stringifyJson(decodeObject(bytes, encoding, expected, "Ignore", decoders).value),
    );
  }
  return input;
}

/** For the audit log: JSON as is, YAML as JSON, other types empty. */
function toJsonText(bytes: Buffer, mediaType: string): Buffer | string {
  if (/[/+]yaml$/.test(mediaType)) return stringifyJson(parseYaml(bytes.toString("utf8")).value);
  return mediaType === "" || /[/+]json$/.test(mediaType) ? bytes : "";
}

/** The encoding of the body by its media type. @throws {StatusError} 415 */
export function encodingOf(
  ctx: RequestContext,
  { naming, hasCbor = false, hasProtobuf = true }: ObjectDecoders,
): BodyEncoding {
  const type = mediaTypeOf(ctx);
  if (type === "" || type === JSON_TYPE) return "json";
  if (hasProtobuf && type === naming.protobufMediaType) return "protobuf";
  if (type === YAML_TYPE) return "yaml";
  if (type === CBOR_TYPE && hasCbor) return "cbor";
  const supported = [JSON_TYPE, YAML_TYPE, ...(hasProtobuf ? [naming.protobufMediaType] : [])];
  throw unsupportedMediaType(hasCbor ? [...supported, CBOR_TYPE] : supported);
}

/** @throws {StatusError} 400 */
export function decodeObject(
  bytes: Buffer,
  encoding: BodyEncoding,
  expected: GroupVersionKind,
  fieldValidation: FieldValidation,
  { protobuf }: ObjectDecoders,
): ObjectInput {
  const limits = limitsOf(expected.kind);
  if (encoding === "protobuf") {
    const value = protobuf.decodeObject(bytes, expected);
    refuseLargeValue(value, bytes.length, limits);
    return { value, duplicateFields: [] };
  }
  if (encoding === "cbor") {
    const value = parseCborBody(
      bytes,
      (why) => `the object provided is unrecognized (must be of type ${expected.kind}): ${why}`,
      limits,
    );
    return { value, duplicateFields: [] };
  }
  const text = bytes.toString("utf8");
  const describe = (why: string) =>
    `the object provided is unrecognized (must be of type ${expected.kind}): couldn't get version/kind; json parse error: ${why}`;
  if (encoding === "yaml") return parseYamlText(text, describe);
  const value = parseText(text, describe, limits);
  const duplicateFields = fieldValidation === "Ignore" ? [] : findDuplicateKeys(text, value);
  return { value, duplicateFields, isText: true };
}

/** Like `parseText`, for YAML or JSON. @throws {StatusError} 400 with the message of `describe` */
function parseYamlText(text: string, describe: (why: string) => string): ObjectInput {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw badRequest(describe(error.message));
    throw error;
  }
}

/** @throws {StatusError} 400 with the message of `describe`, 413 for too many values */
export function parseCborBody(
  bytes: Buffer,
  describe: (why: string) => string,
  limits?: BodyLimits,
): JsonValue {
  let value: JsonValue;
  try {
    value = parseCbor(bytes);
  } catch (error) {
    if (error instanceof CborSyntaxError) throw badRequest(describe(error.message));
    throw error;
  }
  // An item of CBOR may be one byte.
  refuseLargeValue(value, 2 * bytes.length, limits);
  return value;
}

/** @throws {StatusError} 400 with the message of `describe`, 413 for too many values */
export function parseText(
  text: string,
  describe: (why: string) => string,
  limits?: BodyLimits,
): JsonValue {
  refuseLargeText(text, limits);
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(describe(error.message));
    throw error;
  }
}
