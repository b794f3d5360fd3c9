/**
 * Path: where the estimate has a value from, such as ["self", "spec", "names", "@items"]. Appending
 * may write into storage that another path shares, as kube-apiserver's slices do: in a few nested loops that
 * decides which declaration bounds a value, so it belongs to the answer.
 */
export class Path {
  readonly #names: string[];
  readonly #capacity: number;
  readonly length: number;

  private constructor(names: string[], capacity: number, length: number) {
    this.#names = names;
    this.#capacity = capacity;
    this.length = length;
  }

  static of(name: string): Path {
    return new Path([name], 1, 1);
  }

  /** Without a path the result has the new name only. */
  static appended(path: Path | undefined, name: string): Path {
    return path === undefined ? Path.of(name) : path.#append(name);
  }

  #append(name: string): Path {
    const length = this.length + 1;
    if (this.length < this.#capacity) {
      this.#names[this.length] = name;
      return new Path(this.#names, this.#capacity, length);
    }
    return new Path([...this.#names.slice(0, this.length), name], this.#capacity * 2, length);
  }

  /** A path of its own. */
  copyWith(name: string): Path {
    const names = [...this.#names.slice(0, this.length), name];
    return new Path(names, names.length, names.length);
  }

  names(): readonly string[] {
    return this.#names.slice(0, this.length);
  }
}
