/**
 * The body of a write: its media type, its bytes, and the JSON value in it. Objects come as JSON,
 * YAML or Protobuf (S1-NEG-02, S1-PB-07).
 */
import type { JsonValue } from "../../api/meta.js";
import type { GroupVersionKind } from "../../api/names.js";
import type { Naming } from "../../api/naming.js";
import { badRequest, tooManyRequests, unsupportedMediaType } from "../../api/status.js";
import {
  type BodyLimits,
  limitsOf,
  refuseLargeText,
  refuseLargeValue,
} from "../../codec/body-values.js";
import { CborSyntaxError, cborSteps } from "../../codec/cbor-parser.js";
import { stringifyJson } from "../../codec/json.js";
import { CBOR_TYPE, JSON_TYPE, YAML_TYPE } from "../../codec/media-types.js";
import type { ProtobufCodecs } from "../../codec/protobuf.js";
import { type YamlResult, YamlSyntaxError } from "../../codec/yaml.js";
import { YamlBusyError, type YamlReader } from "../../codec/yaml-reader.js";
import { bodyMemory } from "../../flowcontrol/width.js";
import type { FieldValidation, ObjectInput } from "../../registry/generic/decode-input.js";
import { afterSteps, LONG_BYTES, type Pause, pauseOf } from "../../registry/write/long-write.js";
import { readBody } from "../../request/read-body.js";
import type { RequestContext } from "../../request/request-state.js";
import { JsonSyntaxError } from "../../schema/json-parser.js";
import { parseLong } from "../../schema/parse-json.js";
import { type JsonBody, readJson } from "./json-body.js";

export type BodyEncoding = "json" | "yaml" | "protobuf" | "cbor";

/** The decoders of objects in requests, besides JSON. */
export interface ObjectDecoders {
  readonly naming: Naming;
  readonly protobuf: Pick<ProtobufCodecs, "decodeObject" | "decodeObjectInSteps">;
  readonly yaml: Pick<YamlReader, "read">;
  /** Whether the kind has a Protobuf form. Default true. */
  readonly hasProtobuf?: boolean;
  /** Whether decimals of JSON are kept as they are written: for kinds with codecs of their own. Default false. */
  readonly keepsDecimals?: boolean;
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
  // Other encodings are recorded as JSON, once they have been read.
  if (bytes.length > 0) state.audit?.takeRequest(() => (isJson(mediaTypeOf(ctx)) ? bytes : ""));
  state.body = bytes;
  // Bodies that arrive together would be parsed in one turn of the loop.
  if (bytes.length >= LONG_BYTES) await state.nextTurn();
  else state.turnWatch?.begin(state);
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
  const decoding = { fieldValidation, pause: pauseOf(ctx.state) };
  const decoded = decodeObject(bytes, encoding, expected, decoding, decoders);
  const input = decoded instanceof Promise ? await decoded : decoded;
  ctx.state.audit?.takeIdentity(input.value);
  if (encoding !== "json") takeForAudit(ctx, input.value);
  if (bytes.length >= LONG_BYTES) await ctx.state.nextTurn();
  return input;
}

/** The audit log takes its own copy of what was no JSON, because strategies may change the object. */
export function takeForAudit({ state: { audit } }: RequestContext, value: JsonValue): void {
  if (audit?.wantsRequest !== true) return;
  const text = stringifyJson(value);
  audit.takeRequest(() => text);
}

