/**
 * One text as its differences to another that is nearly the same: two versions of an object differ in
 * their resourceVersion, in times of the same length, and in the fields that were changed. Pure.
 *
 *   base    {"metadata":{"resourceVersion":"17","labels":..},"data":{"color":"green"}}
 *   text    {"metadata":{"resourceVersion":"42","labels":..},"data":{"color":"red"}}
 *   delta   75 bytes | copy 32, leave out 2, put "42" | copy 30, leave out 5, put "red" | copy the rest
 *
 * A delta is the length of the text and a sequence of steps: three numbers (copied, left out, put in), then the
 * bytes put in. The rest of the base after the last step is copied.
 */

/** Maximum number of differences: the rest is encoded as one. */
const STEPS_MAX = 48;
/** A difference of equal length ends when both agree again for this many bytes. */
const AGREEMENT_BYTES = 8;
/** How far ahead both are compared for such an end: numbers, times, short values. */
const LOOK_AHEAD_BYTES = 48;
/** A large delta may be kept as it is, so it gets a memory of its own length. */
const COPIED_BYTES_MIN = 4 * 1024;
/** A number has seven bits a byte, and is less than 2^32. */
const NUMBER_BYTES_MAX = 5;
/** The three numbers of a step. */
const NUMBERS_BYTES_MAX = 3 * NUMBER_BYTES_MAX;

/** From `base` to `text`. */
export function encodeDelta(base: Buffer, text: Buffer): Buffer {
  const delta = new DeltaWriter(text.length);
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

/** The length of the text that the delta at `start` yields. */
export function textLengthOf(memory: Buffer, start: number): number {
  return new DeltaReader(memory, start).number();
}

/** The text that `delta` yields from its base. */
export function applyDelta(base: Buffer, delta: Buffer): Buffer {
  const reader = new DeltaReader(delta, 0);
  const text = Buffer.allocUnsafe(reader.number());
  let from = 0;
  let to = 0;
  while (reader.at < delta.length) {
    const copied = reader.number();
    const leftOut = reader.number();
    const put = reader.number();
    to += base.copy(text, to, from, from + copied);
    from += copied + leftOut;
    to += delta.copy(text, to, reader.at, reader.at + put);
    reader.at += put;
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

class DeltaReader {
  readonly #memory: Buffer;
  /** Where the next number begins. */
  at: number;

  constructor(memory: Buffer, start: number) {
    this.#memory = memory;
    this.at = start;
  }

  number(): number {
    let value = 0;
    let shift = 1;
    let byte: number;
    do {
      byte = this.#memory[this.at++] as number;
      value += (byte & 0x7f) * shift;
      shift *= 0x80;
    } while (byte >= 0x80);
    return value;
  }
}

/** Writes the length of the text, and steps behind one another. */
class DeltaWriter {
  readonly #memory: Buffer;
  #end = 0;

  constructor(textLength: number) {
    const bytesMax = NUMBER_BYTES_MAX + textLength + (STEPS_MAX + 1) * NUMBERS_BYTES_MAX;
    this.#memory = Buffer.allocUnsafe(bytesMax);
    this.#number(textLength);
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
