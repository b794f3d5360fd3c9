/**
 * readAnswer: the whole body of another server's answer, with a bound on its bytes and on its pieces: one that drips
 * byte by byte would keep a buffer of some hundred bytes for each.
 */
import { areTooShort } from "../request/read-body.js";

/** The message tells the bound, never the contents. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

/** @throws {AnswerTooLarge} beyond `bytesMax`, or in very short pieces; and what the body throws */
export async function readAnswer(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new AnswerTooLarge(`the answer has more than ${bytesMax} bytes`);
    chunks.push(chunk);
    if (areTooShort(chunks.length, bytes)) {
      throw new AnswerTooLarge(`the answer comes in ${chunks.length} pieces of a few bytes`);
    }
  }
  return Buffer.concat(chunks, bytes);
}