function isJson(mediaType: string): boolean {
  return mediaType === "" || /[/+]json$/.test(mediaType);
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

export interface Decoding {
  readonly fieldValidation: FieldValidation;
  /** Ends the turn; undefined = the body is short. */
  readonly pause: Pause;
}

export interface Reading {
  /** Those of the body's kind. */
  readonly limits: BodyLimits;
  /** Ends the turn; undefined = the body is short. */
  readonly pause: Pause;
}

/** Returns a promise for YAML and what is long only. @throws {StatusError} 400, 413, 429 */
export function decodeObject(
  bytes: Buffer,
  encoding: BodyEncoding,
  expected: GroupVersionKind,
  { fieldValidation, pause }: Decoding,
  { protobuf, yaml, keepsDecimals }: ObjectDecoders,
): ObjectInput | Promise<ObjectInput> {
  const limits = limitsOf(expected.kind);
  if (encoding === "protobuf") {
    if (pause === undefined) return asWhole(protobuf.decodeObject(bytes, expected, limits));
    return afterSteps(pause, protobuf.decodeObjectInSteps(bytes, expected, limits), (value) => {
      refuseLargeValue(value, bytes.length, limits);
      return asWhole(value);
    });
  }
  if (encoding === "cbor") {
    const describe = (why: string) =>
      `the object provided is unrecognized (must be of type ${expected.kind}): ${why}`;
    return readCbor(bytes, describe, { limits, pause });
  }
  const text = bytes.toString("utf8");
  const describe = (why: string) =>
    `the object provided is unrecognized (must be of type ${expected.kind}): couldn't get version/kind; json parse error: ${why}`;
  if (encoding === "yaml") return readYaml(yaml, text, describe, { limits, pause });
  const findsDuplicates = fieldValidation !== "Ignore";
  const read = readJson(text, describe, { limits, keepsDecimals, findsDuplicates, pause });
  return read instanceof Promise ? read.then(asText) : asText(read);
}

function asText({ value, duplicateFields }: JsonBody): ObjectInput {
  return { value, duplicateFields, isText: true };
}

/**
 * Like `readJson`, for YAML or JSON. @throws {StatusError} 400 with the message of `describe`, 413 for too many
 * values, 429 when too many wait
 */
export async function readYaml(
  yaml: Pick<YamlReader, "read">,
  text: string,
  describe: (why: string) => string,
  { limits, pause }: Reading,
): Promise<YamlResult> {
  try {
    // A text that is JSON, as most are, is counted before it is parsed.
    if (BEGINS_AS_JSON.test(text)) refuseLargeText(text, limits);
    const asJson = pause === undefined ? undefined : await readLongJson(text, pause);
    if (asJson !== undefined) return asJson;
    const read = await yaml.read(text);
    if ("value" in read) {
      refuseLargeValue(read.value, text.length, limits);
      return read;
    }
    const { json, ...repeated } = read;
    refuseLargeText(json, limits);
    return await afterSteps(pause, parseLong(json, false), ({ value }) => ({ ...repeated, value }));
  } catch (error) {
    if (error instanceof YamlSyntaxError) throw badRequest(describe(error.message));
    if (error instanceof YamlBusyError) throw tooManyRequests(error.message, 1);
    throw error;
  }
}

const BEGINS_AS_JSON = /^\s*\{/;

/** In turns. @returns undefined for what is no JSON, or has repeated keys that a worker looks for */
async function readLongJson(text: string, pause: Pause): Promise<YamlResult | undefined> {
  if (!BEGINS_AS_JSON.test(text)) return undefined;
  try {
    return await afterSteps(pause, parseLong(text, false), ({ value, repeatsKeys }) =>
      repeatsKeys ? undefined : { value, duplicateFields: [], repeatedKeys: [] },
    );
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

/**
 * Returns a promise for a long body only.
 * @throws {StatusError} 400 with the message of `describe`, 413 for too many values
 */
export function readCbor(
  bytes: Buffer,
  describe: (why: string) => string,
  { limits, pause }: Reading,
): ObjectInput | Promise<ObjectInput> {
  const asRefusal = (error: unknown) =>
    error instanceof CborSyntaxError ? badRequest(describe(error.message)) : error;
  try {
    const read = afterSteps(pause, cborSteps(bytes, limits), asWhole);
    if (!(read instanceof Promise)) return read;
    return read.catch((error: unknown) => Promise.reject(asRefusal(error)));
  } catch (error) {
    throw asRefusal(error);
  }
}

function asWhole(value: JsonValue): ObjectInput {
  return { value, duplicateFields: [] };
}

/** The resourceVersion of a body that is unchecked. */
export function revisionSent(value: unknown): unknown {
  const { metadata } = (value ?? {}) as {
    readonly metadata?: { readonly resourceVersion?: unknown };
  };
  return metadata?.resourceVersion;
}
