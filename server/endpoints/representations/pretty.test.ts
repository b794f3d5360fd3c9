/** The requests that get indented answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseQuery } from "../../request/query.js";
import { isForPeople } from "./pretty.js";

const CURL = "curl/8.5.0";
const PROGRAM = "informer/1.0";

type Case = readonly [query: string, ofCurl: boolean, ofProgram: boolean];

const CASES: readonly Case[] = [
  ["", true, false],
  ["limit=1", true, false],
  ...["true", "True", "TRUE", "t", "T", "1"].map((yes) => [`pretty=${yes}`, true, true] as const),
  ...["false", "False", "FALSE", "f", "F", "0"].map(
    (no) => [`pretty=${no}`, false, false] as const,
  ),
  // An empty value has no effect, so the program decides.
  ["pretty", true, false],
  ["pretty=", true, false],
  // Any other value means no.
  ["pretty=banana", false, false],
  ["pretty=tRUE", false, false],
  ["pretty=yes", false, false],
  ["pretty=2", false, false],
  // The first value counts.
  ["pretty=true&pretty=false", true, true],
  ["pretty=&pretty=true", true, false],
];

for (const [query, ofCurl, ofProgram] of CASES) {
  test(`S1-QP-14: "?${query}" indents for curl: ${ofCurl}, for a program: ${ofProgram}`, () => {
    const parsed = parseQuery(query);
    assert.equal(isForPeople(parsed, CURL), ofCurl);
    assert.equal(isForPeople(parsed, PROGRAM), ofProgram);
    assert.equal(isForPeople(parsed, undefined), ofProgram);
  });
}

test("S1-QP-14: browsers and wget are for people; before the query is known only the program counts", () => {
  for (const agent of [CURL, "Wget/1.21", "Mozilla/5.0 (X11)"]) {
    assert.equal(isForPeople(undefined, agent), true, agent);
  }
  assert.equal(isForPeople(undefined, "not curl"), false);
  assert.equal(isForPeople(undefined, undefined), false);
});
