import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import { isWrittenNumber } from "../api/written-number.js";
import { JSON_DEPTH_MAX, JsonSyntaxError, parseExactly } from "../schema/json-parser.js";
import { parseJson, parseLong, parseWritten } from "../schema/parse-json.js";
import { duplicateKeySteps, findDuplicateKeys, stringifyJson } from "./json.js";

const duplicatesOf = (text: string) => findDuplicateKeys(text, parseJson(text));

function failureOf(text: string): { message: string; offset: number } {
  try {
    parseJson(text);
  } catch (error) {
    assert(error instanceof JsonSyntaxError);
    return { message: error.message, offset: error.offset };
  }
  throw new Error(`${text} was parsed`);
}

test("S1-VER-09: integers beyond 2^53 survive a round trip digit by digit", () => {
  for (const digits of ["9223372036854775807", "-9223372036854775808", "9007199254740993"]) {
    const text = `{"a":${digits},"b":[${digits}]}`;
    assert.deepEqual(parseJson(text), { a: BigInt(digits), b: [BigInt(digits)] });
    assert.equal(stringifyJson(parseJson(text)), text);
  }
});

test("D11: beyond 64 bits an integer is a double, as in kube-apiserver", () => {
  for (const digits of ["9223372036854775808", "-9223372036854775809", "12345678901234567890"]) {
    const text = `{"a":${digits}}`;
    assert.deepEqual(parseJson(text), { a: Number(digits) });
    for (const written of [parseWritten(text), finishNow(parseLong(text, true)).value]) {
      const { a } = written as { a: JsonValue };
      assert.equal(isWrittenNumber(a) && a.text, digits);
    }
  }
});

test("S1-VER-09: safe integers and other numbers are plain numbers", () => {
  const text =
    '[9007199254740991,-9007199254740991,1.5,1234567890123456789e-1,"12345678901234567"]';
  const tokens = [
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
    1.5,
    Number("1234567890123456789e-1"),
  ];
  assert.deepEqual(parseJson(text), [...tokens, "12345678901234567"]);
});

test("a number beyond a double is refused, wherever it stands", () => {
  for (const number of ["1e400", "-1e400", "1.5e999", "9".repeat(400)]) {
    assert.throws(() => parseJson(`{"a":[${number}]}`), JsonSyntaxError, number);
  }
});

test("malformed text is named with its offset", () => {
  assert.deepEqual(failureOf("{"), { message: "unexpected end of JSON input", offset: 1 });
  assert.deepEqual(failureOf(""), { message: "unexpected end of JSON input", offset: 0 });
  assert.deepEqual(failureOf('{"a":1,}'), {
    message: "invalid character '}' looking for beginning of object key string",
    offset: 7,
  });
  assert.deepEqual(failureOf("[1 2]"), {
    message: "invalid character '2' after array element",
    offset: 3,
  });
  assert.deepEqual(failureOf("{}x"), {
    message: "invalid character 'x' after top-level value",
    offset: 2,
  });
  assert.deepEqual(failureOf('["\\x"]'), {
    message: "invalid character 'x' in string escape code",
    offset: 3,
  });
  assert.deepEqual(failureOf('["a\nb"]'), {
    message: "invalid character '\\n' in string literal",
    offset: 3,
  });
});

test("an integer of a million digits is an error that costs nothing", () => {
  const message = "number out of range";
  assert.deepEqual(failureOf(`{"a":-${"9".repeat(1_000_000)}}`), { message, offset: 5 });
});

test("nesting beyond the bound is an error, at any depth, and never a crash", () => {
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  assert.equal(stringifyJson(parseJson(nested(JSON_DEPTH_MAX))), nested(JSON_DEPTH_MAX));
  for (const depth of [JSON_DEPTH_MAX + 1, 10_000, 1_000_000]) {
    assert.equal(failureOf(nested(depth)).message, "exceeded max depth");
    assert.equal(failureOf('{"a":'.repeat(depth)).message, "exceeded max depth");
  }
  const wide = `[${Array(5000).fill('{"a":[]}').join(",")}]`;
  assert.equal(stringifyJson(parseJson(wide)), wide);
});

test("a key __proto__ is an ordinary key and changes no prototype", () => {
  for (const text of ['{"__proto__":{"x":1}}', '{"__proto__":{"x":1},"n":9007199254740993}']) {
    const value = parseJson(text) as JsonObject;
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal((value as { x?: unknown }).x, undefined);
    assert.equal(stringifyJson(value), text);
  }
});

