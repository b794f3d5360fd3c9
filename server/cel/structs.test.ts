/** Values that expressions create and query besides plain ones: named objects and authorizer checks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createCelEnvironment, type StructShapes } from "./environment.js";
import {
  AUTHORIZER_TYPE,
  type AuthorizationQuestion,
  AuthorizerValue,
} from "./functions/authorization.js";
import { parseType } from "./types.js";

const fields = new Map([
  ["op", parseType("string")],
  ["value", parseType("dyn")],
]);
const structs: StructShapes = (name) =>
  name === "Step" ? fields : /^Object(\.|$)/.test(name) ? "nested" : undefined;
const environment = createCelEnvironment({ variables: { n: "int" }, structs });
const evaluate = (source: string, bindings = {}) =>
  environment.compile(source, ["dyn"]).evaluate(bindings);

test("objects are made by name, with optional fields, and nested under their path", () => {
  assert.deepEqual(evaluate("Object{a: Object.a{b: [Object.a.b{c: n}]}}", { n: 1n }), {
    a: { b: [{ c: 1n }] },
  });
  assert.deepEqual(evaluate("Object{?a: optional.none(), ?b: optional.of('x')}"), { b: "x" });
  assert.deepEqual(evaluate("[Step{op: 'add', value: {'k': [1]}}]"), [
    { op: "add", value: { k: [1n] } },
  ]);
});

test("an object under another name, an unknown field and a wrong type do not compile", () => {
  const table: [string, RegExp][] = [
    ["Other{}", /undeclared reference to 'Other'/],
    ["Step{x: 1}", /undefined field 'x'/],
    ["Step{op: 1}", /expected type of field 'op' is 'string' but provided type is 'int'/],
    [
      "Object{a: Object.b{}}",
      /expected type of field 'a' is 'Object.a' but provided type is 'Object.b'/,
    ],
    ["Object{a: [Object{}]}", /expected type of field 'a' is 'list\(Object.a\)'/],
    ["Object{a: 1", /Syntax error/],
  ];
  for (const [source, problem] of table) assert.throws(() => evaluate(source), problem);
});

test("an authorizer is asked about paths and resources, in whose name is said", () => {
  const asked: AuthorizationQuestion[] = [];
  const authorizer = new AuthorizerValue((question) => {
    asked.push(question);
    return { isAllowed: question.verb === "get", reason: "because", error: "" };
  });
  const known = parseType(AUTHORIZER_TYPE);
  const asking = createCelEnvironment({ variables: { authorizer: { known } } });
  const ask = (source: string) => asking.compile(source, ["dyn"]).evaluate({ authorizer });
  assert.equal(ask("authorizer.path('/x').check('get').allowed()"), true);
  assert.equal(
    ask(
      "authorizer.serviceAccount('ns', 'a').group('g').resource('r').subresource('s').namespace('n').name('m').labelSelector('a=b').check('put').reason()",
    ),
    "because",
  );
  const [path, resource] = asked;
  assert.equal(path?.path, "/x");
  assert.deepEqual(resource, {
    group: "g",
    resource: "r",
    subresource: "s",
    namespace: "n",
    name: "m",
    fieldSelector: "",
    labelSelector: "a=b",
    verb: "put",
    serviceAccount: { namespace: "ns", name: "a" },
  });
  assert.throws(() => ask("authorizer.serviceAccount('', 'a').path('/').check('get').allowed()"));
  // Three questions fit into the budget of one evaluation, not more.
  const question = "authorizer.path('/').check('put').allowed()";
  assert.throws(() => ask([question, question, question].join(" || ")), /cost limit exceeded/);
});
