/** LazyMap: a map some of whose values are made when somebody asks for them, once. */
export class LazyMap<K, V> extends Map<K, V> {
  readonly #makers = new Map<K, () => V>();

  /** The value of `key` will be what `make` gives; its place in the order is this call's. */
  setLazy(key: K, make: () => V): void {
    super.set(key, undefined as V);
    this.#makers.set(key, make);
  }

  override get(key: K): V | undefined {
    const make = this.#makers.get(key);
    if (make !== undefined) {
      super.set(key, make());
      this.#makers.delete(key);
    }
    return super.get(key);
  }

  override *entries(): MapIterator<[K, V]> {
    for (const key of this.keys()) yield [key, this.get(key) as V];
  }

  override *values(): MapIterator<V> {
    for (const key of this.keys()) yield this.get(key) as V;
  }

  override forEach(visit: (value: V, key: K, map: Map<K, V>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this);
  }

  override [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries();
  }
}
