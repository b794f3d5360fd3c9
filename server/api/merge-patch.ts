/**
 * JSON merge patch, RFC 7386, to the letter: null removes a member, objects merge, everything else
 * replaces; nulls inside arrays stay (C-13). Unchanged parts are shared with the target.
 */
import { isJsonObject, setMember } from "./json-object.js";
import type { JsonObject, JsonValue } from "./meta.js";

export function applyMergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null || value === undefined) delete result[key];
    else setMember(result, key, applyMergePatch(ownMember(result, key), value));
  }
  return result;
}

function ownMember(object: JsonObject, key: string): JsonValue {
  return Object.hasOwn(object, key) ? (object[key] ?? null) : null;
}
