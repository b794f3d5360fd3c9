/** Settings of the simulation: files, rules, annotations, ranges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { durationIn, parseSimulation, settingsOf } from "./settings.js";

test("the first rule that matches counts, and annotations come before it", () => {
  const settings = parseSimulation({
    rules: [
      { namespace: "shop", name: "web-*-x", readyAfter: "1s", log: "from the rule" },
      { labels: { app: "web" }, fails: "crash" },
      { log: "others" },
    ],
  });
  const of = (name: string, more: object = {}) =>
    settingsOf(settings, { namespace: "shop", name, ...more });
  assert.equal(of("web-1-x").log, "from the rule");
  assert.equal(of("web-x").log, "others");
  assert.equal(of("y", { labels: { app: "web" } }).fails, "crash");
  const annotations = {
    "simulation.keelson.dev/ready-after": "5s",
    "simulation.keelson.dev/times": "3",
    "simulation.keelson.dev/fails": "no such failure",
  };
  assert.deepEqual(of("web-1-x", { annotations }), {
    ...{ namespace: "shop", name: "web-*-x", labels: {}, log: "from the rule", times: 3 },
    readyAfter: { minMs: 5_000, maxMs: 5_000 },
    mistake:
      "annotation simulation.keelson.dev/fails: one of image-pull, crash, unready is expected",
  });
  for (const [annotation, mistake] of [
    ["start-afer", /: unknown; known are start-after, /],
    ["runs-for", /: a duration such as 2s/],
    ["exit-code", /: a whole number from 0 to 255/],
    ["failed-before", undefined],
  ] as const) {
    const key = `simulation.keelson.dev/${annotation}`;
    const told = of("w", { annotations: { [key]: "soon" } }).mistake;
    if (mistake === undefined) assert.equal(told, undefined);
    else assert.match(told ?? "", mistake);
  }
});

const refused: readonly (readonly [object, RegExp])[] = [
  [{ nodes: -1 }, /^nodes: a whole number/],
  [{ node: 1 }, /^node: unknown; known are nodes, seed, rules$/],
  [{ rules: {} }, /^rules: a list/],
  [{ rules: [{ fails: "x" }] }, /^rules\[0\]\.fails: one of image-pull, crash, unready/],
  [{ rules: [{ startAfter: "2s..1s" }] }, /^rules\[0\]\.startAfter: a duration/],
  [{ rules: [{ startAfter: 2 }] }, /^rules\[0\]\.startAfter: a duration/],
  [{ rules: [{ labels: { a: 1 } }] }, /^rules\[0\]\.labels\.a: a short text/],
  [{ rules: [{ other: 1 }] }, /^rules\[0\]\.other: unknown/],
];

for (const [value, message] of refused) {
  test(`a file with ${JSON.stringify(value)} is refused`, () => {
    assert.throws(() => parseSimulation(value as never), { name: "RangeError", message });
  });
}

test("a range has one place for each name, which the seed decides", () => {
  const range = { minMs: 1_000, maxMs: 2_000 };
  const at = (...names: (string | number)[]) => durationIn(range, ...names);
  assert.equal(at(1, "web"), at(1, "web"));
  assert.notEqual(at(1, "web"), at(2, "web"));
  assert.ok(at(1, "web") >= 1_000 && at(1, "web") <= 2_000);
});
