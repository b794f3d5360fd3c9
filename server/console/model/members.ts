/** Parts of JSON values of which nothing is known yet. Pure. */
import type { JsonObject, JsonValue } from "../../api/meta.js";

export function membersOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** Empty where it is none. */
export function arrayOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Empty where it is none. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
