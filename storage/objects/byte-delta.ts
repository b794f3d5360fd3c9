/**
 * One text as its differences to another that is nearly the same: two versions of an object differ in
 * their resourceVersion, in times of the same length, and in the fields that were changed. Pure.
 *
 *   base    {"metadata":{"resourceVersion":"17","labels":..},"data":{"color":"green"}}
 *   text    {"metadata":{"resourceVersion":"42","labels":..},"data":{"color":"red"}}
 *   delta   copy 32, leave out 2, put "42" | copy 30, leave out 5, put "red" | copy the rest
 *
 * A delta is a sequence of steps: three numbers (copied, left out, put in), then the bytes put in.
 * The rest of the base after the last step is copied.
 */

/** Maximum number of differences: the rest is encoded as one. */
const STEPS_MAX = 48;
/** A difference of equal length ends when both agree again for this many bytes. */
const AGREEMENT_BYTES = 8;
/** How far ahead both are compared for such an end: numbers, times, short values. */
const LOOK_AHEAD_BYTES = 48;
/** A large delta may be kept as it is, so it gets a memory of its own length. */
const COPIED_BYTES_MIN = 4 * 1024;
/** The three numbers of a step: each has seven bits a byte, and is less than 2^32. */
const NUMBERS_BYTES_MAX = 15;

/** From `base` to `text`. */
export function encodeDelta(base: Buffer, text: Buffer): Buffer {
  const delta = new DeltaWriter(text.length + (STEPS_MAX + 1) * NUMBERS_BYTES_MAX);
  // Up to the first difference of unequal length both have the same positions.
  const limit = Math.min(base.length, text.length);
  let from = 0;
  let at = 0;
  for (let steps = 0; ; steps++) {
    while (at < limit && base[at] === text[at]) at++;
    if (at === limit) break;
    const length = steps < STEPS_MAX ? differenceAt(base, text, at, limit) : 0;
    if (length === 0) break;
    delta.put(at - from, length, text, at, at + length);
    at += length;
    from = at;
  }
  const rest = limit - at;
  let tail = 0;
  while (tail < rest && base[base.length - 1 - tail] === text[text.length - 1 - tail]) tail++;
  const end = text.length - tail;
  const leftOut = base.length - tail - at;
  if (end > at || leftOut > 0) delta.put(at - from, leftOut, text, at, end);
  return delta.bytes;
}

/** For a text that differs from its base in one known place: `put` instead of `leftOut` bytes at `at`. */
export function encodeReplacement(at: number, leftOut: number, put: Buffer): Buffer {
  const delta = new DeltaWriter(NUMBERS_BYTES_MAX + put.length);
  delta.put(at, leftOut, put, 0, put.length);
  return delta.bytes;
}

/** The text that `delta` yields from its base. @param length of the text */
export function applyDelta(base: Buffer, delta: Buffer, length: number): Buffer {
  const text = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (let at = 0; at < delta.length; ) {
    const numbers = [0, 0, 0];
    for (let i = 0; i < numbers.length; i++) {
      let shift = 1;
      let byte: number;
      do {
        byte = delta[at++] as number;
        (numbers[i] as number) += (byte & 0x7f) * shift;
        shift *= 0x80;
      } while (byte >= 0x80);
    }
    const [copied = 0, leftOut = 0, put = 0] = numbers;
    to += base.copy(text, to, from, from + copied);
    from += copied + leftOut;
    to += delta.copy(text, to, at, at + put);
    at += put;
  }
  base.copy(text, to, from);
  return text;
}

/** The length of the difference at `at` if both agree after it; otherwise 0. */
function differenceAt(base: Buffer, text: Buffer, at: number, limit: number): number {
  const end = Math.min(at + LOOK_AHEAD_BYTES, limit - AGREEMENT_BYTES);
  let agreed = 0;
  for (let next = at + 1; next < end; next++) {
    agreed = base[next] === text[next] ? agreed + 1 : 0;
    if (agreed === AGREEMENT_BYTES) return next + 1 - AGREEMENT_BYTES - at;
  }
  return 0;
}

/** Writes steps behind one another. */
class DeltaWriter {
  readonly #memory: Buffer;
  #end = 0;

  constructor(bytesMax: number) {
    this.#memory = Buffer.allocUnsafe(bytesMax);
  }

  get bytes(): Buffer {
    const bytes = this.#memory.subarray(0, this.#end);
    return bytes.length < COPIED_BYTES_MIN ? bytes : Buffer.from(bytes);
  }

  /** A step that puts in `text` from `start` up to `end`. */
  put(copied: number, leftOut: number, text: Buffer, start: number, end: number): void {
    this.#number(copied);
    this.#number(leftOut);
    this.#number(end - start);
    this.#end += text.copy(this.#memory, this.#end, start, end);
  }

  #number(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
      this.#memory[this.#end++] = (rest % 0x80) | 0x80;
    }
    this.#memory[this.#end++] = rest;
  }
}
