/** The text made in pieces is the library's text of the whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Document, parse, Scalar, type Tags, visit } from "yaml";
import { compareTexts } from "../../../storage/base/compare-texts.js";
import type { JsonValue } from "../../api/meta.js";
import { yamlPieces } from "./yaml-text.js";

const keyText = (key: unknown) => String(key instanceof Scalar ? key.value : key);

/** What the library says of the whole. */
function libraryText(value: JsonValue): string {
  const document = new Document(value, {
    version: "1.1",
    compat: "core",
    customTags: (tags: Tags) =>
      tags.filter((tag) => {
        const name = typeof tag === "string" ? tag : tag.tag;
        return name !== "merge" && name !== "tag:yaml.org,2002:merge";
      }),
    aliasDuplicateObjects: false,
    sortMapEntries: ({ key: a }, { key: b }) => compareTexts(keyText(a), keyText(b)),
  });
  visit(document, {
    Scalar(_, scalar) {
      if (scalar.value === "<<") scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString({
    lineWidth: 0,
    directives: false,
    indentSeq: false,
    doubleQuotedAsJSON: true,
  });
}

/** Each is a text of its own. */
const WORDS = [
  "y n yes No on off true False null Null ~ 0 -0 0644 0o7 0x1F 0b1 1_000 1:20 1.5 .5 1e3 E1 e-12345 .inf -.INF .NaN",
  "<< - ? : -- --- ... %YAML # #a a#b a:b a: -a ?a &a *a !a |a >a @a `a % , [a ]a {a }a key value abcdef it's ' '\" \"a",
  "2026-01-01 2026-01-01T00:00:00Z true-ish nullable infinity a/b.c-d_e Yes-men e12345678 \ufffd 😀 \x7f \ufeff \0 \x01\x1b",
]
  .flatMap((line) => line.split(" "))
  .concat([
    "",
    " ",
    "a ",
    " a",
    "a b",
    "a #b",
    "a: b",
    "- a",
    "? a",
    "\t",
    "a\tb",
    "\ta",
    "a\t",
    "\x85",
  ])
  .concat([
    "\n",
    "a\n",
    "\na",
    "a\nb",
    "a\n\n",
    "\n\na",
    "a \nb",
    "a\n b",
    " a\nb",
    "a\n ",
    "a\n\n b\n",
  ])
  .concat([
    "\n ",
    " \n",
    "\ta\nb",
    "a\n---\nb",
    "---\na",
    "%a\nb",
    "a\r\nb",
    "\u2028\u2029\xa0",
    "a😀\nb",
  ]);
/** Many lines that the library quotes when they hold what no line may hold. */
const LONG = fc
  .tuple(fc.constantFrom(...WORDS), fc.integer({ min: 1, max: 60 }))
  .map(([word, times]) => word.repeat(times));
const CHARS = fc.string({
  unit: fc.constantFrom(..."ab \n\t:#-'\"\\[{,😀\x01".split(/(?:)/u)),
  maxLength: 60,
});
const TEXT = fc.oneof(fc.constantFrom(...WORDS), LONG, CHARS, fc.string({ unit: "binary" }));
const KEY = fc.oneof(
  TEXT,
  fc.constantFrom(
    "__proto__",
    "constructor",
    "k".repeat(1_024),
    "k".repeat(1_025),
    "k ".repeat(513),
  ),
);
const LEAF = fc.oneof(
  TEXT,
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1e21, 1e-7, {}, []),
);

const { value: VALUE } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    LEAF,
    fc.array(tie("value"), { maxLength: 5 }),
    fc
      .array(fc.tuple(KEY, tie("value")), { maxLength: 5 })
      .map((members) => Object.fromEntries(members)),
  ),
}));

const textOf = (value: JsonValue) => [...yamlPieces(value)].join("");

/** Some readers take what the library leaves as it is for the end of a line. */
const UNSAFE = /[\x7f-\x9f\u2028\u2029\ufeff]/;
/** Not all that the library writes in lines reads back. */
const isReadable = (text: string) =>
  !UNSAFE.test(text) && !(/^\s/.test(text) && text.includes("\n"));

function areReadable(value: JsonValue | undefined): boolean {
  if (typeof value === "string") return isReadable(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, member]) => isReadable(key) && areReadable(member));
}

test("39.3, S1-NEG-02: pieces of YAML are together what the library says of the whole", () => {
  fc.assert(
    fc.property(VALUE.filter(areReadable), (value) =>
      assert.equal(textOf(value), libraryText(value)),
    ),
    { numRuns: 3_000 },
  );
});

for (const version of ["1.1", "1.2"] as const) {
  test(`S1-NEG-02: hostile keys and texts read back with YAML ${version}`, () => {
    fc.assert(
      fc.property(VALUE, (value) => {
        const back: unknown = parse(textOf(value), { version, merge: false, intAsBigInt: true });
        assert.deepEqual(plain(back), plain(value));
        assert.doesNotMatch(textOf(value), UNSAFE);
      }),
      { numRuns: 2_000 },
    );
  });
}

/** Without the difference between integers of both types, and between zeros. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint" || typeof value === "number") return String(Number(value));
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

test("39.3, S1-NEG-02: each hostile text is the library's, as key, member, item and alone", () => {
  for (const word of WORDS.filter(isReadable)) {
    for (const value of [{ [word]: word }, [word, [word]], { a: { [word]: [word] } }, word]) {
      assert.equal(textOf(value), libraryText(value), JSON.stringify(value));
    }
  }
});

test("39.3, S1-NEG-02: the text of many members comes in pieces, in the order of the keys", () => {
  const members = Array.from({ length: 5_001 }, (_, at) => [
    `key-${(at * 7_919) % 5_001}`,
    `${at}`,
  ]);
  const value = {
    data: Object.fromEntries(members),
    list: members,
    text: "line\n".repeat(100_000),
  };
  const pieces = [...yamlPieces(value)];
  assert.equal(pieces.join(""), libraryText(value));
  const longest = Math.max(...pieces.map(({ length }) => length));
  assert.ok(pieces.length > 20 && longest < 720_000, `${pieces.length} pieces up to ${longest}`);
});
