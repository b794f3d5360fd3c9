/**
 * A number as the text of a request has it, such as `80.0` or `8e1`. Fields of built-in kinds tell such texts apart: an
 * integer is no number with a fraction or an exponent, and a quantity keeps every digit and the form of the text. The
 * parser makes one where the text is to be decoded by such a kind; its codecs take them out again, so that nothing else
 * meets them but patches, which move them as they are.
 */
import type { Steps } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "./meta.js";

export class WrittenNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  get text(): string {
    return this.#text;
  }

  /** For messages and audit events that show a value before it is decoded. */
  toJSON(): number {
    return Number(this.#text);
  }
}

/** The value with plain numbers, of which one may be infinite. It is copied only where there are others. */
export function withPlainNumbers(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (isWrittenNumber(value)) return Number(value.text);
  let copy: JsonObject | JsonValue[] | undefined;
  for (const key of Object.keys(value)) {
    const member = (value as JsonObject)[key] ?? null;
    const plain = withPlainNumbers(member);
    if (plain === member) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    (copy as JsonObject)[key] = plain;
  }
  return copy ?? value;
}

/** Members that are looked at in one step. */
const STRETCH = 1_000;

/** The same in steps. */
export function* plainNumbersInSteps(value: JsonValue): Steps<JsonValue> {
  if (typeof value !== "object" || value === null || isWrittenNumber(value)) {
    return withPlainNumbers(value);
  }
  let copy: JsonObject | JsonValue[] | undefined;
  let seen = 0;
  for (const key of Object.keys(value)) {
    if (++seen % STRETCH === 0) yield;
    const member = (value as JsonObject)[key] ?? null;
    if (typeof member !== "object" || member === null) continue;
    const plain = yield* plainNumbersInSteps(member);
    if (plain === member) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    (copy as JsonObject)[key] = plain;
  }
  return copy ?? value;
}

/** The type of JSON values does not name it, as all but the codecs and patches have none. */
export function isWrittenNumber(value: unknown): value is WrittenNumber {
  return value instanceof WrittenNumber;
}
