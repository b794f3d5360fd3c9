/**
 * Answers to patches whose result is no object of the resource (S1-PATCH-11): 422 about `patch`, with
 * the value that was not to be had and why, in the existing server's words. Clients tell by the reason
 * `Invalid` that the patch does not fit the object, rather than that it cannot be read (400). Pure.
 */

import { invalidValue } from "../../api/field-errors.js";
import { printValue } from "../../api/go-text.js";
import { isJsonObject } from "../../api/json-object.js";
import type { JsonValue } from "../../api/meta.js";
import { invalid, type StatusError } from "../../api/status.js";
import type { RefuseInput } from "../../registry/generic/decode-input.js";
import { stringifyJson } from "../../schema/json-text.js";

/** What a message shows of an object, which may be as large as a request may be. */
const SHOWN_CHARS_MAX = 16_384;

/** Of JSON and merge patches: the patched object's JSON is what is not understood. */
export function refuseResult(result: JsonValue): RefuseInput {
  return (failure) => invalidPatch(stringifyJson(inOrder(result)), failure.describe());
}

/** Of strategic merge patches, which are shown themselves: values are converted, not a text read. */
export function refuseConversion(patch: JsonValue): RefuseInput {
  return (failure) => invalidPatch(printValue(patch), failure.describeConversion());
}

/**
 * Of Secrets: neither object nor patch is shown, as answers go into logs and who may patch a Secret
 * need not be allowed to read it (S1-PATCH-11, a deviation).
 */
export function refuseHidden(): RefuseInput {
  return (failure) => invalidPatch("(hidden)", failure.describe());
}

function invalidPatch(shown: string, why: string): StatusError {
  const value = shown.length > SHOWN_CHARS_MAX ? `${shown.slice(0, SHOWN_CHARS_MAX)}...` : shown;
  return invalid({ group: "", kind: "" }, "", [invalidValue("patch", value, why)]);
}

function inOrder(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const members = Object.keys(value).sort();
  return Object.fromEntries(members.map((name) => [name, inOrder(value[name] ?? null)]));
}
