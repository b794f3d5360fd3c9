/** Selectors: grammar tables, refusals, and agreement with a naive evaluator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { collectProblems, Problems } from "./problems.js";
import { SELECTOR_CHARS_MAX, SELECTOR_TERMS_MAX, SELECTOR_VALUES_MAX } from "./selector-rules.js";
import { compileSelector, type SelectableObject } from "./selectors.js";
import { StatusError } from "./status.js";
import { validateLabelSelector } from "./validation-selectors.js";

function object(labels: Record<string, string>, fields: Record<string, string> = {}) {
  return { namespace: "default", name: "web", labels, fields } satisfies SelectableObject;
}

function matches(labelSelector: string, labels: Record<string, string>): boolean {
  return compileSelector({ namespace: "", labelSelector }).matches(object(labels));
}

test("S1-PATH-14: label selectors by operator", () => {
  const labels = { app: "web", tier: "front", empty: "", n: "7", in: "in" };
  const table: [string, boolean][] = [
    ["app=web", true],
    ["app==web", true],
    ["app=db", false],
    ["app!=web", false],
    ["app!=db", true],
    ["missing!=x", true],
    ["app in (web, db)", true],
    ["app in (db)", false],
    ["app notin (db)", true],
    ["missing notin (db)", true],
    ["app notin (web,db)", false],
    ["app", true],
    ["!app", false],
    ["!missing", true],
    ["missing", false],
    ["empty=", true],
    ["empty", true],
    ["empty in ()", true],
    ["app in (,web)", true],
    ["app=web,tier=front", true],
    ["app=web,tier=back", false],
    ["n>6", true],
    ["n<9223372036854775807", true],
    ["n > 7", false],
    ["n<8", true],
    ["app>1", false],
    ["in in (in)", true],
    [" app = web , tier ", true],
    ["", true],
    ["constructor", false],
    ["a!=1,b!=1,c!=1,d!=1,e!=1,app", true],
    ["a!=1,b!=1,c!=1,d!=1,e!=1,app!=web", false],
    ["a!=1,b!=1,c!=1,d!=1,e!=1,!app", false],
    ["app!=a,!app,app!=b", false],
    ["app in (web,db),app in (web,x)", true],
    ["app in (web,db),app in (db,x)", false],
    ["n>1,n>6,n<8,n<9", true],
    ["n>1,n>7,n<8,n<9", false],
  ];
  for (const [selector, expected] of table) {
    assert.equal(matches(selector, labels), expected, selector);
  }
});

test("S1-PATH-14: bad label selectors are 400 and say what was found", () => {
  const table: [string, RegExp][] = [
    ["app=web,", /found '', expected: identifier after ','/],
    [",app", /found ',', expected: !, identifier, or 'end of string'/],
    ["app in web", /found 'web' expected: '\('/],
    ["app in (web", /expected: ',' or '\)'/],
    ["app=web db", /^found 'db', expected: ',' or 'end of string'/],
    ["app like x", /found 'like', expected: in, notin, =, ==, !=, gt, lt/],
    ["-app=web", /name part must consist of/],
    ["app=-web", /a valid label must be an empty string or consist of/],
    ["app>x", /the value must be an integer/],
    ["app>9223372036854775808", /the value must be an integer/],
    ["!app=web", /expected: ',' or 'end of string'/],
    ["=web", /expected: !, identifier/],
  ];
  for (const [labelSelector, message] of table) {
    assert.throws(
      () => compileSelector({ namespace: "", labelSelector }),
      (error) => error instanceof StatusError && error.code === 400 && message.test(error.message),
      labelSelector,
    );
  }
});

test("S1-PATH-14: matching agrees with a naive evaluator", () => {
  const key = fc.constantFrom("a", "b", "c", "example.com/d");
  const value = fc.constantFrom("", "x", "y", "z-1");
  const term = fc.oneof(
    fc.record({ key, op: fc.constantFrom("=", "==", "!="), values: fc.tuple(value) }),
    fc.record({
      key,
      op: fc.constantFrom("in", "notin"),
      values: fc.array(value, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ key, op: fc.constantFrom("exists", "!"), values: fc.constant([]) }),
  );
  const print = ({
    key: k,
    op,
    values,
  }: {
    key: string;
    op: string;
    values: readonly string[];
  }) => {
    if (op === "exists") return k;
    if (op === "!") return `!${k}`;
    return op.endsWith("in") ? `${k} ${op} (${values.join(",")})` : `${k}${op}${values[0]}`;
  };
  const naive = (
    { key: k, op, values }: { key: string; op: string; values: readonly string[] },
    labels: Record<string, string>,
  ) => {
    const actual = labels[k];
    const isMember = actual !== undefined && values.includes(actual);
    if (op === "exists") return actual !== undefined;
    if (op === "!") return actual === undefined;
    return op === "!=" || op === "notin" ? !isMember : isMember;
  };
  const labels = fc.dictionary(key, value);
  fc.assert(
    fc.property(fc.array(term, { maxLength: 4 }), labels, (terms, given) => {
      const selector = terms.map(print).join(", ");
      assert.equal(
        matches(selector, given),
        terms.every((item) => naive(item, given)),
        selector,
      );
    }),
  );
});

test("H6: a selector that is larger than any use is 400, and its refusal is short", () => {
  const terms = (count: number, term: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => term(index)).join(",");
  const many = terms(SELECTOR_VALUES_MAX + 1, (i) => `v${i}`);
  const table: [string, object, RegExp][] = [
    ["labels", { labelSelector: terms(SELECTOR_TERMS_MAX + 1, (i) => `k${i}!=v`) }, /1000 requir/],
    ["keys", { labelSelector: terms(100_000, () => "!a") }, /1000 requirements/],
    ["values", { labelSelector: `a in (${many})` }, /10000 values/],
    ["commas", { labelSelector: `a in (${",".repeat(100_000)})` }, /10000 values/],
    ["fields", { fieldSelector: terms(1_001, (i) => `metadata.name!=v${i}`) }, /1000 requirements/],
    ["long key", { labelSelector: "a".repeat(100_000) }, /no more than 63 bytes/],
    ["long token", { labelSelector: `a b${"b".repeat(100_000)}` }, /found 'b+\.\.\.'/],
    ["long text", { labelSelector: "/".repeat(SELECTOR_CHARS_MAX + 1) }, /1048576 characters/],
    ["long field", { fieldSelector: "a".repeat(100_000) }, /can't understand/],
  ];
  for (const [name, options, message] of table) {
    assert.throws(
      () => compileSelector({ namespace: "", ...options }),
      (error) =>
        error instanceof StatusError &&
        error.code === 400 &&
        message.test(error.message) &&
        error.message.length < 20_000,
      name,
    );
  }
  const largest = terms(SELECTOR_TERMS_MAX, (index) => `k${index} notin (a,b)`);
  assert.equal(matches(largest, { k999: "c" }), true);
  assert.equal(matches(largest, { k999: "a" }), false);
});

test("H6: an object's selector that is larger than any use is one problem", () => {
  const values = Array.from({ length: SELECTOR_VALUES_MAX + 1 }, (_, index) => `v${index}`);
  const table = [
    { matchLabels: Object.fromEntries(values.map((value) => [`-${value}`, ""])) },
    { matchExpressions: values.map((key) => ({ key, operator: "?" })) },
    { matchExpressions: [{ key: "a", operator: "In", values }] },
  ];
  for (const selector of table) {
    const problems = collectProblems(() => {
      const errors = new Problems();
      validateLabelSelector(selector, "spec.selector", errors);
      return errors;
    });
    assert.equal(problems.length, 1);
    assert.match(problems[0]?.message ?? "", /a selector may have|values together/);
  }
});

test("S1-PATH-14, S1-PATH-15: no text makes the parsers fail otherwise than with 400", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc
      .array(fc.constantFrom("a", "in", "notin", "(", ")", ",", "=", "!", "<", " ", "\\"))
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, text, (labelSelector, fieldSelector) => {
      for (const options of [{ labelSelector }, { fieldSelector }]) {
        try {
          compileSelector({ namespace: "", ...options }).matches(object({ a: "b" }));
        } catch (error) {
          assert.ok(error instanceof StatusError && error.code === 400, String(error));
        }
      }
    }),
  );
});

test("S1-PATH-15: field selectors by operator, with escapes", () => {
  const subject = object({}, { "spec.nodeName": "n1", "status.phase": "a,b=c\\d" });
  const selectableFieldNames = ["spec.nodeName", "status.phase"];
  const table: [string, boolean][] = [
    ["metadata.name=web", true],
    ["metadata.name==web", true],
    ["metadata.name!=web", false],
    ["metadata.namespace=default", true],
    ["metadata.namespace!=default", false],
    ["spec.nodeName=n1", true],
    ["spec.nodeName!=n1", false],
    ["spec.nodeName=", false],
    ["status.phase=a\\,b\\=c\\\\d", true],
    ["spec.nodeName=n1,metadata.name=db", false],
    ["", true],
  ];
  for (const [fieldSelector, expected] of table) {
    const selector = compileSelector({ namespace: "", fieldSelector, selectableFieldNames });
    assert.equal(selector.matches(subject), expected, fieldSelector);
  }
});

test("S1-PATH-15: a field may have another name in selectors than on objects", () => {
  const selector = compileSelector({
    namespace: "",
    fieldSelector: "spec.host=n1",
    selectableFieldAliases: { "spec.host": "spec.nodeName" },
  });
  assert.equal(selector.matches(object({}, { "spec.nodeName": "n1" })), true);
  assert.deepEqual(selector.fixedFields, { "spec.nodeName": "n1" });
});

test("S1-PATH-15: a field that cannot be selected by is 400", () => {
  const table: [string, string][] = [
    [
      "spec.x=1",
      '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    ["abc", "invalid selector: 'abc'; can't understand 'abc'"],
    ["metadata.name=a\\x", "invalid field selector: invalid escape sequence in value: \\x"],
  ];
  for (const [fieldSelector, message] of table) {
    assert.throws(() => compileSelector({ namespace: "", fieldSelector }), { code: 400, message });
  }
  const message = "field label not supported: spec.x";
  assert.throws(
    () =>
      compileSelector({
        namespace: "",
        fieldSelector: "spec.x=1",
        selectableFieldNames: ["spec.nodeName"],
      }),
    { code: 400, message },
  );
});

test("a selector says what it fixes", () => {
  const selector = compileSelector({
    namespace: "",
    fieldSelector: "metadata.name=web,metadata.namespace=shop,spec.nodeName=n1",
    selectableFieldNames: ["spec.nodeName"],
  });
  assert.equal(selector.name, "web");
  assert.equal(selector.namespace, "shop");
  assert.deepEqual(selector.fixedFields, { "spec.nodeName": "n1" });
  assert.equal(compileSelector({ namespace: "" }).isEverything, true);
  assert.equal(compileSelector({ namespace: "shop" }).isEverything, false);
});
