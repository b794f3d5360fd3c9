/**
 * DeliveryRing: which event went out to which watch, and when: three numbers each, the newest ones. Many watchers
 * get each event, so one costs three stores into memory that is there already.
 */

/** A watch, a revision and milliseconds. */
const NUMBERS = 3;
const BYTES_EACH = NUMBERS * 8;
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
    this.#numbers = new Float64Array(ENTRIES_MIN * NUMBERS);
  }

  get bytes(): number {
    return this.#numbers.byteLength;
  }

  get size(): number {
    return Math.min(this.#count, this.#capacity);
  }

  push(watch: number, revision: number, atMs: number): void {
    if (this.#count >= this.#capacity && this.#capacity < this.#entriesMax) this.#grow();
    const at = (this.#count++ % this.#capacity) * NUMBERS;
    this.#numbers[at] = watch;
    this.#numbers[at + 1] = revision;
    this.#numbers[at + 2] = atMs;
  }

  /** From the newest to the oldest. */
  *backwards(): Generator<KeptDelivery, void> {
    const oldest = this.#count - this.size;
    for (let number = this.#count - 1; number >= oldest; number--) {
      const at = (number % this.#capacity) * NUMBERS;
      const [watch = 0, revision = 0, atMs = 0] = this.#numbers.subarray(at, at + NUMBERS);
      yield { watch, revision, atMs };
    }
  }

  get #capacity(): number {
    return this.#numbers.length / NUMBERS;
  }

  /** While it grows nothing has been overwritten, so all are in their places. */
  #grow(): void {
    const entries = Math.min(this.#entriesMax, this.#capacity * 2);
    const numbers = new Float64Array(entries * NUMBERS);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}
