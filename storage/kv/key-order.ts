/** The order of the keys of one sorted collection, which is that of their bytes (base/compare-texts.ts). */
import { BEYOND, compareTexts } from "../base/compare-texts.js";

/**
 * Compares them as JavaScript's strings, which is fastest, until the first key with a character of U+D800-U+FFFF is
 * added. Both orders agree on the keys before it.
 */
export class KeyOrder {
  #hasBeyond = false;

  /** To be called before a key is added. */
  note(key: string): void {
    this.#hasBeyond ||= BEYOND.test(key);
  }

  readonly compare = (left: string, right: string): number => {
    if (this.#hasBeyond) return compareTexts(left, right);
    return left < right ? -1 : left > right ? 1 : 0;
  };
}
