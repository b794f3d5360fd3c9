/**
 * Errors for patches whose result is not an object of the resource (S1-PATCH-11): 422 on `patch`, with the
 * invalid value and the cause, in kube-apiserver's words. The reason `Invalid` tells clients that the
 * patch does not fit the object, while 400 means that it cannot be parsed. Pure.
 */

import { invalidValue } from "../../api/field-errors.js";
import { printValue } from "../../api/go-text.js";
import type { JsonValue } from "../../api/meta.js";
import { invalid, type StatusError } from "../../api/status.js";
import type { RefuseInput } from "../../registry/generic/decode-input.js";
import { stringifyJson } from "../../schema/json-text.js";
import { withSortedMembers } from "../../schema/sorted-members.js";

/** Messages truncate the object, which may be as large as a request. */
const SHOWN_CHARS_MAX = 16_384;

/** For JSON and merge patches: shows the patched object, which cannot be decoded. */
export function refuseResult(result: JsonValue): RefuseInput {
  return (failure) => invalidPatch(stringifyJson(withSortedMembers(result)), failure.describe());
}

/** For strategic merge patches: shows the patch, because values are converted and no text is parsed. */
export function refuseConversion(patch: JsonValue): RefuseInput {
  return (failure) => invalidPatch(printValue(patch), failure.describeConversion());
}

/**
 * For Secrets: shows neither object nor patch, because errors are logged and a user who may patch a
 * Secret may not be allowed to read it (S1-PATCH-11, a deviation).
 */
export function refuseHidden(): RefuseInput {
  return (failure) => invalidPatch("(hidden)", failure.describe());
}

function invalidPatch(shown: string, why: string): StatusError {
  const value = shown.length > SHOWN_CHARS_MAX ? `${shown.slice(0, SHOWN_CHARS_MAX)}...` : shown;
  return invalid({ group: "", kind: "" }, "", [invalidValue("patch", value, why)]);
}
