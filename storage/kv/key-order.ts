/**
 * The order of keys: that of their UTF-8 bytes, as etcd has it. The order of JavaScript's strings is
 * another where a key has a character above U+FFFF, which UTF-16 writes as two surrogates
 * (U+D800-U+DFFF), and the other key has one of U+E000-U+FFFF in its place.
 */

/** Characters whose places in the two orders differ; a key without any compares equally by both. */
const BEYOND = /[\ud800-\uffff]/;

/** @returns below 0 if left comes first, 0 if they are the same, else above 0 */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/**
 * Compares the keys of one sorted collection: as JavaScript's strings, which is fastest, until the
 * first key with a character of U+D800-U+FFFF is added. Both orders agree on the keys before it.
 */
export class KeyOrder {
  #hasBeyond = false;

  /** To be called before a key is added. */
  note(key: string): void {
    this.#hasBeyond ||= BEYOND.test(key);
  }

  readonly compare = (left: string, right: string): number => {
    if (this.#hasBeyond) return compareKeys(left, right);
    return left < right ? -1 : left > right ? 1 : 0;
  };
}

/** Surrogates write characters above U+FFFF, so they come behind all other code units. */
function rank(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}
