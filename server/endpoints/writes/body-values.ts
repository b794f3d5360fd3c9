/**
 * How many values a body may hold. Everything that is done with a body walks its values, on the thread that
 * serves all clients, so their number bounds that work where their bytes do not: 3 MB have room for a million
 * empty items (H4). The largest definitions in use have some 60,000 values.
 */
import type { JsonValue } from "../../api/meta.js";
import { requestEntityTooLarge } from "../../api/status.js";

export const BODY_VALUES_MAX = 250_000;
/** A value and what parts it from the next. */
const VALUE_BYTES_MIN = 2;

/**
 * @param bytes of the body: a small one is not walked
 * @throws {StatusError} 413
 */
export function refuseTooManyValues(value: JsonValue, bytes: number): void {
  if (bytes < BODY_VALUES_MAX * VALUE_BYTES_MIN) return;
  if (countDown(value, BODY_VALUES_MAX) < 0) {
    throw requestEntityTooLarge(
      `Request entity too large: the body holds more than ${BODY_VALUES_MAX} values`,
    );
  }
}

/** @returns how many values are left; below 0 = the count ended there */
function countDown(value: JsonValue, left: number): number {
  let rest = left - 1;
  if (typeof value !== "object" || value === null) return rest;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && rest >= 0; at++) {
      rest = countDown(value[at] ?? null, rest);
    }
    return rest;
  }
  for (const key in value) {
    if (rest < 0) break;
    rest = countDown(value[key] ?? null, rest);
  }
  return rest;
}
