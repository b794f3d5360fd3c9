/** The page about the architecture shows the chain as it is. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ANSWERERS, type Named, STEPS } from "./request-chain.js";

const PAGE = readFileSync(new URL("../../../docs/dev/architecture.md", import.meta.url), "utf8");

/** Rows of the table that begins with this head: name and reason. */
function rowsOf(head: string): string[][] {
  const begin = PAGE.indexOf(`| ${head} | why there |\n|---|---|\n`);
  assert.notEqual(begin, -1, head);
  const [table = ""] = PAGE.slice(begin).split("\n\n", 1);
  return table
    .split("\n")
    .slice(2)
    .map((row) => row.slice(1, -1).split("|"))
    .map((cells) => cells.map((cell) => cell.trim()));
}

const listed = (named: readonly Named<unknown>[]) => named.map(({ name, why = "" }) => [name, why]);

test("architecture.md lists the steps of the request chain in their order, with the reasons", () => {
  assert.deepEqual(rowsOf("step"), listed(STEPS));
});

test("architecture.md lists who answers requests in their order, with the reasons", () => {
  assert.deepEqual(rowsOf("who answers"), listed(ANSWERERS));
});