test("text is escaped as Go's encoder does", () => {
  assert.equal(
    stringifyJson({ "<k>": "a&b\u2028\u2029\n" }),
    '{"\\u003ck\\u003e":"a\\u0026b\\u2028\\u2029\\n"}',
  );
  assert.equal(stringifyJson("<"), '"\\u003c"');
  assert.equal(stringifyJson([1n, "<", null, true]), '[1,"\\u003c",null,true]');
});

test("S1-FV-04: duplicate keys are found by path, each once", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["{}", []],
    ["[1,2]", []],
    ['{"a":{"b":1},"b":1}', []],
    ['{"a":1,"a":2,"a":3}', ["a"]],
    ['{"metadata":{"labels":{"app":"x","app":"y"}}}', ["metadata.labels.app"]],
    ['{"spec":{"c":[{"n":1},{"n":1,"n" : 2}]}}', ["spec.c[1].n"]],
    ['{"spec":{"c":[[0],[{"n":1,"n":2}]]}}', ["spec.c[1][0].n"]],
    ['{"s":"\\"a\\":1,\\"a\\":2","t":"\\"s\\":"}', []],
    ['{"a\\\\":1,"b":1,"b":2}', ["b"]],
    ['{"a":1,"\\u0061":2}', ["a"]],
    ['{"s":"x\\":1","s":"y"}', ["s"]],
  ];
  for (const [text, expected] of cases) assert.deepEqual(duplicatesOf(text), expected, text);
});

/** Values with big integers and unusual keys. */
const wildValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
    fc.string({ unit: "binary" }),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("__proto__", 'a"', "a\\", "<", ":")),
      tie("value"),
      { maxKeys: 4, noNullPrototype: true },
    ),
  ),
})).value;

/** Doubles that look like integers beyond 2^53 are read back as bigint, their exact value. */
function asRead(value: JsonValue): JsonValue {
  if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    const isWhole = !/e/.test(String(value)) && Math.abs(value) < 2 ** 63;
    return isWhole ? BigInt(String(value)) : value;
  }
  if (Array.isArray(value)) return value.map(asRead);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, asRead(v ?? null)]));
}

test("S1-VER-09: any value survives stringify and parse, by either parser", () => {
  fc.assert(
    fc.property(wildValue, (value) => {
      const text = stringifyJson(value);
      assert.deepEqual(parseJson(text), asRead(value));
      assert.deepEqual(parseExactly(text), asRead(value));
      assert.equal(/[<>&\u2028\u2029]/.test(text), false);
      assert.deepEqual(findDuplicateKeys(text, value), []);
    }),
  );
});

test("the two parsers accept the same texts, and nothing else than JsonSyntaxError is thrown", () => {
  const snippet = fc.constantFrom(
    ..."{}[]:,",
    '"a"',
    "1",
    "-",
    "01",
    ".5",
    "1e5",
    "true",
    "nul",
    '"\\u00e"',
    " ",
    '"\\',
  );
  fc.assert(
    fc.property(fc.array(snippet, { maxLength: 12 }), (parts) => {
      const text = parts.join("");
      let expected: JsonValue | undefined;
      try {
        expected = JSON.parse(text) as JsonValue;
      } catch {
        assert.throws(() => parseExactly(text), JsonSyntaxError);
        assert.throws(() => parseJson(text), JsonSyntaxError);
        return;
      }
      // No snippet is a null, so it stands for a number beyond a double, which is refused.
      const isBeyond = JSON.stringify(expected).includes("null");
      if (isBeyond) assert.throws(() => parseExactly(text), JsonSyntaxError);
      else assert.deepEqual(parseExactly(text), expected);
    }),
    { numRuns: 2000 },
  );
});

test("S1-FV-04: a key added twice is always found", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), wildValue, { minKeys: 1 }), (object) => {
      const key = Object.keys(object)[0] ?? "";
      const text = `${stringifyJson(object).slice(0, -1)},${stringifyJson(key)}:0}`;
      assert.deepEqual(findDuplicateKeys(text, parseJson(text)), [key]);
      assert.equal(finishNow(parseLong(text, false)).repeatsKeys, true);
      assert.deepEqual(finishNow(duplicateKeySteps(text)), [key]);
    }),
  );
});

test("S1-META-01: half characters become U+FFFD, in values and in keys, as they cannot be stored", () => {
  const text = '{"\\ud800":["\\udc00x","\\ud83d\\ude00",{"__proto__":"\\uDFFF"}]}';
  const value = parseJson(text);
  assert.equal(stringifyJson(value), '{"\ufffd":["\ufffdx","\u{1f600}",{"__proto__":"\ufffd"}]}');
});
