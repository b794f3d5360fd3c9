/** YAML from clients, and refused YAML. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Alias, parse, stringify } from "yaml";
import type { JsonValue } from "../api/meta.js";
import { parseJson } from "../schema/parse-json.js";
import { parseYaml, YamlSyntaxError } from "./yaml.js";

function valueIn(text: string): JsonValue {
  return parseYaml(text).value;
}

test("S1-NEG-02: scalars mean what they mean to clients of kube-apiserver", () => {
  const cases: readonly (readonly [string, JsonValue])[] = [
    ["", null],
    ["~", null],
    ["a: yes\nb: off\nc: 'yes'", { a: true, b: false, c: "yes" }],
    ["a: 0644\nb: 0x10\nc: 1_000", { a: 420, b: 16, c: 1000 }],
    ["a: 9007199254740993\nb: 1", { a: 9007199254740993n, b: 1 }],
    ["a: 1.5\nb: 1e3", { a: 1.5, b: 1000 }],
    // D11: a float without a fraction is an integer, and an integer beyond 64 bits is a float.
    ["[1e18, 1234567890123456789.0, 1e19]", [10n ** 18n, 1234567890123456800n, 1e19]],
    // In JSON, which it becomes, an integer beyond 64 bits with a sign is a float.
    ["[9223372036854775807, 18446744073709551615]", [2n ** 63n - 1n, 2 ** 64]],
    ["[-9223372036854775808, -9223372036854775809]", [-(2n ** 63n), -(2 ** 63)]],
    ["a: 2024-05-01\nb: 2024-05-01T10:20:30Z", { a: "2024-05-01", b: "2024-05-01T10:20:30Z" }],
    ["1: a\ntrue: b", { "1": "a", true: "b" }],
    ["a: |\n  x\n  y\nb: >\n  x\n  y", { a: "x\ny\n", b: "x y\n" }],
    ['{"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
    ["a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}", { a: { b: 1 }, c: { b: 1 }, d: { b: 1, e: 2 } }],
    ["---\na: 1\n...", { a: 1 }],
    ["a: E1\nb: 22:22\nc: 1:30:00", { a: "E1", b: "22:22", c: "1:30:00" }],
    ['"<<": {b: 1}', { "<<": { b: 1 } }],
    // R11: prefixes of YAML 1.1 and 1.2 in either case, with signs and underscores.
    ["[0o17, 0O17, -0o1_7, +0B11, 0X1f, 0b12, 0xg]", [15, 15, -15, 3, 31, "0b12", "0xg"]],
    ["!!str 0x10", "0x10"],
    [
      "[!!float 1, !!float '1.5', !!float 0x10, !!float 1_000, !!float 1e3]",
      [1, 1.5, 16, 1000, 1000],
    ],
    [
      "[!!int '7', !!int 0x10, !!bool 'yes', !!null ~, !!str, !!foo 1]",
      [7, 16, true, null, "", "1"],
    ],
    ["[!!binary aGk=, !!binary /w==, !!timestamp 2020-01-01]", ["hi", "\ufffd", "2020-01-01"]],
    ["a: !!binary |\n  aG\n  k=", { a: "hi" }],
    ["[!foo 1, ! 1, !!set {a}, !!str [1]]", ["1", "1", { a: null }, [1]]],
  ];
  for (const [text, value] of cases) assert.deepEqual(valueIn(text), value, text);
});

test("S1-FV-04: the last of several equal keys counts, and each is named", () => {
  const { value, duplicateFields } = parseYaml(
    "a: 1\nspec:\n  c:\n  - x: 1\n    x: 2\n  c2: 1\na: 2\na: 3\n",
  );
  assert.deepEqual(value, { a: 3, spec: { c: [{ x: 2 }], c2: 1 } });
  assert.deepEqual([...duplicateFields].toSorted(), ["a", "spec.c[0].x"]);
});

test("CVE-2019-11253, CVE-2019-11254: what is no YAML, or more than JSON can say, is refused in one line", () => {
  const bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
  for (let i = 0; i < 8; i++) {
    const [from, to] = [String.fromCharCode(97 + i), String.fromCharCode(98 + i)];
    bomb.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(", ")}]`);
  }
  const texts = [
    "a: [",
    "a: b: c",
    "\ta: 1",
    "a: 1\n---\nb: 2",
    "a: .nan",
    "a: -.inf",
    "a: -1e400",
    "a: +.5e999",
    `a: ${"9".repeat(400)}`,
    `a: 0x${"f".repeat(300)}`,
    "a: *none",
    "a: !!float x",
    "a: !!float",
    "a: !!float 18446744073709551615",
    "a: !!float .inf",
    "a: !!int 1.5",
    "a: !!int 1e3",
    "a: !!bool 1",
    "a: !!null x",
    "a: !!timestamp x",
    "a: !!binary aGk",
    "a: !!binary 5",
    "? [a]\n: b",
    "a: {<<: 1}",
    "[".repeat(20_000),
    "- ".repeat(20_000),
    Array.from({ length: 1_000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"),
    "? ".repeat(20_000),
    `a: ${"{a: ".repeat(20_000)}`,
    "a: 1e999",
    "a: &a [*a]",
    bomb.join("\n"),
  ];
  for (const text of texts) {
    assert.throws(() => parseYaml(text), YamlSyntaxError, text.slice(0, 40));
  }
});

test("H7: no alias is looked for in the document, however many there are, as list items, values or merged maps", () => {
  const resolve = Alias.prototype.resolve;
  Alias.prototype.resolve = () => assert.fail("the library looks through the whole document");
  try {
    const aliases = Array.from({ length: 500 }, (_, at) => `k${at}: {<<: *a, z: [*a]}`);
    const read = valueIn(["a: &a {x: v}", ...aliases].join("\n")) as Record<string, unknown>;
    assert.deepEqual(read.k499, { x: "v", z: [{ x: "v" }] });
    assert.throws(() => parseYaml(bomb(12)), /aliases stand for too much/);
  } finally {
    Alias.prototype.resolve = resolve;
  }
});

/** Each level stands for twice what the one before it stands for. */
function bomb(levels: number): string {
  const lines = ["z0: &z0 [x]"];
  for (let at = 1; at <= levels; at++) lines.push(`z${at}: &z${at} [*z${at - 1}, *z${at - 1}]`);
  return lines.join("\n");
}

