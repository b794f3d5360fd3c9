/** Coverage of rules by rules, and the description of missing ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type PolicyRule, toPolicyRules } from "./policy-rule.js";
import { compactRules, covers, coversInSteps, describeRule, MISSING_MAX } from "./rule-coverage.js";
import { allow } from "./testing/policy-view.js";

const paths = (verbs: string, urls: string): PolicyRule => ({
  verbs: verbs.split(","),
  nonResourceURLs: urls.split(","),
});

test("S2-RBAC-17: rules are covered when each single permission is held", () => {
  const table: readonly (readonly [PolicyRule[], PolicyRule[], boolean])[] = [
    [[], [], true],
    [[], [allow("get", "pods")], false],
    [[allow("get", "pods")], [allow("get", "pods")], true],
    [[allow("get", "pods"), allow("list", "pods")], [allow("get,list", "pods")], true],
    [[allow("get,list", "pods,nodes")], [allow("get", "pods"), allow("list", "nodes")], true],
    [[allow("get", "pods"), allow("list", "nodes")], [allow("get,list", "pods,nodes")], false],
    [[allow("*", "pods")], [allow("get,anything", "pods")], true],
    [[allow("get,list", "pods")], [allow("*", "pods")], false],
    [[allow("get", "*")], [allow("get", "pods,pods/log,*/scale")], true],
    [[allow("get", "*/scale")], [allow("get", "pods/scale")], true],
    [[allow("get", "*/scale")], [allow("get", "*/scale")], true],
    [[allow("get", "*/scale")], [allow("get", "pods,pods/scale")], false],
    [[allow("get", "pods/scale,pods")], [allow("get", "*/scale")], false],
    [[allow("get", "pods")], [allow("get", "*")], false],
    [[allow("get", "*:pods")], [allow("get", "apps:pods")], true],
    [[allow("get", "apps:pods")], [allow("get", "*:pods")], false],
    [[allow("get", "pods")], [allow("get", "pods", "a")], true],
    [[allow("get", "pods", "a,b")], [allow("get", "pods", "a")], true],
    [[allow("get", "pods", "a")], [allow("get", "pods", "a,b")], false],
    [[allow("get", "pods", "a")], [allow("get", "pods")], false],
    [[paths("get", "/a*")], [paths("get", "/a,/abc,/a/*")], true],
    [[paths("get", "/a/*")], [paths("get", "/a")], false],
    [[paths("get", "*")], [paths("get", "/x")], true],
    [[paths("get", "/x")], [paths("get", "*")], false],
    [[allow("*", "*:*")], [paths("get", "/x")], false],
    [[paths("*", "*")], [allow("get", "pods")], false],
    [[allow("*", "*:*"), paths("*", "*")], [allow("*", "*:*"), paths("*", "*")], true],
    [[allow("*", "*:*", "a")], [allow("get", "pods")], false],
  ];
  for (const [owner, wanted, expected] of table) {
    assert.equal(covers(owner, wanted).isCovered, expected, JSON.stringify({ owner, wanted }));
  }
});

test("what is missing is told by resource, with its verbs together", () => {
  const wanted = [
    allow("get,list,delete", "apps:deployments"),
    allow("get", "pods", "a,b"),
    paths("get", "/x"),
  ];
  const { missing } = covers([allow("get", "apps:deployments")], wanted);
  assert.deepEqual(compactRules(missing).map(describeRule), [
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}',
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}',
    '{NonResourceURLs:["/x"], Verbs:["get"]}',
    '{APIGroups:["apps"], Resources:["deployments"], Verbs:["list" "delete"]}',
  ]);
});

test("of rules that stand for billions of permissions few are looked at and told, unless all is held", () => {
  const many = (name: string) => Array.from({ length: 5_000 }, (_, i) => `${name}${i}`);
  const huge = { verbs: many("v"), apiGroups: many("g"), resources: many("r") };
  const coverage = covers([allow("get", "pods")], [huge]);
  assert.deepEqual([coverage.isCovered, coverage.isTooLarge], [false, true]);
  assert.equal(coverage.missing.length, MISSING_MAX);
  const rather = { ...huge, apiGroups: [""], resources: ["pods"] };
  assert.equal(covers([allow("get", "pods")], [rather]).isTooLarge, undefined);
  assert.equal(covers([allow("*", "*:*")], [huge]).isCovered, true);
});

test("39.2: rules of the owner that would have to be looked at millions of times are not", () => {
  const names = Array.from({ length: 5_000 }, (_, at) => `n${at}`);
  const owner = names.map((name) => allow("get", "pods", name));
  const wanted = names.map((name) => allow("get", "pods", name));
  assert.equal(covers(owner, wanted).isTooLarge, true);
  assert.equal(covers(owner.slice(0, 300), wanted.slice(0, 300)).isCovered, true);
});

test("39.3: what a role grants is held against what its author has in steps", () => {
  const resources = Array.from({ length: 20_000 }, (_, at) => `things-${at}`);
  const steps = coversInSteps(
    [allow("get", "*")],
    [{ verbs: ["get"], apiGroups: [""], resources }],
  );
  let count = 1;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) count++;
  assert.ok(step.value.isCovered && count > 30, String(count));
});

test("39: what thousands of rules have in common is kept once", () => {
  const sent = ["a", "b"].map((resource) => ({
    verbs: ["get", "list"],
    apiGroups: ["example.com"],
    resources: [resource],
  }));
  const [a, b] = toPolicyRules(JSON.parse(JSON.stringify(sent)));
  assert.ok(a !== undefined && b !== undefined);
  assert.deepEqual([a, b], sent);
  assert.ok(a.verbs === b.verbs && a.apiGroups === b.apiGroups);
  const odd = toPolicyRules([{ verbs: ["get\nlist"] }, { verbs: ["get", "list"] }, { verbs: [1] }]);
  assert.deepEqual(
    odd.map(({ verbs }) => verbs),
    [["get\nlist"], ["get", "list"], []],
  );
});
