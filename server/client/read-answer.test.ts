/** What is kept of another server's answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAnswer } from "./read-answer.js";

test("39.1: an answer is refused at the value too many, wherever its pieces end, and texts count as one", async () => {
  const limits = { bytes: 10_000_000, values: 1_000 };
  const outcome = async (text: string, pieceBytes: number) => {
    const bytes = Buffer.from(text);
    let taken = 0;
    async function* inPieces() {
      for (; taken * pieceBytes < bytes.length; taken++) {
        yield bytes.subarray(taken * pieceBytes, (taken + 1) * pieceBytes);
      }
    }
    const result = await readAnswer(inPieces(), limits).then(String, ({ message }) => message);
    return result === text ? "whole" : `${result}, ${taken} pieces`;
  };
  const lists = (count: number) => `[${Array(count).fill("{}").join(",")}]`;
  const text = JSON.stringify(Array(999).fill('{"[\\",{[,\\\\"'));
  for (const pieceBytes of [33, 64, 1_000]) {
    assert.equal(await outcome(lists(499), pieceBytes), "whole");
    assert.match(
      await outcome(lists(2_000_000), pieceBytes),
      /^the answer has more than 1000 values, \d{1,2} pieces$/,
    );
    assert.equal(await outcome(text, pieceBytes), "whole");
  }
});
