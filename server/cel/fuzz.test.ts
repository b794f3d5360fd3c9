/** Random expressions produce only the two errors of the contract. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { finishNow } from "../../storage/base/steps.js";
import {
  CelCompileError,
  CelEvaluationError,
  type CelProgram,
  createCelEnvironment,
  evaluateInSteps,
} from "./environment.js";

const environment = createCelEnvironment({
  variables: { a: "dyn", l: { list: "int" }, s: "string", o: { object: "O" } },
  types: [{ name: "O", fields: { f: "string", o: { object: "O" } } }],
  costLimit: 20_000,
});

const PIECES =
  `a l s o o.f o.o.f 1 0 -1 2u 1.5 'x' "y" b'z' r'\\' null true false [ ] { } ( ) . .? [? ? : , + - * / % < <= > >= == != && || ! in has( size( type( dyn(
  int( string( timestamp( duration( quantity( url( ip( cidr( optional.of( optional.none() optional.of(x).optMap(x, x .all(x, .map(x, .filter(x, .exists(x, .transformMap(k,v,
  .matches( .split( .join( .replace( .format( .find( .findAll( .sum() .min() .sort() .sortBy(x, .substring( .orValue( .optMap(x, __proto__ constructor
  'aaaa' '(a+)+$' 9223372036854775807 1e308 '%s' .value() .getHours() 'Zone' '\\u0000' \`q\`  // 0x`.split(
    /\s+/,
  );

const BINDINGS = [
  { a: null, l: [], s: "", o: {} },
  {
    a: { b: [1, { c: "d" }], __proto__: null },
    l: [3, 1, 2],
    s: "10.0.0.1",
    o: { f: "x", o: { f: "y" } },
  },
  { a: Array.from({ length: 50 }, (_, i) => i), l: [1, 2], s: "1Gi", o: { f: 5 } },
];

/** The cost is no less than the least one; kube-apiserver's estimate bounds it for most expressions only. */
function run(source: string): void {
  let program: ReturnType<typeof environment.compile>;
  try {
    program = environment.compile(source, ["dyn"]);
  } catch (error) {
    assert.ok(error instanceof CelCompileError, `${source}: ${String(error)}`);
    assert.ok(error.line >= 1 && error.column >= 1);
    return;
  }
  for (const bindings of BINDINGS) {
    try {
      const { cost } = program.evaluateWithin(bindings, 20_000);
      assert.ok(cost >= program.leastCost, `${source}: ${cost} < ${program.leastCost}`);
      assert.ok(program.estimatedCostMax >= 0);
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      assert.ok(error instanceof CelEvaluationError, `${source}: ${String(error)}`);
    }
    assert.deepEqual(outcomeInPieces(program, bindings), outcomeAtOnce(program, bindings), source);
  }
}

type Bindings = Readonly<Record<string, unknown>>;

/** What it gives and costs, or why it fails, and how often it pauses. */
function outcomeOf(evaluate: () => object): object {
  try {
    return evaluate();
  } catch (error) {
    const { message, cost, isOverBudget } = error as CelEvaluationError;
    return { message, cost, isOverBudget };
  }
}

function outcomeAtOnce(program: CelProgram, bindings: Bindings): object {
  return outcomeOf(() => program.evaluateWithin(bindings, 20_000));
}

/** It pauses wherever it may. */
function outcomeInPieces(program: CelProgram, bindings: Bindings): object {
  return outcomeOf(() => finishNow(evaluateInSteps(program.begin(bindings, 20_000, 0))));
}

test("S2-AZC-25: random pieces of expressions end in a value or in one of the two errors", () => {
  const expression = fc.array(fc.constantFrom(...PIECES), { maxLength: 14 });
  fc.assert(
    fc.property(expression, fc.boolean(), (pieces, isSpaced) =>
      run(pieces.join(isSpaced ? " " : "")),
    ),
    { numRuns: 5_000 },
  );
});

