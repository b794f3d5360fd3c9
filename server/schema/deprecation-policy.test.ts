/** The deprecation policy: its numbers, their consequences, and their documentation. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Element, PROMISES, removableIn, type Stability } from "./deprecation-policy.js";
import { formatRelease } from "./lifecycle.js";

const DEPRECATED = { major: 1, minor: 36 };

/** The first release that may remove an element deprecated in 1.36. */
const TABLE: readonly (readonly [ids: string, Element, Record<Stability, string>])[] = [
  ["S2-DEP-05", "user-facing element", { stable: "1.39", beta: "1.37", alpha: "1.36" }],
  ["S2-DEP-06", "admin-facing element", { stable: "1.38", beta: "1.37", alpha: "1.36" }],
  ["S2-DEP-07", "behaviour", { stable: "1.39", beta: "1.39", alpha: "1.39" }],
  ["S2-DEP-08", "feature gate", { stable: "1.38", beta: "1.37", alpha: "1.36" }],
  ["S2-DEP-10", "metric", { stable: "1.39", beta: "1.37", alpha: "1.36" }],
];

const STABILITIES: readonly Stability[] = ["stable", "beta", "alpha"];

for (const [ids, element, expected] of TABLE) {
  test(`${ids}: a ${element} stays as long as is promised, and the longer of time and releases counts`, () => {
    for (const stability of STABILITIES) {
      const release = removableIn(element, stability, DEPRECATED);
      assert.equal(formatRelease(release), expected[stability], stability);
    }
  });
}

test("S2-DEP-05..07, S2-DEP-10: docs/use/api-versions.md promises what the code keeps", () => {
  const url = new URL("../../../docs/use/api-versions.md", import.meta.url);
  const rows = readFileSync(url, "utf8").split("\n");
  for (const element of Object.keys(PROMISES) as Element[]) {
    const cells = STABILITIES.map((stability) => {
      const { months, releases } = PROMISES[element][stability];
      return months === 0 ? "none" : `${months} months, ${releases} releases`;
    });
    assert.ok(rows.includes(`| ${element} | ${cells.join(" | ")} |`), element);
  }
});
