/**
 * Slots: the things that are at work right now, where they come and go with every request.
 *
 * In a Set they would be rehashed every few requests, and V8 lets each outgrown table refer to the next one.
 * A table that is old keeps all later ones alive, with every request in them, until the next full
 * collection, although nobody uses it: short-lived requests get old that way, and collections dear
 * (docs/dev/decisions/0059-requests-stay-young.md).
 */
export class Slots<T> {
  readonly #values: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** How many are at work. */
  get size(): number {
    return this.#values.length - this.#free.length;
  }

  /** @returns the slot, for `remove` */
  add(value: T): number {
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    return slot;
  }

  remove(slot: number): void {
    this.#values[slot] = undefined;
    this.#free.push(slot);
  }

  *[Symbol.iterator](): Generator<T> {
    for (const value of this.#values) if (value !== undefined) yield value;
  }
}
