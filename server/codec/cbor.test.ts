import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "cbor-x";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonValue } from "../api/meta.js";
import { BODY_LIMITS } from "./body-values.js";
import { cborPieces, encodeCbor, encodeCborItem } from "./cbor.js";
import { CborSyntaxError, cborSteps, parseCbor } from "./cbor-parser.js";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

/** JSON values, with integers up to 64 bits. */
const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constant(null),
    fc.boolean(),
    fc.string({ unit: "grapheme" }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.integer(),
    fc.maxSafeInteger(),
    fc
      .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
      .map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value)),
    fc.array(tie("value")),
    fc
      .array(fc.tuple(fc.oneof(fc.string(), fc.constant("__proto__")), tie("value")))
      .map((entries) => Object.fromEntries(entries)),
  ),
})).value;

test("S1-NEG-06: a document begins with the tag that says what it is", () => {
  assert.equal(encodeCbor({ a: "b" }).toString("hex"), "d9d9f7a161614162");
});

test("S1-NEG-05, S1-VER-09: every JSON value comes back, integers of 64 bits to the last digit", () => {
  fc.assert(
    fc.property(json, (value) => {
      assert.deepEqual(parseCbor(encodeCbor(value)), value);
    }),
  );
});

test("S1-NEG-05: another reader reads what is written", () => {
  const bytes = encodeCbor({ n: 2 ** 40, list: [1.5, true, null], name: "ä" });
  const value = decode(bytes) as Record<string, unknown>;
  assert.equal(value.n, 2n ** 40n);
  assert.deepEqual(value.list, [1.5, true, null]);
  assert.equal(Buffer.from(value.name as Uint8Array).toString("utf8"), "ä");
});

const readings: readonly (readonly [string, string, JsonValue])[] = [
  ["text and bytes are strings", "82 6161 4162", ["a", "b"]],
  ["tag 21: base64url", "d5 42 fbff", "-_8"],
  ["tag 22: base64", "d6 42 fbff", "+/8="],
  ["tag 22 holds for what is inside", "d6 81 42 fbff", ["+/8="]],
  ["tag 23: hexadecimal", "d7 42 fbff", "fbff"],
  [
    "tag 0 is passed over",
    "c0 74 323031332d30332d32315432303a30343a30305a",
    "2013-03-21T20:04:00Z",
  ],
  ["indefinite array", "9f 01 02 ff", [1, 2]],
  ["indefinite map", "bf 6161 01 ff", { a: 1 }],
  ["string in pieces", "7f 6161 6162 ff", "ab"],
  ["half float", "f9 3e00", 1.5],
  ["small half float", "f9 0001", 2 ** -24],
  ["single float", "fa 47c35000", 100000],
  ["double", "fb 3ff199999999999a", 1.1],
  ["largest integer", "1b 7fffffffffffffff", 2n ** 63n - 1n],
  ["smallest integer", "3b 7fffffffffffffff", -(2n ** 63n)],
];
for (const [what, text, expected] of readings) {
  test(`S1-NEG-05: ${what}`, () => assert.deepEqual(parseCbor(hex(text)), expected));
}

const refusals: readonly (readonly [string, string, RegExp])[] = [
  ["nothing", "", /end of data/],
  ["half a value", "82 01", /end of data/],
  ["a count beyond the data", "9b ffffffffffffffff", /end of data/],
  ["two values", "01 02", /after the value/],
  ["a key twice", "a2 6161 01 4161 02", /duplicate key "a"/],
  ["a number as key", "a1 01 02", /no string/],
  ["an integer beyond 64 bits", "1b 8000000000000000", /64 bits/],
  ["a big number", "c2 49 010000000000000000", /64 bits/],
  ["NaN", "f9 7e00", /not finite/],
  ["infinity", "fa 7f800000", /not finite/],
  ["undefined", "f7", /simple value/],
  ["text that is not UTF-8", "61 ff", /UTF-8/],
  ["bytes that are not UTF-8, without a tag that says how", "41 ff", /UTF-8/],
  ["a reserved length", "1c", /malformed/],
  ["a break alone", "ff", /malformed|simple/],
  ["too deep", "81".repeat(2000), /depth/],
  ["tags too deep", "c0".repeat(2000), /depth/],
];
for (const [what, text, message] of refusals) {
  test(`S1-NEG-05: refused: ${what}`, () =>
    assert.throws(() => parseCbor(hex(text)), { name: "CborSyntaxError", message }));
}

