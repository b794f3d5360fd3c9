/**
 * The order of texts: that of their UTF-8 bytes, as etcd and Go have it. The order of JavaScript's strings is another
 * where a text has a character above U+FFFF, which UTF-16 writes as two surrogates (U+D800-U+DFFF), and the other text
 * has one of U+E000-U+FFFF in its place.
 */

/** Characters whose places in the two orders differ; a text without any compares equally by both. */
export const BEYOND = /[\ud800-\uffff]/;

/** @returns below 0 if left comes first, 0 if they are the same, else above 0 */
export function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  const isBeyond = BEYOND.test(left) && BEYOND.test(right);
  return isBeyond ? compareUnits(left, right) : left < right ? -1 : 1;
}

/** Sorts in place, as fast as JavaScript does where it may. */
export function sortTexts(texts: string[]): string[] {
  return texts.some((text) => BEYOND.test(text)) ? texts.sort(compareTexts) : texts.sort();
}

function compareUnits(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(left.charCodeAt(index)) - rank(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Surrogates write characters above U+FFFF, so they come behind all other code units. */
function rank(codeUnit: number): number {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff ? codeUnit + 0x10000 : codeUnit;
}
