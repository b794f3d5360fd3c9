/**
 * KnownValues: whether one of many JSON values equals another, as deepEqual has it, without a comparison with each of them: they
 * are known by their text with the members in order.
 */
import type { JsonValue } from "./meta.js";

export class KnownValues {
  readonly #texts: ReadonlySet<string>;

  constructor(values: readonly JsonValue[]) {
    this.#texts = new Set(values.map(textOf));
  }

  has(value: JsonValue): boolean {
    return this.#texts.has(textOf(value));
  }
}

/** JSON.stringify takes none: it stands below a name that objects hardly have. */
const BIGINT = "\0bigint";

function textOf(value: JsonValue): string {
  return JSON.stringify(value, (_name, member: JsonValue) => {
    if (typeof member === "bigint") return { [BIGINT]: String(member) };
    if (typeof member !== "object" || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