test("S1-NEG-05: wild bytes are a value or a CborSyntaxError, never anything else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        parseCbor(Buffer.from(bytes));
      } catch (error) {
        assert.ok(error instanceof CborSyntaxError, String(error));
      }
    }),
    { numRuns: 5_000 },
  );
});

const MILLION = 1_000_000;
const listOf = (item: string) => Buffer.concat([hex("9f"), repeated(item)]);
const repeated = (item: string) => Buffer.alloc((item.length / 2) * MILLION, hex(item));
const keysOf = (count: number) =>
  Buffer.concat([
    hex("bf"),
    ...Array.from({ length: count }, (_, at) => encodeCborItem({ [`k${at}`]: null }).subarray(1)),
  ]);
/** They end in the middle: who reads on behind the bound says that, and not that there is too much. */
const many: readonly (readonly [string, Buffer, RegExp])[] = [
  ["items of a list", listOf("a0"), /more than 60000 values/],
  ["lists in a list", listOf("8100"), /more than 60000 values/],
  [
    "items of a list of a known length",
    Buffer.concat([hex("9a000f4240"), repeated("00")]),
    /values/,
  ],
  ["pieces of a text", Buffer.concat([hex("7f"), repeated("60")]), /more than 60000 values/],
  ["pieces of bytes", Buffer.concat([hex("5f"), repeated("4161")]), /more than 60000 values/],
  ["pieces of a key", Buffer.concat([hex("bf7f"), repeated("60")]), /more than 60000 values/],
  ["tags", listOf("c0c0c000"), /more than 60000 values/],
  ["members of an object", keysOf(20_001), /more than 20000 members/],
];
for (const [what, bytes, message] of many) {
  test(`39.2: too many ${what} are refused at the first that is too many`, () => {
    assert.throws(() => finishNow(cborSteps(bytes, BODY_LIMITS)), { code: 413, message });
  });
}

test("39.2: the largest number of values and members is taken", () => {
  const take = (value: JsonValue) =>
    assert.deepEqual(finishNow(cborSteps(encodeCbor(value), BODY_LIMITS)), value);
  take(Array.from({ length: BODY_LIMITS.values - 2 }, () => 1));
  take(Object.fromEntries(Array.from({ length: BODY_LIMITS.members }, (_, at) => [`k${at}`, at])));
});

test("39.3: a large value is read in steps of a thousand values", () => {
  const steps = cborSteps(encodeCbor(Array.from({ length: 20_000 }, () => ({}))), BODY_LIMITS);
  let yields = 0;
  while (steps.next().done !== true) yields++;
  assert.equal(yields, 20);
});

test("a key that is repeated is shown in part", () => {
  const key = encodeCborItem("k".repeat(1_000_000));
  const twice = Buffer.concat([hex("bf"), key, hex("01"), key, hex("01 ff")]);
  assert.throws(
    () => parseCbor(twice),
    (error: Error) => error.message.length < 10_000,
  );
});

test("39.3: a large value in pieces is the same bytes as at once", () => {
  const many = (count: number): JsonValue[] =>
    Array.from({ length: count }, (_, at) => ({ [`k${at}`]: at, __proto: null, l: [] }));
  const map = (count: number): JsonValue =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, "v"]));
  const sizes = [0, 23, 24, 255, 256, 300, 65_535, 65_536];
  const values: JsonValue[] = [...sizes.map(many), ...sizes.map(map), many(70), { a: [map(70)] }];
  for (const value of values) {
    const pieces = [...cborPieces(value)];
    assert.ok(Buffer.concat(pieces).equals(encodeCborItem(value)));
    assert.ok(pieces.every(({ length }) => length < 4_000));
  }
  fc.assert(
    fc.property(fc.array(json, { minLength: 30 }), (list) => {
      assert.ok(Buffer.concat([...cborPieces(list)]).equals(encodeCborItem(list)));
    }),
  );
});
