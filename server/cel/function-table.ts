/**
 * Overloads by name. Built once per set of libraries and shared by all environments; immutable.
 */
import type { Overload } from "./overloads.js";

export class FunctionTable {
  readonly #functions = new Map<string, Overload[]>();
  readonly #methods = new Map<string, Overload[]>();

  constructor(libraries: readonly (readonly Overload[])[]) {
    for (const overload of libraries.flat()) {
      const table = overload.isMethod ? this.#methods : this.#functions;
      const known = table.get(overload.name);
      if (known === undefined) table.set(overload.name, [overload]);
      else known.push(overload);
    }
  }

  has(name: string, isMethod: boolean): boolean {
    return (isMethod ? this.#methods : this.#functions).has(name);
  }

  find(name: string, isMethod: boolean): readonly Overload[] {
    return (isMethod ? this.#methods : this.#functions).get(name) ?? [];
  }
}
