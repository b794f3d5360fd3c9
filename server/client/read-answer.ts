/**
 * readAnswer: the whole body of another server's answer, with bounds on its bytes and on the values of its JSON, which
 * are counted as they come: a megabyte has room for a third of a million empty objects, each of which takes time and
 * memory.
 */
import { inShortTurns } from "../../storage/base/short-turns.js";
import type { JsonValue } from "../api/meta.js";
import { parseInSteps, parseJson } from "../schema/parse-json.js";

/** The message tells the bound, never the contents. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

export interface AnswerLimits {
  readonly bytes: number;
  /** Of JSON: texts, numbers, lists and objects together; default: not counted. */
  readonly values?: number;
}

/** What a client may send in one body; reviews, key sets and documents of resources have far less. */
export const ANSWER_VALUES_MAX = 60_000;

/**
 * @param subject what the message says is too large
 * @throws {AnswerTooLarge} beyond the limits, and what the body throws
 */
export async function readAnswer(
  body: AsyncIterable<Buffer>,
  { bytes: bytesMax, values: valuesMax = Number.POSITIVE_INFINITY }: AnswerLimits,
  subject = "the answer",
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let counted = 0;
  const values = new ValueCount();
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new AnswerTooLarge(`${subject} has more than ${bytesMax} bytes`);
    chunks.push(chunk);
    // Short answers, as most are, have no room for so many.
    if (bytes <= valuesMax) continue;
    while (counted < chunks.length) values.add(chunks[counted++] as Buffer);
    if (values.count > valuesMax) {
      throw new AnswerTooLarge(`${subject} has more than ${valuesMax} values`);
    }
  }
  return Buffer.concat(chunks, bytes);
}

const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, OPEN_OBJECT] = [0x22, 0x5c, 0x2c, 0x5b, 0x7b];

/** How many values a JSON text has that came within an answer. */
export function countValues(text: string): number {
  const values = new ValueCount();
  values.add(Buffer.from(text));
  return values.count;
}

/** Counts what parts the values of a JSON text, whether it is well formed or not. */
class ValueCount {
  count = 1;
  #isInText = false;
  #isEscaped = false;

  add(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === QUOTE) this.#isInText = !this.#isInText;
      else if (this.#isInText) this.#isEscaped = byte === BACKSLASH;
      else if (byte === COMMA || byte === OPEN_LIST || byte === OPEN_OBJECT) this.count++;
    }
  }
}

/** Answers that are shorter are parsed at once. */
const LONG_CHARS_MIN = 64 * 1024;

/** Like parseJson, a long answer in turns of its own. @throws {JsonSyntaxError} */
export async function parseAnswer(text: string): Promise<JsonValue> {
  return text.length < LONG_CHARS_MIN ? parseJson(text) : await inShortTurns(parseInSteps(text));
}
