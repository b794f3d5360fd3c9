/** LargeListCount: counts a list once it turns out to be large in an encoding that is unsuited for large lists. */
import type { ListOutput } from "./listing.js";

export class LargeListCount {
  readonly #encoding: string | undefined;
  readonly #lists: ListOutput["services"]["largeLists"];
  #bytes = 0;

  constructor({ representation, services }: ListOutput) {
    this.#encoding = representation.costlyEncoding;
    this.#lists = services.largeLists;
  }

  /** Adds to the size before compression. */
  add(bytes: number): void {
    if (this.#encoding === undefined || this.#lists === undefined) return;
    const before = this.#bytes;
    this.#bytes += bytes;
    const isNowLarge = before <= this.#lists.bytes && this.#bytes > this.#lists.bytes;
    if (isNowLarge) this.#lists.count(this.#encoding);
  }
}
