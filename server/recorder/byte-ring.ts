/** ByteRing: the newest items whose bytes fit into a budget, in their order. */

export class ByteRing<Item> {
  readonly #bytesMax: number;
  readonly #sizes: number[] = [];
  readonly #items: Item[] = [];
  /** Where the oldest is; what is before it is dropped now and then. */
  #first = 0;
  #bytes = 0;
  #dropped = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#items.length - this.#first;
  }

  /** How many had to go. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How many have come, those that had to go among them. */
  get pushed(): number {
    return this.#dropped + this.size;
  }

  get oldest(): Item | undefined {
    return this.#items[this.#first];
  }

  /** @param bytes what the item holds, about */
  push(item: Item, bytes: number): void {
    this.#items.push(item);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax && this.size > 1) {
      this.#bytes -= this.#sizes[this.#first] ?? 0;
      this.#items[this.#first] = undefined as Item;
      this.#first++;
      this.#dropped++;
    }
    if (this.#first > COMPACTED_MIN && this.#first * 2 > this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#sizes.splice(0, this.#first);
      this.#first = 0;
    }
  }

  get newest(): Item | undefined {
    return this.#first < this.#items.length ? this.#items.at(-1) : undefined;
  }

  /** Lets the others go. */
  retain(isWanted: (item: Item) => boolean): void {
    const left = this.#items.slice(this.#first);
    const sizes = this.#sizes.slice(this.#first);
    this.#items.length = this.#sizes.length = this.#first = this.#bytes = 0;
    this.#dropped += left.length;
    for (const [at, item] of left.entries()) {
      if (!isWanted(item)) continue;
      this.#dropped--;
      this.push(item, sizes[at] ?? 0);
    }
  }

  /** Those that came behind the first `pushed`, as far as they are here: the oldest first, at most `max`. */
  since(pushed: number, max: number): Item[] {
    const from = this.#first + Math.max(0, pushed - this.#dropped);
    return this.#items.slice(from, from + max);
  }

  /** As of now, from the newest to the oldest. */
  backwards(): Item[] {
    return this.#items.slice(this.#first).reverse();
  }
}

const COMPACTED_MIN = 1_024;
