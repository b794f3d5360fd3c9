/** The budget holds for all values: no function is cheap on large input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Matcher } from "re2js";
import { CelEvaluationError, createCelEnvironment } from "./environment.js";

const environment = createCelEnvironment({
  variables: {
    c: { map: "dyn" },
    numbers: { list: "int" },
    turns: { list: "int" },
    text: "string",
    spaces: "string",
    texts: { list: "string" },
  },
});

const LONG = 1_000_000;
const bindings = {
  c: { m: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at])) },
  numbers: Array.from({ length: 100_000 }, (_, at) => at),
  turns: Array.from({ length: 2_000 }, (_, at) => at),
  text: "1".repeat(LONG),
  spaces: `${" ".repeat(LONG)}x${" ".repeat(LONG)}x`,
  texts: Array.from({ length: 200 }, (_, at) => `${"x".repeat(5_000)}${at}`),
};

/** Generous: these need a tenth of it. Without their costs they take minutes. */
const CPU_MICROSECONDS_MAX = 5_000_000;

const LARGE = [
  "text == text + '1'",
  "text < text + '1'",
  "text.size() > 0",
  "double(text + 'x') > 0.0",
  "spaces.trim() == ''",
  "text.matches('(1|11)*c')",
  "text.find('1*b') == ''",
  "texts.exists(t, t.matches(t + 'y'))",
  "turns.exists(turn, 'a'.matches(string(turn)))",
  "isURL(text) || isIP(text) || isQuantity(text)",
  "timestamp('2024-01-01T00:00:00Z').getHours('America/New_York') > 100",
  "c.m.size() == 0",
  "c.m == {}",
  "c.m.exists(k, false)",
  "text in c.m",
  "text in texts",
  "texts.sort().size() == 0",
  "texts.sortBy(t, t).size() == 0",
  "texts.isSorted() && false",
  "texts == texts.map(t, t + 'a')",
  "numbers.distinct().size() == 0",
  "sets.contains(numbers, numbers)",
  "(numbers + numbers).size() == 0",
  "'%s'.format([c.m]) == ''",
  "text.replace('1', '22') == ''",
];

for (const expression of LARGE) {
  test(`S2-AZC-25: ${expression}, done four million times, is stopped soon`, () => {
    const source = `turns.all(a, turns.all(b, (${expression}) || true))`;
    const program = environment.compile(source, ["bool"]);
    const before = process.cpuUsage();
    assert.throws(
      () => program.evaluate(bindings),
      (error) => error instanceof CelEvaluationError && error.isOverBudget,
    );
    const { user, system } = process.cpuUsage(before);
    assert.ok(user + system < CPU_MICROSECONDS_MAX, `${user + system} µs`);
  });
}

test("the least cost of an expression is what it costs where it looks at as little as it may", () => {
  const least: readonly (readonly [source: string, bindings: object])[] = [
    ["[1, 2, 3].map(x, x + 1).size()", {}],
    ["optional.of([1, 2]).optMap(two, 1).value()", {}],
    ["(lists.range(20) + [1]).map(x, x + 3).size()", {}],
    ["[1, 2, 3].all(x, [x].size() > 1)", {}],
    ["numbers.exists(n, n > 0) && turns.size() > 0", { numbers: [], turns: [] }],
    ["numbers.size() > 0 && lists.range(1000).exists(x, x < 0)", { numbers: [] }],
    ["numbers.size() > 0 ? lists.range(1000) : [1]", { numbers: [] }],
    ["{'a': [1], 'b': [2, 3]}.map(k, k)", {}],
    ["[3, 1, 2].sortBy(x, x).map(x, x)", {}],
  ];
  for (const [source, given] of least) {
    const program = environment.compile(source, ["dyn"]);
    const { cost } = program.evaluateWithin({ ...bindings, ...given }, 1_000_000);
    assert.ok(program.leastCost > 0 && program.leastCost <= cost, source);
    // The size-dependent cost of functions is left out.
    assert.ok(
      cost - program.leastCost <= Math.max(2, 0.25 * cost),
      `${source}: ${program.leastCost} of ${cost}`,
    );
  }
});

test("S2-AZC-25: where a side of || or && fails and the other decides, the least cost is not above what that costs", () => {
  const failing = "[numbers[0], 1, 2, 3].map(x, x + 1).size() > 0";
  const sources = [`${failing} || true`, `true || ${failing}`, `${failing} && false`];
  for (const source of sources) {
    const program = environment.compile(source, ["dyn"]);
    const { cost } = program.evaluateWithin({ ...bindings, numbers: [] }, 1_000_000);
    assert.ok(program.leastCost <= cost, `${source}: ${program.leastCost} of ${cost}`);
  }
});

test("39.3: the parameters of a URL are taken apart once, and fifty thousand have used the budget", (t) => {
  const split = t.mock.method(String.prototype, "split");
  const often = "[url('https://a/?' + text)].all(u, turns.all(turn, u.getQuery().size() == 1))";
  const { evaluateWithin } = environment.compile(often, ["bool"]);
  const text = "x=1&".repeat(10_000);
  assert.equal(evaluateWithin({ ...bindings, text }, 1_000_000).value, true);
  const times = split.mock.calls.filter(({ arguments: [at] }) => String(at) === "&").length;
  assert.equal(times, 1);
  const more = { ...bindings, text: text.repeat(6) };
  assert.throws(() => evaluateWithin(more, 1_000_000), CelEvaluationError);
});

test("39.3: who finds fifty thousand matches has used the budget, and the matcher is asked no more often", (t) => {
  const find = t.mock.method(Matcher.prototype, "find");
  const { evaluateWithin } = environment.compile("text.findAll('1').size() > 0", ["bool"]);
  assert.throws(() => evaluateWithin(bindings, 1_000_000), CelEvaluationError);
  assert.ok(find.mock.callCount() <= 55_000, `${find.mock.callCount()} times`);
  assert.ok(find.mock.callCount() > 45_000);
  const insert = environment.compile("text.replace('', 'c').size() > 0", ["bool"]);
  assert.equal(insert.evaluateWithin(bindings, 1_000_000).value, true);
  const twice = { text: bindings.text.repeat(2) };
  assert.throws(() => insert.evaluateWithin(twice, 1_000_000), CelEvaluationError);
});
