/** readAnswer: the whole body of another server's answer, with a bound on its bytes. */

/** The message tells the bound, never the contents. */
export class AnswerTooLarge extends Error {
  override readonly name = "AnswerTooLarge";
}

/**
 * @param subject what the message says is too large
 * @throws {AnswerTooLarge} beyond `bytesMax`, and what the body throws
 */
export async function readAnswer(
  body: AsyncIterable<Buffer>,
  bytesMax: number,
  subject = "the answer",
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new AnswerTooLarge(`${subject} has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}
