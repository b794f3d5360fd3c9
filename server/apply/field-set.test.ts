/** Field sets: form, order and operations, compared with sets of plain paths. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import type { JsonObject, JsonValue } from "../api/meta.js";
import {
  canonicalInSteps,
  containsSet,
  countFields,
  EMPTY,
  equalSets,
  type FieldSet,
  type FieldSetBuilder,
  intersectInSteps,
  isEmptySet,
  parseFields,
  setOfPaths,
  subtractInSteps,
  subtractTrees,
  unionInSteps,
  visitPaths,
} from "./field-set.js";
import { canonicalElement, compareElements, describePath, sortElements } from "./path-element.js";

type Path = readonly string[];

const canonicalSet = (set: FieldSet) => finishNow(canonicalInSteps(set));
const parseNow = (value: JsonValue | undefined) => finishNow(parseFields(value));
const subtractSets = (a: FieldSet, b: FieldSet) => finishNow(subtractInSteps(a, b));
const unionSets = (a: FieldSet, b: FieldSet) => finishNow(unionInSteps(a, b));

const element = fc.constantFrom("f:a", "f:b", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"x"', "v:1");
const path = fc.array(element, { minLength: 1, maxLength: 3 });
const paths = fc.array(path, { maxLength: 8 });

const textOf = (path: Path) => JSON.stringify(path);
const textsOf = (list: readonly Path[]) => [...new Set(list.map(textOf))].sort();

function membersOf(set: FieldSet): string[] {
  const members: string[] = [];
  visitPaths(set, (path) => members.push(textOf(path)) > 0);
  assert.equal(countFields(set), members.length);
  assert.equal(new Set(members).size, members.length, "each once");
  return members.sort();
}

test("S1-SSA-09: operations on sets are those on their paths", () => {
  fc.assert(
    fc.property(paths, paths, (a, b) => {
      const [setA, setB] = [setOfPaths(a), setOfPaths(b)];
      const [textsA, textsB] = [textsOf(a), textsOf(b)];
      const isIn = (texts: readonly string[]) => (text: string) => texts.includes(text);
      const isBelow = (text: string) =>
        b.some(
          (other) => textOf((JSON.parse(text) as Path).slice(0, other.length)) === textOf(other),
        );
      assert.deepEqual(membersOf(setA), textsA);
      assert.deepEqual(membersOf(unionSets(setA, setB)), textsOf([...a, ...b]));
      assert.deepEqual(
        membersOf(finishNow(intersectInSteps(setA, setB))),
        textsA.filter(isIn(textsB)),
      );
      assert.deepEqual(
        membersOf(subtractSets(setA, setB)),
        textsA.filter((text) => !isIn(textsB)(text)),
      );
      assert.deepEqual(
        membersOf(subtractTrees(setA, setB)),
        textsA.filter((text) => !isBelow(text)),
      );
      assert.equal(finishNow(containsSet(setA, setB)), textsB.every(isIn(textsA)));
      assert.equal(finishNow(equalSets(setA, setB)), textOf(textsA) === textOf(textsB));
      assert.equal(isEmptySet(subtractSets(setA, setA)), true);
    }),
    { numRuns: 1000 },
  );
});

test("operations that change nothing give their operand back, none changes it", () => {
  fc.assert(
    fc.property(paths, paths, (a, b) => {
      const [setA, setB] = [setOfPaths(a), setOfPaths(b)];
      const before = JSON.stringify([setA, setB]);
      const union = unionSets(setA, setB);
      assert.equal(unionSets(union, setB), union);
      assert.equal(subtractSets(setA, EMPTY), setA);
      const rest = subtractSets(setA, setB);
      assert.equal(subtractSets(rest, setB), rest);
      assert.equal(JSON.stringify([setA, setB]), before);
    }),
  );
});

test("S1-SSA-01: a set is read as it was written, in whatever order it comes", () => {
  fc.assert(
    fc.property(paths, fc.integer(), (list, seed) => {
      const set = canonicalSet(setOfPaths(list));
      const text = JSON.stringify(set);
      assert.equal(canonicalSet(set), set, "sorted already");
      assert.equal(JSON.stringify(canonicalSet(setOfPaths([...list].reverse()))), text);
      const shuffled = shuffle(JSON.parse(text) as JsonObject, seed);
      assert.equal(JSON.stringify(canonicalSet(parseNow(shuffled))), text);
      const read = JSON.parse(text) as JsonObject;
      assert.equal(parseNow(read), read, "nothing is copied of what is canonical");
    }),
  );
});

test("39.3: a set of tens of thousands of elements is sorted in steps", () => {
  const numbers = Array.from({ length: 20_000 }, (_, at) => (at * 7_919) % 20_011);
  const items = numbers.flatMap((at) => [
    [`k:{"port":${at},"protocol":"TCP"}`, "f:port"],
    [`v:"x${at}"`],
    [`f:n${at}`, ".", `v:${at}`],
  ]);
  const set: FieldSetBuilder = {};
  for (const [first = "", ...below] of items) set[first] = setOfPaths([below]);
  const deep = { "f:spec": { "f:containers": { 'k:{"name":"a"}': { "f:env": set } } } };
  const steps = canonicalInSteps(deep);
  let taken = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) taken++;
  const sorted = step.value["f:spec"]?.["f:containers"]?.['k:{"name":"a"}']?.["f:env"] ?? {};
  assert.deepEqual(Object.keys(sorted), Object.keys(set).sort(compareElements));
  assert.deepEqual(step.value, deep);
  assert.ok(taken > 200, `${taken} steps`);
  assert.equal(finishNow(canonicalInSteps(step.value)), step.value, "sorted already");
});

test("39.3: sets of any size are joined, shared and subtracted in short steps", () => {
  const COUNT = 3_000;
  const wide = (below: (at: number) => FieldSet): FieldSet =>
    Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [`v:"w${at}"`, below(at)]));
  const operations = [unionInSteps, intersectInSteps, subtractInSteps];
  fc.assert(
    fc.property(paths, paths, fc.integer({ min: 1, max: 3 }), (a, b, share) => {
      const [some, others] = [setOfPaths(a), setOfPaths(b)];
      const left = wide((at) => (at % share === 0 ? some : EMPTY));
      const right = { ".": EMPTY, ...wide((at) => (at % 2 ? others : EMPTY)) };
      for (const operate of operations) {
        const steps = operate({ "f:x": left, ...some }, { "f:x": right, ...others });
        let taken = 1;
        let step = steps.next();
        for (; step.done !== true; step = steps.next()) taken++;
        assert.ok(taken >= 6, `${operate.name}: ${taken} steps`);
        for (let at = 0; at < 6; at++) {
          const one = (set: FieldSet): FieldSet => ({ "f:one": set[`v:"w${at}"`] ?? EMPTY });
          const small = finishNow(operate(one(left), one(right)));
          const isThere: FieldSet | undefined = step.value["f:x"]?.[`v:"w${at}"`];
          assert.deepEqual(isThere, small["f:one"], `${operate.name} ${at}`);
        }
      }
      const union = unionSets(left, right);
      assert.equal(unionSets(union, right), union, "nothing is copied");
      const rest = subtractSets(left, right);
      assert.equal(subtractSets(rest, right), rest, "nothing is copied");
    }),
    { numRuns: 30 },
  );
});

function shuffle(value: JsonObject, seed: number): JsonObject {
  const keys = Object.keys(value).sort((a, b) => ((a.length * seed) % 7) - ((b.length * seed) % 7));
  return Object.fromEntries(keys.map((key) => [key, shuffle(value[key] as JsonObject, seed)]));
}

test("S1-SSA-02: elements have one spelling and one order", () => {
  const table: readonly (readonly [string, string | undefined])[] = [
    ["f:a b", "f:a b"],
    ['k:{"name":"x"}', 'k:{"name":"x"}'],
    ['k:{ "b": 1, "a":"\\u0041" }', 'k:{"a":"A","b":1}'],
    ['v: "x"', 'v:"x"'],
    ["v:1.0", "v:1"],
    ["v:12345678901234567890", "v:12345678901234567890"],
    ["i:007", "i:7"],
    ["z:future", undefined],
  ];
  for (const [text, expected] of table) assert.equal(canonicalElement(text), expected, text);
  for (const text of ["", "f", "name", "k:x", "k:[]", "v:", "i:x"]) {
    assert.throws(() => canonicalElement(text), SyntaxError, text);
  }
  const ordered = [
    ".",
    "f:A",
    "f:a",
    'k:{"a":1}',
    'k:{"a":1,"b":2}',
    'k:{"a":"1"}',
    'k:{"name":"a"}',
    'k:{"name":"a!"}',
    'k:{"name":"ab"}',
    "v:2",
    "v:10",
    'v:"a"',
    "v:false",
    "v:true",
    "v:null",
    "i:2",
    "i:10",
  ];
  assert.deepEqual([...ordered].reverse().sort(compareElements), ordered);
  assert.deepEqual(sortElements([...ordered].reverse()), ordered);
  assert.equal(sortElements(ordered), ordered, "what is in order stays as it is");
});

test("paths are described as kube-apiserver does", () => {
  const path = ["f:spec", 'k:{"name":"x","port":80}', 'v:"a"', "v:1", "i:3"];
  assert.equal(describePath(path), '.spec[name="x",port=80][="a"][=1][3]');
});

test("what is no set is refused, and only that", () => {
  const table: readonly (readonly [JsonValue, JsonValue | undefined])[] = [
    [{ ".": {} }, {}],
    [{ "f:a": { ".": {} } }, { "f:a": {} }],
    [{ "z:a": 1, "f:b": {} }, { "f:b": {} }],
    [{ "f:a": { ".": "x", "i:1": {} } }, { "f:a": { ".": {}, "i:1": {} } }],
    [{ "f:a": { "i:1": {}, ".": { "f:b": {} } } }, { "f:a": { "i:1": {}, ".": {} } }],
    [{ "f:a": { "z:x": {} } }, { "f:a": {} }],
    [null, {}],
    [{ "f:a": 1 }, undefined],
    [{ a: {} }, undefined],
    ["x", undefined],
    [[], undefined],
  ];
  for (const [value, expected] of table) {
    if (expected === undefined) assert.throws(() => parseNow(value), SyntaxError);
    else assert.deepEqual(parseNow(value), expected, JSON.stringify(value));
  }
  const wild = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(1, null, "x"),
      fc.dictionary(fc.oneof(element, fc.constantFrom(".", "x", "k:{", "i:1")), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  })).value;
  fc.assert(
    fc.property(wild, (value) => {
      try {
        const set = canonicalSet(parseNow(value));
        assert.deepEqual(canonicalSet(parseNow(set as JsonObject)), set);
      } catch (error) {
        assert.ok(error instanceof SyntaxError, String(error));
      }
    }),
  );
});
