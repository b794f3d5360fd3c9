/**
 * The body of a write: its media type, its bytes, and the JSON value in it.
 */
import type { JsonValue } from "../../api/meta.js";
import { badRequest, unsupportedMediaType } from "../../api/status.js";
import { findDuplicateKeys, parseJson } from "../../codec/json.js";
import { JsonSyntaxError } from "../../codec/json-parser.js";
import type { ObjectInput } from "../../registry/generic/decode-input.js";
import type { FieldValidation } from "../../registry/generic/registry.js";
import { readBody } from "../../request/read-body.js";
import type { RequestContext } from "../../request/request-state.js";

/** Media types of objects; more come with their codecs. */
export const OBJECT_MEDIA_TYPES: readonly string[] = Object.freeze(["application/json"]);

/** "application/json; charset=utf-8" to "application/json"; "" when there is none. */
export function mediaTypeOf(ctx: RequestContext): string {
  const header = ctx.get("content-type");
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase();
}

/** Nothing said means JSON (S1-NEG-10). @throws {StatusError} 415 */
export function requireObjectMediaType(ctx: RequestContext): void {
  const type = mediaTypeOf(ctx);
  if (type !== "" && !OBJECT_MEDIA_TYPES.includes(type)) {
    throw unsupportedMediaType(OBJECT_MEDIA_TYPES);
  }
}

/** @throws {StatusError} 413, 400, and the signal's reason */
export async function readBytes(ctx: RequestContext): Promise<Buffer> {
  return await readBody(ctx.req, { signal: ctx.state.signal });
}

/** An object's JSON, with what a strict reader would say about its text. @throws {StatusError} 400 */
export async function readObject(
  ctx: RequestContext,
  kind: string,
  fieldValidation: FieldValidation,
): Promise<ObjectInput> {
  requireObjectMediaType(ctx);
  const text = (await readBytes(ctx)).toString("utf8");
  const value = parseText(text, (why) => {
    return `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why}`;
  });
  const duplicateFields = fieldValidation === "Ignore" ? [] : findDuplicateKeys(text, value);
  return { value, duplicateFields };
}

/** @throws {StatusError} 400 in the words of `describe` */
export function parseText(text: string | Buffer, describe: (why: string) => string): JsonValue {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badRequest(describe(error.message));
    throw error;
  }
}
