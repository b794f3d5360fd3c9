/**
 * Lazily created values of variables. Most expressions read little of what they could, so creating
 * everything would dominate their cost.
 */
import { MapValue, type Value } from "./values.js";

/** A variable's value, created once, on first access. */
export class Late {
  #make: (() => unknown) | undefined;
  #value: unknown;

  constructor(make: () => unknown) {
    this.#make = make;
  }

  get value(): unknown {
    if (this.#make !== undefined) {
      this.#value = this.#make();
      this.#make = undefined;
    }
    return this.#value;
  }
}

/** An object of a declared type whose members are computed on access. */
export class LateObject extends MapValue {
  override readonly typeName: string;
  readonly #names: readonly string[];
  readonly #find: (name: string) => unknown;

  /** @param find returns values like `evaluateForBinding`; called on each access */
  constructor(typeName: string, names: readonly string[], find: (name: string) => unknown) {
    super();
    this.typeName = typeName;
    this.#names = names;
    this.#find = find;
  }

  get size(): number {
    return this.#names.length;
  }

  get(key: Value): Value | undefined {
    if (typeof key !== "string" || !this.#names.includes(key)) return undefined;
    return this.#find(key) as Value | undefined;
  }

  keys(): readonly string[] {
    return this.#names;
  }
}
