/**
 * What is bound to variables and made only when an expression looks at it. Most expressions look at
 * little of what they could see, so making all of it would be most of what they cost.
 */
import { MapValue, type Value } from "./values.js";

/** A value of a variable, made when it is first looked at, once. */
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

/** An object of a declared type whose members are found when they are looked at. */
export class LateObject extends MapValue {
  override readonly typeName: string;
  readonly #names: readonly string[];
  readonly #find: (name: string) => unknown;

  /** @param find gives values as `evaluateForBinding` does; it is asked each time */
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
