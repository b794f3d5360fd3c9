import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  roundUpToMilli,
} from "./quantity.js";

test("S1-FV-01: quantities are written in canonical form, with kube-apiserver's exceptions", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["0", "0"],
    ["0Ki", "0"],
    ["1000m", "1"],
    ["0.5", "500m"],
    ["1024Mi", "1Gi"],
    ["1Gi", "1Gi"],
    ["0.5Gi", "512Mi"],
    ["1.5Gi", "1536Mi"],
    ["0.5Ki", "512"],
    ["1023", "1023"],
    ["1024", "1024"],
    ["1025Ki", "1025Ki"],
    ["1000", "1k"],
    ["1500", "1500"],
    ["100", "100"],
    ["1000000", "1M"],
    ["1.5k", "1500"],
    ["12e6", "12e6"],
    ["12E6", "12E6"],
    ["1e3", "1e3"],
    ["1000e3", "1e6"],
    ["10e2", "1e3"],
    [".5", "500m"],
    ["5.", "5."],
    ["1.123", "1.123"],
    ["+5", "+5"],
    ["-5", "-5"],
    ["-1000m", "-1"],
    ["0.1n", "1n"],
    ["0.0000000001", "1n"],
    ["1.0000000001", "1000000001n"],
    ["16Ei", "9223372036854775807"],
    ["9223372036854775807", "9223372036854775807"],
    ["1.2.3", undefined],
    ["", undefined],
    [".", undefined],
    ["-", undefined],
    ["abc", undefined],
    ["1 Gi", undefined],
    ["1gi", undefined],
    ["1e", undefined],
    ["1mi", undefined],
    ["0".repeat(1_000_000), undefined],
  ];
  for (const [text, expected] of cases) assert.equal(canonicalQuantity(text), expected, text);
});

test("resource lists are rounded up to thousandths", () => {
  assert.equal(roundUpToMilli("1n"), "1m");
  assert.equal(roundUpToMilli("1.0001"), "1001m");
  assert.equal(roundUpToMilli("250m"), "250m");
  assert.equal(roundUpToMilli("1536Mi"), "1536Mi");
});

test("sums keep the format of the first that is not zero", () => {
  const sum = (left: string, right: string) => {
    const [a, b] = [parseQuantity(left), parseQuantity(right)];
    assert(a !== undefined && b !== undefined);
    return formatQuantity(addQuantities(a, b));
  };
  assert.equal(sum("500m", "1.5"), "2");
  assert.equal(sum("512Mi", "0.5Gi"), "1Gi");
  assert.equal(sum("0", "1Gi"), "1Gi");
});

const suffix = fc.constantFrom("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3");

test("a canonical quantity is canonical and has the value that was written", () => {
  const written = fc.tuple(fc.integer({ min: 1, max: 1e6 }), fc.nat(999), suffix);
  fc.assert(
    fc.property(written, ([whole, fraction, unit]) => {
      const text = `${whole}${fraction === 0 ? "" : `.${fraction}`}${unit}`;
      const canonical = canonicalQuantity(text);
      assert(canonical !== undefined);
      const [before, after] = [parseQuantity(text), parseQuantity(canonical)];
      assert(before !== undefined && after !== undefined);
      assert.equal(compareQuantities(before, after), 0);
      assert.equal(canonicalQuantity(canonical), canonical);
    }),
  );
});

test("any text is either refused or made canonical, and never throws", () => {
  const piece = fc.constantFrom(
    "1",
    "0",
    ".",
    "-",
    "+",
    "e",
    "E",
    "K",
    "i",
    "m",
    "9",
    "99999",
    " ",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const canonical = canonicalQuantity(pieces.join(""));
      if (canonical !== undefined) assert.equal(canonicalQuantity(canonical), canonical);
    }),
    { numRuns: 2000 },
  );
});
