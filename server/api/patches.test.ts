/** JSON Patch (RFC 6902) and JSON merge patch (RFC 7386): their examples, limits, and properties. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepEqual } from "./deep-equal.js";
import { applyJsonPatch, parseJsonPatch } from "./json-patch.js";
import { applyMergePatch } from "./merge-patch.js";
import type { JsonValue } from "./meta.js";

test("S1-PATCH-04: the examples of RFC 7386", () => {
  const table: [JsonValue, JsonValue, JsonValue][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 1 }, { a: [null, 2] }, { a: [null, 2] }],
  ];
  for (const [target, patch, expected] of table) {
    assert.deepEqual(applyMergePatch(target, patch), expected, JSON.stringify(patch));
  }
});

test("a merge patch leaves its target alone, and __proto__ is a name like any other", () => {
  const target = { a: { b: 1 } };
  applyMergePatch(target, { a: { b: 2 } });
  assert.deepEqual(target, { a: { b: 1 } });
  const patch = JSON.parse('{"__proto__": {"polluted": true}}') as JsonValue;
  const result = applyMergePatch({}, patch) as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(result), Object.prototype);
  assert.equal(JSON.stringify(result), '{"__proto__":{"polluted":true}}');
});

const run = (target: JsonValue, document: JsonValue) =>
  applyJsonPatch(target, parseJsonPatch(document));

test("S1-PATCH-02: the operations of RFC 6902", () => {
  const table: [JsonValue, JsonValue, JsonValue][] = [
    [{ foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { baz: "qux", foo: "bar" }],
    [
      { foo: ["bar", "baz"] },
      [{ op: "add", path: "/foo/1", value: "qux" }],
      { foo: ["bar", "qux", "baz"] },
    ],
    [{ baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
    [{ foo: ["a", "b", "c"] }, [{ op: "remove", path: "/foo/1" }], { foo: ["a", "c"] }],
    [{ baz: "qux" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo" }],
    [
      { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
      [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
      { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
    ],
    [
      { foo: ["all", "grass", "cows", "eat"] },
      [{ op: "move", from: "/foo/1", path: "/foo/3" }],
      { foo: ["all", "cows", "eat", "grass"] },
    ],
    [
      { baz: "qux", foo: ["a", 2, "c"] },
      [
        { op: "test", path: "/baz", value: "qux" },
        { op: "test", path: "/foo/1", value: 2 },
      ],
      { baz: "qux", foo: ["a", 2, "c"] },
    ],
    [{ foo: ["bar"] }, [{ op: "add", path: "/foo/-", value: ["x"] }], { foo: ["bar", ["x"]] }],
    [{ "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
    [
      { a: { b: 1 } },
      [
        { op: "copy", from: "/a", path: "/c" },
        { op: "replace", path: "/c/b", value: 2 },
      ],
      { a: { b: 1 }, c: { b: 2 } },
    ],
    [{ a: [null] }, [{ op: "test", path: "/a", value: [null] }], { a: [null] }],
    [{ a: 1 }, [{ op: "replace", path: "", value: { b: 2 } }], { b: 2 }],
    [{ a: 1 }, null, { a: 1 }],
    [{ a: 1 }, [{ op: "add", path: "/b" }], { a: 1, b: null }],
    [{ a: [1, 2] }, [{ op: "remove", path: "/a/01" }], { a: [1] }],
    [{ a: [1, 2] }, [{ op: "add", path: "/a/+1", value: 3 }], { a: [1, 3, 2] }],
  ];
  for (const [target, document, expected] of table) {
    const before = structuredClone(target);
    assert.deepEqual(run(target, document), expected, JSON.stringify(document));
    assert.deepEqual(target, before, "the target is left alone");
  }
});

test("S1-PATCH-02: a negative index counts from the end of the array as the operation leaves it", () => {
  const target = { a: [1, 2, 3] };
  const table: [JsonValue, JsonValue][] = [
    [{ op: "add", path: "/a/-1", value: 9 }, [1, 2, 3, 9]],
    [{ op: "add", path: "/a/-2", value: 9 }, [1, 2, 9, 3]],
    [{ op: "add", path: "/a/-4", value: 9 }, [9, 1, 2, 3]],
    [{ op: "remove", path: "/a/-1" }, [1, 2]],
    [{ op: "remove", path: "/a/-3" }, [2, 3]],
    [{ op: "replace", path: "/a/-1", value: 9 }, [1, 2, 9]],
    [{ op: "test", path: "/a/-2", value: 2 }, [1, 2, 3]],
    [{ op: "copy", from: "/a/-3", path: "/a/-1" }, [1, 2, 3, 1]],
    [{ op: "move", from: "/a/-3", path: "/a/-1" }, [2, 3, 1]],
  ];
  for (const [operation, a] of table) {
    assert.deepEqual(run(target, [operation]), { a }, JSON.stringify(operation));
  }
  const inner = { a: [{ b: 1 }, { b: 2 }] };
  const replace = { op: "replace", path: "/a/-1/b", value: 3 };
  assert.deepEqual(run(inner, [replace]), { a: [{ b: 1 }, { b: 3 }] });
});

test("R12: replace of a missing member adds it, and copy of one gives null, as in kube-apiserver", () => {
  assert.deepEqual(run({ a: 1 }, [{ op: "replace", path: "/b", value: 2 }]), { a: 1, b: 2 });
  assert.deepEqual(run({ a: 1 }, [{ op: "copy", from: "/b", path: "/c" }]), { a: 1, c: null });
});

test("CVE-2019-1002100: copies that double a value again and again end at a bound", () => {
  const copies = (count: number) =>
    Array.from({ length: count }, () => ({ op: "copy", from: "/list", path: "/list/-" }));
  const value = { list: ["x".repeat(1_000)] };
  run(value, copies(10));
  const refused = /the copies in a JSON patch may add up to \d+ bytes/;
  assert.throws(() => run(value, copies(16)), refused);
});

test("H2, CVE-2019-1002100: copies do not make later operations copy the whole, and moved items are bounded", () => {
  const list = Array.from({ length: 200_000 }, () => 1);
  const copies = Array.from({ length: 300 }, () => ({ op: "copy", from: "/x", path: "/list/-" }));
  const patched = run({}, [
    { op: "add", path: "/list", value: list },
    { op: "add", path: "/x", value: { y: 1 } },
    ...copies,
    { op: "replace", path: "/list/200000/y", value: 2 },
  ]) as { x: JsonValue; list: JsonValue[] };
  assert.deepEqual(patched.x, { y: 1 });
  assert.deepEqual(patched.list.slice(199_999, 200_002), [1, { y: 2 }, { y: 1 }]);
  const inserts = Array.from({ length: 9_000 }, () => ({ op: "add", path: "/list/0", value: 1 }));
  assert.throws(() => run({ list }, inserts), { code: 413 });
});

test("H2: a pointer of a million steps or letters costs, and shows, what a value can have of it", () => {
  const paths = [
    "/a".repeat(1_000_000),
    `/${"a".repeat(1_000_000)}`,
    `/a/${"b".repeat(1_000_000)}`,
  ];
  for (const path of paths) {
    for (const op of ["add", "remove", "move", "copy"]) {
      const operation = { op, path, from: path, value: 1 };
      assert.throws(
        () => run({ a: [] }, [operation, { op: "test", path: "/a", value: 1 }]),
        ({ code, message }: { readonly code?: number; readonly message: string }) =>
          code === 422 && message.length < 4_096,
      );
    }
  }
});

test("S1-PATCH-03: an operation that does not fit is 422 and changes nothing", () => {
  const table: [JsonValue, JsonValue][] = [
    [{ a: 1 }, [{ op: "test", path: "/a", value: 2 }]],
    [{ a: 1 }, [{ op: "remove", path: "/b" }]],
    [{ a: [1] }, [{ op: "replace", path: "/a/1", value: 1 }]],
    [{ a: 1 }, [{ op: "copy", from: "/b/c", path: "/d" }]],
    [{ a: 1 }, [{ op: "add", path: "/b/c", value: 1 }]],
    [{ a: [] }, [{ op: "add", path: "/a/1", value: 1 }]],
    [{ a: [1] }, [{ op: "remove", path: "/a/1.0" }]],
    [{ a: 1 }, [null]],
    [{ a: 1 }, [{ op: "add", path: "", value: {} }]],
    [{ a: 1 }, [{ op: "remove", path: "" }]],
    [{ a: 1 }, [{ op: "copy", from: "", path: "/b" }]],
    [{ a: 1 }, [{ op: "copy", from: "/a", path: "" }]],
    [{ a: 1 }, [{ op: "move", from: "", path: "/b" }]],
    [{ a: 1 }, [{ op: "move", from: "/a", path: "" }]],
    [{ a: 1 }, [{ op: "test", path: "/a" }]],
    [{ a: 1 }, [{ op: "add", path: "/a/b", value: 1 }]],
    [{ a: { b: 1 } }, [{ op: "move", from: "/a", path: "/a/b/c" }]],
    [{}, [{ op: "remove", path: "/constructor" }]],
    [{ a: [1] }, [{ op: "add", path: "/a/-3", value: 1 }]],
    [{ a: [1] }, [{ op: "remove", path: "/a/-2" }]],
    [{ a: [1] }, [{ op: "replace", path: "/a/-2", value: 1 }]],
    [{ a: [1] }, [{ op: "test", path: "/a/-2", value: 1 }]],
    [{ a: [1] }, [{ op: "remove", path: "/a/-" }]],
    [{ a: 1 }, [{ op: "jump", path: "/a" }]],
    [{ a: 1 }, [{ path: "/a" }]],
    [{ a: 1 }, [{ op: "remove" }]],
    [{ a: 1 }, [{ op: "move", path: "/a" }]],
    [{ a: 1 }, [{ op: "add", path: "a", value: 1 }]],
    [{ a: 1 }, [{ op: "remove", path: "/a~2" }]],
  ];
  for (const [target, document] of table) {
    assert.throws(() => run(target, document), { code: 422 }, JSON.stringify(document));
  }
});

test("S1-PATCH-10, S1-PATCH-11: malformed documents are 400, too long ones 413, too much copying 422", () => {
  const malformed: JsonValue[] = [
    {},
    [1],
    [{ op: 1, path: "/a" }],
    [{ op: "remove", path: ["a"] }],
    [{ op: "move", path: "/a", from: {} }],
  ];
  for (const document of malformed) {
    assert.throws(() => parseJsonPatch(document), { code: 400 }, JSON.stringify(document));
  }
  const many = Array.from({ length: 10_001 }, () => ({ op: "remove", path: "/a" }));
  assert.throws(() => parseJsonPatch(many), { code: 413 });
  const doubling = Array.from({ length: 40 }, (_, i) => ({
    op: "copy",
    from: "/a",
    path: `/a/x${i}`,
  }));
  assert.throws(() => run({ a: { b: "a".repeat(1000) } }, doubling), { code: 422 });
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>;

test("whatever the document, a JSON patch ends with a value or a Status", () => {
  const pointer = fc
    .array(fc.constantFrom("a", "b", "0", "1", "-", "~0", ""), { maxLength: 3 })
    .map((tokens) => tokens.map((token) => `/${token}`).join(""));
  const operation = fc.record({
    op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
    path: pointer,
    from: pointer,
    value: json,
  });
  fc.assert(
    fc.property(json, fc.array(operation, { maxLength: 6 }), (target, document) => {
      const before = JSON.stringify(target);
      try {
        run(target, document as JsonValue);
      } catch (error) {
        assert.ok([400, 422].includes((error as { code: number }).code), String(error));
      }
      assert.equal(JSON.stringify(target), before);
    }),
  );
});

test("replacing a value by itself changes nothing; deepEqual is JSON equality", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), json), (target) => {
      const document = Object.entries(target).map(([key, value]) => ({
        op: "replace",
        path: `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        value,
      }));
      assert.ok(deepEqual(run(target, document), target));
    }),
  );
  assert.ok(deepEqual({ a: undefined, b: [1n] }, { b: [1n] }));
  assert.ok(!deepEqual([1, 2], [2, 1]));
  assert.ok(!deepEqual({ a: null }, {}));
});
