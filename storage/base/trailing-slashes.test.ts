import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutTrailingSlashes } from "./trailing-slashes.js";

test("39.2: slashes are taken off the end only, however many a text has", () => {
  const middle = `a${"/".repeat(300_000)}x`;
  const table = [
    ["", ""],
    ["/", ""],
    ["a", "a"],
    ["/a/b//", "/a/b"],
    [middle, middle],
    [`${middle}//`, middle],
  ] as const;
  for (const [text, expected] of table) assert.equal(withoutTrailingSlashes(text), expected);
});
