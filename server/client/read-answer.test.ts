/** What is kept of another server's answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAnswer } from "./read-answer.js";

function* pieces(count: number, bytes: number): Generator<Buffer> {
  for (let index = 0; index < count; index++) yield Buffer.alloc(bytes, "x");
}

/** The length of the answer or why there is none, and how many pieces were taken. */
async function read(count: number, bytes: number) {
  let taken = 0;
  async function* counted() {
    for (const piece of pieces(count, bytes)) {
      taken++;
      yield piece;
    }
  }
  const result = await readAnswer(counted(), 10_000_000).then(
    ({ length }) => length,
    (error: Error) => error.message,
  );
  return { result, taken };
}

test("39.3: an answer in chunks of a byte is refused when a thousand of them are kept, not as a gigabyte", async () => {
  const why = "the answer comes in 1025 pieces of a few bytes";
  assert.deepEqual(await read(9_000_000, 1), { result: why, taken: 1025 });
  assert.deepEqual(await read(1_000, 1), { result: 1_000, taken: 1_000 });
  assert.deepEqual(await read(20_000, 100), { result: 2_000_000, taken: 20_000 });
  const tooLong = { result: "the answer has more than 10000000 bytes", taken: 11 };
  assert.deepEqual(await read(1_000, 1_000_000), tooLong);
});
