/** MinHeap: gives the smallest of its items in O(1), takes and removes one in O(log n). */
export class MinHeap<T> {
  readonly #items: T[] = [];
  readonly #compare: (a: T, b: T) => number;

  /** @param compare negative when `a` comes before `b` */
  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    let at = this.#items.length;
    this.#items.push(item);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#compare(item, this.#items[parent] as T) >= 0) break;
      this.#items[at] = this.#items[parent] as T;
      at = parent;
    }
    this.#items[at] = item;
  }

  /** Drops all items that fail the predicate. */
  keep(passes: (item: T) => boolean): void {
    const kept = this.#items.splice(0).filter(passes);
    for (const item of kept) this.push(item);
  }

  pop(): T | undefined {
    const [first] = this.#items;
    const last = this.#items.pop();
    if (last === undefined || this.#items.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#items.length) break;
      const right = child + 1;
      const hasSmallerRight =
        right < this.#items.length &&
        this.#compare(this.#items[right] as T, this.#items[child] as T) < 0;
      if (hasSmallerRight) child = right;
      if (this.#compare(last, this.#items[child] as T) <= 0) break;
      this.#items[at] = this.#items[child] as T;
      at = child;
    }
    this.#items[at] = last;
    return first;
  }
}
