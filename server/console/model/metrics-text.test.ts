import assert from "node:assert/strict";
import { test } from "node:test";
import { countsIn, samplesOf } from "./metrics-text.js";

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

test("#46 a count below zero is none: kube-apiserver could not count these objects", () => {
  const found = samplesOf('n{resource="cars"} -1\nn{resource="pods"} 0\n', ["n"]);
  assert.deepEqual(countsIn(found.get("n") ?? []), [{ labels: { resource: "pods" }, value: 0 }]);
});