test("an alias stands for the last anchor of its name before it, also when it is read again through another one", () => {
  const text = "a: &x {b: &y 1, c: *y}\nd: &y 2\ne: *x\nf: *y\ng: [&x 3, *x]\nh: *x";
  const inner = { b: 1, c: 1 };
  const value = { a: inner, d: 2, e: inner, f: 2, g: [3, 3], h: 3 };
  assert.deepEqual(valueIn(text), value);
  assert.deepEqual(parse(text, { version: "1.1" }), value);
  assert.throws(() => parseYaml("a: *x\nb: &x 1"), /unknown anchor x/);
});

test("a key that JavaScript takes for something else is a key like any other", () => {
  const value = valueIn("__proto__: {a: 1}\nconstructor: 2") as Record<string, unknown>;
  assert.deepEqual(Object.keys(value), ["__proto__", "constructor"]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test("S1-NEG-02: what is written as YAML is read back", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify(value);
      const plain = parseJson(text);
      assert.deepEqual(valueIn(stringify(plain, { version: "1.1" })), plain);
      assert.deepEqual(valueIn(text), plain);
    }),
  );
});

test("no text does anything else than to be taken or refused", () => {
  const piece = fc.constantFrom(
    "a",
    ": ",
    "- ",
    "\n",
    "  ",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "!!set ",
    "'",
    '"',
    "|",
    "#",
    "<<",
    "1",
    ",",
    "? ",
    "%",
    "\t",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      try {
        parseYaml(pieces.join(""));
      } catch (error) {
        assert.ok(error instanceof YamlSyntaxError, String(error));
      }
    }),
    { numRuns: 2_000 },
  );
});
