/** Helpers for plain JSON objects. */
import type { JsonObject, JsonValue } from "./meta.js";
import { isWrittenNumber } from "./written-number.js";

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !isWrittenNumber(value)
  );
}

/** Sets a member; one named `__proto__` is a member like any other. */
export function setMember(object: JsonObject, key: string, value: JsonValue): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  } else object[key] = value;
}

/** A copy with another value at the path; undefined = without it. Missing objects on the way are created. */
export function withValueAt(
  object: JsonObject,
  path: readonly string[],
  value: JsonValue | undefined,
): JsonObject {
  const [name = "", ...rest] = path;
  if (rest.length === 0) {
    const { [name]: _, ...others } = object;
    return value === undefined ? others : { ...object, [name]: value };
  }
  const child = object[name];
  const inner = child !== undefined && isJsonObject(child) ? child : {};
  return { ...object, [name]: withValueAt(inner, rest, value) };
}
