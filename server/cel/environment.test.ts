/** Compilation, refusal, evaluation and limits of an environment, by requirement id. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CelCompileError,
  type CelEnvironmentOptions,
  CelEvaluationError,
  type CelType,
  createCelEnvironment,
} from "./environment.js";

const OPTIONS: CelEnvironmentOptions = {
  variables: {
    claims: { map: "dyn" },
    request: { object: "Request" },
    numbers: { list: "int" },
    text: "string",
    when: "timestamp",
    count: "int",
  },
  types: [
    {
      name: "Request",
      fields: {
        name: "string",
        count: "int",
        ratio: "double",
        labels: { map: "string" },
        groups: { list: "string" },
        parent: { object: "Request" },
      },
    },
  ],
};
const environment = createCelEnvironment(OPTIONS);

function evaluate(source: string, bindings: Readonly<Record<string, unknown>> = {}): unknown {
  return environment.compile(source, ["dyn"]).evaluate(bindings);
}

function compileError(source: string, expected: readonly CelType[] = ["dyn"]): CelCompileError {
  try {
    environment.compile(source, expected);
  } catch (error) {
    if (error instanceof CelCompileError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: `${source} compiles` });
}

test("all problems of a text are found at once, in the order of their places", () => {
  const { compile } = createCelEnvironment({ variables: { n: "int" } });
  const problems = (source: string) => {
    try {
      compile(source, ["dyn"]);
      return [];
    } catch (error) {
      assert.ok(error instanceof CelCompileError, String(error));
      return error.message.split("\n").filter((line) => line.startsWith("ERROR"));
    }
  };
  assert.deepEqual(problems("a + n + 'b' + nothing(c) ? [1].all(x, x) : {1.5: d}.e"), [
    "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')",
    "ERROR: <input>:1:7: found no matching overload for '_+_' applied to '(int, string)'",
    "ERROR: <input>:1:22: undeclared reference to 'nothing' (in container '')",
    "ERROR: <input>:1:23: undeclared reference to 'c' (in container '')",
    "ERROR: <input>:1:39: expected type 'bool' but found 'int'",
    "ERROR: <input>:1:50: undeclared reference to 'd' (in container '')",
  ]);
  for (const fine of [
    "(true ? 'a' : dyn(1)) + 1 == 2",
    "!(true ? 'a' : dyn(1))",
    "(true ? ['a'] : [dyn(1)])[0] + 1 == 2",
    "(true ? {'a': 1} : {'a': dyn('x')}).a.startsWith('b')",
    "(['a'] + [dyn(1)])[0] + 1 == 2",
    "(true ? 1 : dyn('x')) in ['a']",
  ]) {
    assert.deepEqual(problems(fine), [], fine);
  }
  assert.equal(problems("(true ? 'a' : 1) == 'a'").length, 1);
  const ofChoice = (position: number, types: string) => [
    `ERROR: <input>:1:${position}: found no matching overload for '_?_:_' applied to '(${types})'`,
  ];
  assert.deepEqual(problems("['a'].filter(x, 1)"), ofChoice(13, "int, list(string), list(string)"));
  assert.deepEqual(problems("['a'].map(x, x, 1)"), ofChoice(10, "string, list(int), list(int)"));
  assert.deepEqual(problems("['a'].exists_one(x, 1)"), ofChoice(17, "int, int, int"));
  assert.deepEqual(
    problems("['a'].transformMap(i, v, 1, v)"),
    ofChoice(19, "int, map(int, string), map(int, string)"),
  );
  assert.deepEqual(problems("['a'].filter(1, true)"), [
    "ERROR: <input>:1:14: argument is not an identifier",
  ]);
  assert.throws(
    () => compile("'größe' + 1", ["dyn"]),
    /\n \| 'größe' \+ 1\n \| \.\.\.．．\.\.\.\^$/,
  );
  assert.throws(() => compile("'ö' + é", ["dyn"]), /\n \| 'ö' \+ é\n/);
  const many = Array.from({ length: 150 }, (_, index) => `x${index}`).join(" + ");
  assert.throws(() => compile(many, ["dyn"]), /\n50 more errors were truncated$/);
});

test("S2-AUTHC-17: claims are a map of anything, and a claim that is not there is an error", () => {
  const claims = { sub: "jane", email_verified: true, groups: ["a", "b"], exp: 1700000000 };
  assert.equal(evaluate("claims.sub + '@x'", { claims }), "jane@x");
  assert.equal(evaluate("claims.email_verified == true", { claims }), true);
  assert.deepEqual(evaluate("claims.groups.map(g, 'oidc:' + g)", { claims }), ["oidc:a", "oidc:b"]);
  assert.equal(evaluate("claims.exp - 1 < 1700000000", { claims }), true);
  assert.equal(evaluate("has(claims.email)", { claims }), false);
  assert.equal(evaluate("claims.?email.orValue('none')", { claims }), "none");
  assert.throws(() => evaluate("claims.email", { claims }), {
    name: "CelEvaluationError",
    message: "no such key: email",
  });
});

test("S2-AUTHC-15: rules over a user are checked against its fields", () => {
  const users = createCelEnvironment({
    variables: { user: { object: "UserInfo" } },
    types: [{ name: "UserInfo", fields: { username: "string", groups: { list: "string" } } }],
  });
  const rule = users.compile("!user.username.startsWith('system:')", ["bool"]);
  assert.equal(rule.evaluate({ user: { username: "jane" } }), true);
  assert.equal(rule.evaluate({ user: { username: "system:admin" } }), false);
  assert.throws(() => users.compile("user.name == ''", ["bool"]), /undefined field 'name'/);
});

test("compile errors name the problem, the line and the column", () => {
  const table: readonly (readonly [string, number, number, RegExp])[] = [
    ["nothing.there", 1, 1, /undeclared reference to 'nothing'/],
    ["count +\n  text", 1, 7, /found no matching overload for '_\+_' applied to '\(int, string\)'/],
    ["true &&\n  missing", 2, 3, /undeclared reference to 'missing'/],
    ["request.nam", 1, 8, /undefined field 'nam'/],
    ["1 +", 1, 4, /Syntax error/],
    ["'open", 1, 1, /unterminated string/],
    ["count.size()", 1, 11, /found no matching overload for 'size' applied to 'int.\(\)'/],
    ["nope(1)", 1, 5, /undeclared reference to 'nope'/],
    ["count.all(x, true)", 1, 1, /cannot be range of a comprehension/],
    ["numbers.all(x, x)", 1, 16, /expected type 'bool' but found 'int'/],
    ["has(count)", 1, 5, /invalid argument to has\(\)/],
    ["text.matches('(')", 1, 14, /invalid matches argument/],
    ["Thing{a: 1}", 1, 6, /undeclared reference to 'Thing'/],
    ["9223372036854775808", 1, 1, /invalid int literal/],
    ["'é' == no", 1, 8, /undeclared reference/],
  ];
  for (const [source, line, column, problem] of table) {
    const error = compileError(source);
    assert.deepEqual([error.line, error.column], [line, column], source);
    assert.match(error.message, problem, source);
  }
});

test("a result of another type than expected is a compile error", () => {
  assert.match(compileError("text", ["bool"]).message, /must evaluate to bool/);
  // A result type known only at run time does not satisfy the expected one.
  assert.match(compileError("claims.admin", ["bool"]).message, /must evaluate to bool/);
  assert.match(compileError("[1]", ["string", { list: "string" }]).message, /list\(string\)/);
  assert.equal(environment.compile("[text]", [{ list: "string" }]).resultType, "list(string)");
  assert.equal(environment.compile("claims.admin", ["bool", "dyn"]).resultType, "dyn");
});

test("bindings are converted to their declared types, and refused where they are not of them", () => {
  const request = { name: "a", count: 2, ratio: 3, labels: { x: "y" }, parent: null };
  assert.equal(evaluate("request.count + 1", { request }), 3n);
  assert.equal(evaluate("request.ratio / 2.0", { request }), 1.5);
  assert.equal(evaluate("has(request.parent) || has(request.groups)", { request }), false);
  assert.equal(evaluate("when.getFullYear()", { when: "2024-05-06T07:08:09Z" }), 2024n);
  assert.equal(evaluate("string(when)", { when: new Date(0) }), "1970-01-01T00:00:00Z");
  assert.throws(() => evaluate("request.name", { request: { name: 5 } }), CelEvaluationError);
  assert.throws(() => evaluate("numbers[0]", { numbers: ["x"] }), CelEvaluationError);
  assert.throws(() => evaluate("count", { count: 1.5 }), CelEvaluationError);
  assert.throws(() => evaluate("count", {}), /no such attribute/);
});

test("no expression reaches a prototype, a constructor or a method of a JavaScript object", () => {
  const bindings = { claims: { a: "x", l: [1] }, request: {}, numbers: [1], text: "t" };
  for (const name of ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"]) {
    assert.throws(() => evaluate(`claims.${name}`, bindings), CelEvaluationError, name);
    assert.throws(() => evaluate(`claims["${name}"]`, bindings), CelEvaluationError, name);
    assert.throws(() => evaluate(`claims.l.${name}`, bindings), CelEvaluationError, name);
    assert.equal(evaluate(`has(claims.${name})`, bindings), false, name);
    assert.equal(evaluate(`'${name}' in claims`, bindings), false, name);
    assert.match(compileError(`request.${name}`).message, /undefined field/, name);
    assert.match(compileError(`text.${name}`).message, /does not support field selection/, name);
    assert.match(compileError(`${name}`).message, /undeclared reference/, name);
    assert.match(compileError(`text.${name}()`).message, /undeclared reference/, name);
  }
  const made = evaluate("{'__proto__': {'polluted': true}}") as Record<string, unknown>;
  assert.equal(Object.getPrototypeOf(made), Object.prototype);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test("values that are no data are refused, and getters of classes are not called", () => {
  class Secret {
    get key(): string {
      throw new Error("called");
    }
  }
  assert.throws(
    () => evaluate("claims.s.key", { claims: { s: new Secret() } }),
    CelEvaluationError,
  );
  assert.throws(() => evaluate("claims.f", { claims: { f: () => 1 } }), CelEvaluationError);
});

test("S2-AZC-25: nested loops over large lists are stopped by their cost, each time at the same step", () => {
  const numbers = Array.from({ length: 3_000 }, (_, index) => index);
  const source = "numbers.all(a, numbers.all(b, numbers.all(c, a + b + c >= 0)))";
  const program = environment.compile(source, ["bool"]);
  assert.throws(
    () => program.evaluate({ numbers }),
    (error) => error instanceof CelEvaluationError && error.isOverBudget,
  );
  // Nothing swallows an exhausted budget, although other errors may be swallowed.
  const swallowing = environment.compile(`true || (${source})`, ["bool"]);
  assert.equal(swallowing.evaluate({ numbers }), true);
  const reversed = environment.compile(`(${source}) || true`, ["bool"]);
  assert.throws(() => reversed.evaluate({ numbers }), /cost limit exceeded/);
  const small = environment.compile("numbers.map(a, a * 2).filter(a, a > 3)", ["dyn"]);
  const costs = [1, 2].map(() => small.evaluateWithin({ numbers: [1, 2, 3] }, 1_000).cost);
  assert.equal(costs[0], costs[1]);
  const exact = costs[0] ?? 0;
  assert.throws(() => small.evaluateWithin({ numbers: [1, 2, 3] }, exact - 1), CelEvaluationError);
  assert.equal(small.evaluateWithin({ numbers: [1, 2, 3] }, exact).cost, exact);
});

test("S2-AZC-25: text, lists and results that double at each step are stopped before memory is", () => {
  const bound = (name: string, value: string, body: string) =>
    `optional.of(${value}).optMap(${name}, ${body}).value()`;
  const doubling = (start: string, step: (name: string) => string) => {
    let body = "v40";
    for (let at = 40; at > 0; at--) body = bound(`v${at}`, step(`v${at - 1}`), body);
    return bound("v0", start, body);
  };
  const programs = [
    doubling("'abcdefgh'", (name) => `${name} + ${name}`),
    doubling("[1, 2]", (name) => `${name} + ${name}`),
    doubling("[1]", (name) => `[${name}, ${name}]`),
    doubling("'aa'", (name) => `${name}.replace('a', 'aaaa')`),
    doubling("'a'", (name) => `[${name}, ${name}].join('-')`),
    doubling("'a'", (name) => `'%s%s'.format([${name}, ${name}])`),
  ];
  for (const source of programs) {
    assert.throws(() => evaluate(source), /cost limit exceeded/, source.slice(0, 60));
  }
});

test("S2-AZC-25: known sizes make the estimate smaller", () => {
  const source = "request.groups.exists(g, g.startsWith('dev-') && request.name.contains(g))";
  const open = createCelEnvironment(OPTIONS).compile(source, ["bool"]);
  const sizeLimits = { "request.groups": 10, "request.groups[]": 20, "request.name": 63 };
  const bounded = createCelEnvironment({ ...OPTIONS, sizeLimits }).compile(source, ["bool"]);
  assert.ok(open.estimatedCostMax > 1_000_000);
  assert.ok(bounded.estimatedCostMax < 500, String(bounded.estimatedCostMax));
  const groups = Array.from({ length: 10 }, () => "dev-".padEnd(20, "x"));
  const { cost } = bounded.evaluateWithin({ request: { name: "n".repeat(63), groups } }, 10_000);
  assert.ok(cost > 50);
});

test("patterns that make others backtrack for ages are matched in time that grows with the text", () => {
  const text = `${"a".repeat(5_000)}b`;
  for (const pattern of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*)*x"]) {
    const started = process.cpuUsage().user;
    assert.equal(evaluate(`text.matches('${pattern}')`, { text }), false, pattern);
    assert.ok(process.cpuUsage().user - started < 2_000_000, pattern);
  }
  assert.match(compileError("text.matches('a(?=b)')").message, /invalid matches argument/);
  const large = "(((x{50}){50}){50}){50}";
  assert.match(compileError(`text.matches('${large}')`).message, /invalid matches argument/);
  assert.throws(() => evaluate("text.matches(text)", { text: "(" }), CelEvaluationError);
});

test("size and depth of expressions are bounded, and the bounds are compile errors", () => {
  const table = [
    `${"(".repeat(5_000)}1${")".repeat(5_000)}`,
    "[".repeat(5_000) + "]".repeat(5_000),
    `claims${".a".repeat(5_000)}`,
    `1${" + 1".repeat(5_000)}`,
    `${"-".repeat(3_000)}text`,
    `[${"1,".repeat(30_000)}]`,
    `'${"x".repeat(200_000)}'`,
    `${"true ? ".repeat(5_000)}1`,
    "size(".repeat(5_000),
  ];
  for (const source of table) assert.ok(compileError(source) instanceof CelCompileError);
  // Long conjunctions are balanced, not deep trees.
  assert.equal(evaluate(Array(3_000).fill("true").join(" && ")), true);
});

test("references tells which paths an expression selects, in whatever form", () => {
  const references = (source: string, ...path: string[]) =>
    environment.compile(source, ["dyn"]).references(path);
  assert.equal(references("claims.email + 'x'", "claims", "email"), true);
  assert.equal(references("claims['email']", "claims", "email"), true);
  assert.equal(references("claims.?email.orValue('')", "claims", "email"), true);
  assert.equal(references("has(claims.email_verified)", "claims", "email_verified"), true);
  assert.equal(references("claims.email.size() > 2", "claims", "email"), true);
  assert.equal(references("claims.sub", "claims", "email"), false);
  assert.equal(
    references("[claims.sub].exists(claims, claims == 'email')", "claims", "email"),
    false,
  );
  assert.equal(references("'claims.email' == text", "claims", "email"), false);
  assert.equal(references("claims.sub", "claims"), true);
});

test("an error on one side of && and || does not matter where the other side decides", () => {
  assert.equal(evaluate("claims.no == 1 || true", { claims: {} }), true);
  assert.equal(evaluate("claims.no == 1 && false", { claims: {} }), false);
  assert.throws(() => evaluate("claims.no == 1 && true", { claims: {} }), CelEvaluationError);
  assert.equal(evaluate("[1, 0].exists(n, 1 / n == 1)"), true);
  assert.equal(evaluate("[0, 1].exists(n, 1 / n == 1)"), true);
  assert.throws(() => evaluate("[0, 2].exists(n, 1 / n == 1)"), /division by zero/);
});

test("declaring a variable of an object type that is not there is a defect of the caller", () => {
  assert.throws(() => createCelEnvironment({ variables: { a: { object: "None" } } }), TypeError);
});
