import assert from "node:assert/strict";
import { test } from "node:test";
import { samplesOf } from "./metrics-text.js";

test("samples of the named metrics are read, with their labels, and no others", () => {
  const text = [
    "a 1",
    "# TYPE a_total counter",
    'a_total{verb="GET",path="\\"x\\"\\\\{}"} 1e3',
    "a_total 4 1700000000",
    'b{x="y"} +Inf',
    "",
  ].join("\n");
  assert.deepEqual(Object.fromEntries(samplesOf(text, ["a", "a_total", "c"])), {
    a: [{ labels: {}, value: 1 }],
    a_total: [
      { labels: { verb: "GET", path: '"x"\\{}' }, value: 1000 },
      { labels: {}, value: 4 },
    ],
    c: [],
  });
});