test("S2-AZC-25: random well-formed expressions cost no less than was estimated", () => {
  const { tree } = fc.letrec<{ tree: string; leaf: string }>((tie) => ({
    leaf: fc.constantFrom(
      "a",
      "l",
      "s",
      "o",
      "o.f",
      "1",
      "'x'",
      "true",
      "[1, 2]",
      "{'k': 1}",
      "x",
      "dyn(a)",
    ),
    tree: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      tie("leaf"),
      fc
        .tuple(fc.constantFrom("+", "==", "&&", "||", "in", "<"), tie("tree"), tie("tree"))
        .map(([op, x, y]) => `(${x} ${op} ${y})`),
      fc
        .tuple(
          fc.constantFrom("map", "filter", "all", "exists", "sortBy"),
          tie("tree"),
          tie("tree"),
        )
        .map(([m, x, y]) => `${x}.${m}(x, ${y})`),
      fc
        .tuple(fc.constantFrom("size", "type", "dyn", "string", "optional.of"), tie("tree"))
        .map(([f, x]) => `${f}(${x})`),
      fc
        .tuple(
          fc.constantFrom("split", "contains", "indexOf", "join", "matches", "orValue"),
          tie("tree"),
          tie("tree"),
        )
        .map(([f, x, y]) => `${x}.${f}(${y})`),
      fc.tuple(tie("tree"), tie("tree"), tie("tree")).map(([c, x, y]) => `(${c} ? ${x} : ${y})`),
      fc.tuple(tie("tree"), tie("tree")).map(([x, y]) => `[${x}, dyn(${y})]`),
      fc
        .tuple(tie("tree"), tie("tree"))
        .map(([x, y]) => `optional.of(${x}).optMap(x, ${y}).value()`),
    ),
  }));
  fc.assert(fc.property(tree, run), { numRuns: 5_000 });
});

test("random text and random characters are compile errors or run", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), run), { numRuns: 2_000 });
});

/** Nested loops, with all that may stand around and within them. */
const NESTED = [
  "l.all(x, l.exists(y, y == x))",
  "l.exists(x, l.all(y, y <= x)) && l.map(x, l.filter(y, y < x).size()).sum() > 0",
  "l.map(x, l.map(y, x * y)).exists(z, z.sum() > 5) || a.b.all(q, q > 1)",
  "a.b.all(x, x.c == 'd') || l.all(x, l.exists(y, y == x))",
  "(a.map(x, x).size() > 1 ? l.map(x, x + 1) : l.filter(x, x > 1)).sortBy(x, -x)",
  "l.transformMap(i, x, l.map(y, y * x)).transformList(k, v, v.sum())",
  "l.exists_one(x, l.exists_one(y, x == y && x == 3)) ? s.matches('1.*') : s.split('.').join('') == s",
  "optional.of(l).optMap(m, m.map(x, m.map(y, x + y).sum()).sum() + m.size())",
  "l.map(x, optional.of(x).optMap(z, l.exists(y, z + z == y) && l.all(y, z < y + 10)).orValue(false))",
  "{'a': l.map(x, x), 'b': l.filter(x, l.exists(y, y > x))}.all(k, k in ['a', 'b'] && l.size() > 1)",
  "l.all(x, l.all(y, 10 / (x - y) > 0)) || l.exists(x, l.exists(y, 6 / (x - y - 1) == 3))",
];

test("39.3: an expression that pauses wherever it may gives, costs and fails as one that does not", () => {
  let pauses = 0;
  for (const source of NESTED) {
    const program = environment.compile(source, ["dyn"]);
    for (const bindings of BINDINGS) {
      assert.deepEqual(
        outcomeInPieces(program, bindings),
        outcomeAtOnce(program, bindings),
        source,
      );
      const steps = program.begin(bindings, 20_000, 0);
      try {
        while (steps.goOn() === undefined) pauses++;
      } catch (error) {
        assert.ok(error instanceof CelEvaluationError, source);
      }
    }
  }
  assert.ok(pauses > 300, String(pauses));
});

test("39.3: a million steps of one expression are taken in pieces, also behind other work", () => {
  const numbers = Array.from({ length: 300 }, (_, at) => at);
  const text = "a".repeat(100_000);
  const variables = { l: { list: "int" }, s: "string" } as const;
  const { compile } = createCelEnvironment({ variables });
  for (const source of [
    "l.all(x, l.all(y, x + y >= 0))",
    "[1].all(z, l.all(x, l.all(y, x + y >= 0)))",
    "s.matches('b|c') || l.map(x, l.filter(y, x > y)).size() == 300",
  ]) {
    const program = compile(source, ["bool"]);
    const atOnce = program.evaluateWithin({ l: numbers, s: text }, 10_000_000);
    const evaluation = program.begin({ l: numbers, s: text }, 10_000_000);
    let pieces = 1;
    let done = evaluation.goOn();
    for (; done === undefined; done = evaluation.goOn()) pieces++;
    assert.deepEqual(done, atOnce, source);
    assert.ok(pieces >= atOnce.cost / 25_000 && pieces > 10, `${source}: ${pieces}`);
  }
});
