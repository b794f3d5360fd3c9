import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareResourceVersions, isComparableVersion } from "./resource-version.js";

test("S1-VER-02, S1-VER-05, S1-VER-09: versions of any length compare as the numbers that they are", () => {
  const version = fc.bigInt({ min: 1n, max: 10n ** 40n });
  const near = version.chain((a) =>
    fc.tuple(fc.constant(a), fc.oneof(version, fc.constantFrom(a, a + 1n, a - 1n || 1n))),
  );
  fc.assert(
    fc.property(near, ([a, b]) => {
      const order = compareResourceVersions(String(a), String(b)) ?? Number.NaN;
      assert.equal(Math.sign(order), a < b ? -1 : a > b ? 1 : 0);
    }),
  );
});

test("S1-VER-01, S1-VER-04: everything else is opaque and has no order", () => {
  for (const text of ["", "0", "01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "abc", "١", "1\n"]) {
    assert.equal(isComparableVersion(text), false, JSON.stringify(text));
    assert.equal(compareResourceVersions(text, "5"), undefined);
    assert.equal(compareResourceVersions("5", text), undefined);
  }
});
