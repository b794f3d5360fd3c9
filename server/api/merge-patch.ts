/**
 * JSON merge patch, RFC 7386, to the letter: null removes a member, objects merge, everything else
 * replaces; nulls inside arrays stay (C-13). Unchanged parts are shared with the target.
 */
import type { JsonObject, JsonValue } from "./meta.js";

export function applyMergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const result: JsonObject = isObject(target) ? { ...target } : {};
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

/** A member named `__proto__` is a member like any other. */
function setMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  } else object[key] = value;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
