/**
 * Holds the costs of rules to those of kube-apiserver, in both directions: what is estimated decides
 * which definitions are accepted, what is counted when a rule runs decides which objects are.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compileRules } from "./compiled-rules.js";
import type { JsonSchema } from "./json-schema.js";
import { toStructural } from "./structural.js";
import { RULE_COSTS } from "./testing/rule-costs.js";

/** Larger ones are approximate, and far beyond every limit. */
const EXACT_MAX = 2 ** 53;
const APPROXIMATION = 1e-9;

function compiled(schema: object, rule: string, isResource: boolean) {
  const node = toStructural({ ...schema, "x-kubernetes-validations": [{ rule }] } as JsonSchema);
  const [result] = compileRules(node, isResource) ?? [];
  if (result === undefined) throw new Error("no type");
  return result;
}

function isSame(found: number, expected: number): boolean {
  if (expected <= EXACT_MAX) return found === expected;
  const bounded = Math.min(found, 2 ** 64);
  return Math.abs(bounded - expected) <= expected * APPROXIMATION;
}

for (const { name, schema, isResource, self, accepted, refused } of RULE_COSTS) {
  test(`D1 D2: rules of ${name} cost what they cost in kube-apiserver`, () => {
    const differences: string[] = [];
    for (const [rule, estimate, running] of accepted) {
      const { program, problem } = compiled(schema, rule, isResource);
      if (program === undefined) {
        differences.push(`${rule}: ${problem}`);
        continue;
      }
      const estimated = program.estimatedCostMax;
      if (!isSame(estimated, estimate)) differences.push(`${rule}: ${estimated}, not ${estimate}`);
      if (running === null) continue;
      const { cost } = program.evaluateWithin({ self, oldSelf: self }, EXACT_MAX);
      if (cost !== running) differences.push(`${rule} runs for ${cost}, not ${running}`);
    }
    assert.deepEqual(differences, []);
  });

  test(`D3: rules that kube-apiserver refuses for ${name} are refused`, () => {
    for (const [rule, expected] of refused) {
      const { problem } = compiled(schema, rule, isResource);
      assert.ok(problem !== undefined, `${rule} is accepted`);
      const [first = ""] = problem.replace("compilation failed: ERROR: <input>:", "").split("\n");
      if (expected !== "") assert.equal(first, expected, rule);
    }
  });
}
