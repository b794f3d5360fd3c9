/** Random choices in the order in which code asks for them, drawn from fast-check, so that failures shrink. */

import fc, { type GeneratorValue } from "fast-check";
import type { JsonObject, JsonValue } from "../../server/api/meta.js";

export class Draw {
  readonly #generate: GeneratorValue;

  constructor(generate: GeneratorValue) {
    this.#generate = generate;
  }

  /** From 0 to max, both included. */
  upTo(max: number): number {
    return max <= 0 ? 0 : this.#generate(fc.nat, max);
  }

  pick<T>(items: readonly T[]): T {
    return items[this.upTo(items.length - 1)] as T;
  }

  /** True once in so many times; simple values say no. */
  oneIn(times: number): boolean {
    return this.upTo(times - 1) === times - 1;
  }

  times<T>(max: number, make: (index: number) => T): T[] {
    return Array.from({ length: this.upTo(max) }, (_, index) => make(index));
  }

  /** Some of the items, in their order. */
  some<T>(items: readonly T[]): T[] {
    return items.filter(() => this.upTo(1) === 1);
  }
}

const LEAVES: readonly JsonValue[] = [
  "a",
  "b",
  "",
  0,
  1,
  -1,
  2.5,
  true,
  false,
  null,
  "é\u0000",
  1e21,
];
const NAMES = ["a", "b", "c", "x", "name", "metadata", "__proto__", "constructor", "$patch", ""];

/** JSON of any shape. */
export function anyJson(draw: Draw, depth: number, names: readonly string[] = NAMES): JsonValue {
  const kind = depth <= 0 ? 0 : draw.upTo(4);
  if (kind === 3) return draw.times(3, () => anyJson(draw, depth - 1, names));
  if (kind === 4) return anyObject(draw, depth, names);
  return draw.pick(LEAVES);
}

export function anyObject(draw: Draw, depth: number, names: readonly string[] = NAMES): JsonObject {
  const members = draw.times(3, () => [draw.pick(names), anyJson(draw, depth - 1, names)] as const);
  // By definition rather than assignment: "__proto__" is a name as any other.
  return Object.fromEntries(members);
}
