/**
 * DeliveryRing: which event went out to which watch, and when: three numbers each, the newest ones. Many watchers
 * get each event, so one costs three stores into memory that is there already.
 */

/** Of each: a watch, a revision and milliseconds. */
export const DELIVERY_NUMBERS = 3;
const BYTES_EACH = DELIVERY_NUMBERS * 8;
const ENTRIES_MIN = 1_024;

export interface KeptDelivery {
  readonly watch: number;
  readonly revision: number;
  readonly atMs: number;
}

export class DeliveryRing {
  readonly #entriesMax: number;
  #numbers: Float64Array;
  #count = 0;

  constructor(bytesMax: number) {
    this.#entriesMax = Math.max(ENTRIES_MIN, Math.floor(bytesMax / BYTES_EACH));
    this.#numbers = new Float64Array(ENTRIES_MIN * DELIVERY_NUMBERS);
  }

  get bytes(): number {
    return this.#numbers.byteLength;
  }

  get size(): number {
    return Math.min(this.#count, this.#capacity);
  }

  /** How many have come, those that were overwritten among them. */
  get pushed(): number {
    return this.#count;
  }

  /** Adds those of a ring like this one. */
  pushAll(numbers: Float64Array): void {
    for (let at = 0; at + DELIVERY_NUMBERS <= numbers.length; at += DELIVERY_NUMBERS) {
      const [watch = 0, revision = 0, atMs = 0] = numbers.subarray(at, at + DELIVERY_NUMBERS);
      this.push(watch, revision, atMs);
    }
  }

  /**
   * Those that came behind the first `pushed`, as far as they are here: the oldest first, at most `max`.
   * @returns three numbers of each: watch, revision, milliseconds
   */
  since(pushed: number, max: number): Float64Array {
    const from = Math.max(pushed, this.#count - this.size);
    const count = Math.min(max, Math.max(0, this.#count - from));
    const numbers = new Float64Array(count * DELIVERY_NUMBERS);
    for (let item = 0; item < count; item++) {
      const at = ((from + item) % this.#capacity) * DELIVERY_NUMBERS;
      numbers.set(this.#numbers.subarray(at, at + DELIVERY_NUMBERS), item * DELIVERY_NUMBERS);
    }
    return numbers;
  }

  push(watch: number, revision: number, atMs: number): void {
    if (this.#count >= this.#capacity && this.#capacity < this.#entriesMax) this.#grow();
    const at = (this.#count++ % this.#capacity) * DELIVERY_NUMBERS;
    this.#numbers[at] = watch;
    this.#numbers[at + 1] = revision;
    this.#numbers[at + 2] = atMs;
  }

  /** From the newest to the oldest. */
  *backwards(): Generator<KeptDelivery, void> {
    const oldest = this.#count - this.size;
    for (let number = this.#count - 1; number >= oldest; number--) {
      const at = (number % this.#capacity) * DELIVERY_NUMBERS;
      const [watch = 0, revision = 0, atMs = 0] = this.#numbers.subarray(at, at + DELIVERY_NUMBERS);
      yield { watch, revision, atMs };
    }
  }

  get #capacity(): number {
    return this.#numbers.length / DELIVERY_NUMBERS;
  }

  /** While it grows nothing has been overwritten, so all are in their places. */
  #grow(): void {
    const entries = Math.min(this.#entriesMax, this.#capacity * 2);
    const numbers = new Float64Array(entries * DELIVERY_NUMBERS);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}
